"""Tokens for a schema registry from an identity provider, by OAuth's client credentials."""

import ssl
import threading
import time

import httpx

from frazil.clients.answers import whole_answer
from frazil.clients.registry.access import ClientCredentials
from frazil.errors import ServiceUnavailable


class Tokens:
    """Keeps a token while it is valid; safe for several threads."""

    def __init__(self, login: ClientCredentials, verify: ssl.SSLContext | bool, timeout: httpx.Timeout) -> None:
        self._login = login
        self._verify = verify
        self._timeout = timeout
        self._lock = threading.Lock()
        self._token = ""
        self._until = 0.0

    def token(self) -> str:
        """Give the token, a new one when it is needed. Raises ServiceUnavailable, which names the key to correct."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._token, seconds = self._ask()
                self._until = time.monotonic() + max(0.0, seconds - self._login.spare)
            return self._token

    def forget(self) -> None:
        """Ask for another one next time."""
        with self._lock:
            self._until = 0.0

    def _ask(self) -> tuple[str, float]:
        login = self._login
        form = {"grant_type": "client_credentials"} | ({"scope": login.scope} if login.scope else {})
        try:
            with httpx.Client(verify=self._verify, timeout=self._timeout) as http:
                auth = (login.client, login.secret)
                answer = whole_answer(http, "POST", login.url, data=form, auth=auth)
            answer.raise_for_status()
            found = answer.json()
            return str(found["access_token"]), float(found.get("expires_in", 0))
        except httpx.HTTPStatusError as error:
            reason = f"it answers {error.response.status_code}"
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
        except (ValueError, KeyError, TypeError):
            reason = "its answer has no access_token"
        raise ServiceUnavailable(
            f"there is no token for the schema registry from {login.url} ({reason}). Nothing of the batch was "
            f"committed; it is read again. Correct {login.key} or the client's id and secret"
        )
