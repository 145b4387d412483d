"""A token endpoint on loopback: client credentials in, signed tokens out (RFC 6749 4.4), and the keys to check them."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.web import Handler, running, server_of, url_of

CLIENT, CLIENT_SECRET, SCOPE = "frazil-client", "token-secret-4711", "kafka"
_LIFETIME_S = 300


class TokenEndpoint:
    """Where it is, and the clients that were given tokens, in order."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.given: list[str] = []
        endpoint = self

        class Tokens(Handler):
            def do_GET(self) -> None:
                self._reply(200, endpoint.keys())

            def do_POST(self) -> None:
                body = self.body().decode()
                kind, _, login = self.headers.get("authorization", "").partition(" ")
                wanted = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
                form = parse_qs(body)
                if (kind.lower(), login) != ("basic", wanted) or form.get("grant_type") != ["client_credentials"]:
                    self._reply(401, {"error": "invalid_client"})
                    return
                endpoint.given.append(self.headers.get("user-agent", ""))
                token = endpoint.token(form.get("scope", [""])[0])
                self._reply(200, {"access_token": token, "token_type": "Bearer", "expires_in": _LIFETIME_S})

            def _reply(self, status: int, document: Any) -> None:
                self.answer(status, json.dumps(document).encode())

        self.server = server_of(Tokens)
        base = url_of(self.server)
        self.token_url, self.keys_url = f"{base}/token", f"{base}/keys"

    def token(self, scope: str) -> str:
        now = int(time.time())
        claims = {"sub": CLIENT, "scope": scope, "iat": now, "exp": now + _LIFETIME_S, "iss": "tests", "aud": "kafka"}
        text = f"{_encoded(_json({'alg': 'RS256', 'kid': '1', 'typ': 'JWT'}))}.{_encoded(_json(claims))}"
        signature = self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{text}.{_encoded(signature)}"

    def keys(self) -> dict[str, Any]:
        """The public key, as a JSON Web Key Set."""
        numbers = self._key.public_key().public_numbers()
        e, n = (_encoded(number.to_bytes((number.bit_length() + 7) // 8, "big")) for number in (numbers.e, numbers.n))
        return {"keys": [{"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "e": e, "n": n}]}


@contextmanager
def token_endpoint() -> Iterator[TokenEndpoint]:
    endpoint = TokenEndpoint()
    with running(endpoint.server):
        yield endpoint


def _json(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
