"""Ends a background service when the process that it belongs to is gone, or has been asleep for too long.

The owner writes to a pipe once a second. A process of its own reads it, `python -m frazil.stack.tether`: it is there
after a `kill -9` of the owner, and while the owner is stopped.
"""

import os
import select
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from frazil.stack.process import ProcessFile, minimal_env, terminate
from frazil.stack.service import Service

_BEAT_S = 1.0
_STOP_S = 20.0


class Tether:
    """Ties a service to this process. `silence_s` is how long it may be asleep; None: as long as it likes."""

    def __init__(self, service: Service, env: Mapping[str, str], silence_s: float | None) -> None:
        self._command = [sys.executable, "-m", __name__, str(service.process_file.path), f"{silence_s or 0:g}"]
        self._env = minimal_env(env)
        self._lock = threading.Lock()
        self._keeper: subprocess.Popen[bytes] | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="tether", daemon=True)

    def hold(self) -> None:
        """Begin, or go on after the service was ended; raises OSError when no process can be started."""
        with self._lock:
            if self._keeper is None or self._keeper.poll() is not None:
                self._keeper = subprocess.Popen(  # noqa: S603
                    self._command, stdin=subprocess.PIPE, env=self._env, start_new_session=True
                )
            if not self._thread.is_alive() and not self._closing.is_set():
                self._thread.start()

    def close(self) -> None:
        """Let go: a service that runs still is ended. Idempotent."""
        self._closing.set()
        with self._lock:
            keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.communicate(timeout=2 * _STOP_S)

    def _beat(self) -> None:
        while not self._closing.wait(_BEAT_S):
            with self._lock, suppress(BrokenPipeError):  # it has ended the service; `hold` is called with the next one
                if self._keeper is not None and self._keeper.stdin is not None:
                    os.write(self._keeper.stdin.fileno(), b".")


def keep(file: ProcessFile, source: int, silence_s: float | None) -> None:
    """Read the pipe `source` to its end, or until it was silent for so long; then end the process of the file."""
    while select.select([source], [], [], silence_s)[0] and os.read(source, 4096):
        pass
    process = file.find()
    if process is not None:
        terminate(process, _STOP_S)


if __name__ == "__main__":
    keep(ProcessFile(Path(sys.argv[1])), sys.stdin.fileno(), float(sys.argv[2]) or None)
