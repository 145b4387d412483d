"""Signatures of requests between the workers of a group, with keys from the configuration topic."""

import base64
import hmac
import secrets
import threading
import time
from collections import deque

from frazil.worker.storage.records import SessionRecord

ALGORITHM = "HmacSHA256"
_KEPT = 2
"""Keys that are known: other workers may not have read the newest one yet."""
_RENEWED_MS = 3_600_000


class SessionKeys:
    """The newest keys of the group. Without any, nothing can be signed, and nothing is taken for signed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: deque[SessionRecord] = deque(maxlen=_KEPT)

    def learn(self, record: SessionRecord) -> None:
        """Sign with this key from now on; keys for other algorithms are left alone."""
        if record.algorithm == ALGORITHM:
            with self._lock:
                self._keys.appendleft(record)

    def is_due(self) -> bool:
        """Whether it is time for a new key; a key is good for an hour."""
        now_ms = round(time.time() * 1000)
        with self._lock:
            return not self._keys or abs(now_ms - self._keys[0].created_ms) > _RENEWED_MS

    @staticmethod
    def new() -> SessionRecord:
        """A key made now."""
        return SessionRecord(secrets.token_bytes(32), ALGORITHM, round(time.time() * 1000))

    def sign(self, message: bytes) -> str | None:
        """The signature of a message in base64; None while there is no key."""
        with self._lock:
            keys = list(self._keys)
        return _signature(keys[0].key, message) if keys else None

    def is_signed(self, message: bytes, signature: str) -> bool:
        """Whether a worker of the group has signed the message."""
        with self._lock:
            keys = list(self._keys)
        return any(hmac.compare_digest(_signature(each.key, message).encode(), signature.encode()) for each in keys)


def _signature(key: bytes, message: bytes) -> str:
    return base64.b64encode(hmac.digest(key, message, "sha256")).decode()
