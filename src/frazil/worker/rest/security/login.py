"""Basic authentication of the REST API, at a cost that nobody outside can drive up."""

import base64
import binascii
import logging
import math
import time
from collections import OrderedDict

from anyio import CapacityLimiter, sleep, to_thread
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from frazil.worker.rest.error import error_response
from frazil.worker.rest.security.users import Users

logger = logging.getLogger(__name__)

_OPEN_PATHS = ("/health",)
"""Paths answered without a login, so that a probe needs none: they tell only whether requests are handled."""
_AT_ONCE = 2
"""Passwords that are checked at the same time, in threads that answer nothing else."""
_FREE = 10
_EACH_S = 1.0
_LONGEST_S = 10.0
_ADDRESSES = 1024


class BasicAuthentication:
    """Asks for a user; a refused login is logged with the user's name and address, never with the password."""

    def __init__(self, app: ASGIApp, users: Users) -> None:
        self._app = app
        self._users = users
        self._attempts = Attempts()
        self._checks: CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].rstrip("/") in _OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        user, password = credentials(Headers(scope=scope).get("authorization", ""))
        if user is None:
            refusal: Response | None = _asked()
        elif self._users.knows(user, password):
            refusal = None
        else:
            refusal = await self._check(scope, user, password)
        if user is not None and refusal is None:
            refusal = self._forbidden(user, scope["method"], scope["path"])
        await (refusal or self._app)(scope, receive, send)

    def _forbidden(self, user: str, method: str, path: str) -> Response | None:
        role = self._users.role(user)
        if role.may(method, path):
            return None
        return error_response(403, f"User {user} has the role {role}, which may not {method} {path}.")

    async def _check(self, scope: Scope, user: str, password: str) -> Response | None:
        """Check a password that was not seen before, once its address may; None when it is right."""
        address: str = (scope.get("client") or ("unknown",))[0]
        wait_s = self._attempts.wait_s(address, time.monotonic())
        if wait_s > _LONGEST_S:
            answer = error_response(429, "Too many logins with a wrong password; try again later.")
            answer.headers["Retry-After"] = str(math.ceil(wait_s))
            return answer
        await sleep(wait_s)
        if self._checks is None:
            self._checks = CapacityLimiter(_AT_ONCE)
        if await to_thread.run_sync(self._users.admit, user, password, limiter=self._checks):
            self._attempts.forget(address)
            return None
        logger.warning("login refused: user %r from %s, %s %s", user, address, scope["method"], scope["path"])
        return _asked()


class Attempts:
    """Logins by address: ten are free, then one a second, until one is right."""

    def __init__(self) -> None:
        self._free_at: OrderedDict[str, float] = OrderedDict()

    def wait_s(self, address: str, now: float) -> float:
        """Seconds to wait before an attempt; it counts unless that is longer than anybody waits."""
        free_at = max(self._free_at.pop(address, 0.0), now)
        wait_s = max(0.0, free_at - now - _FREE * _EACH_S)
        self._free_at[address] = free_at + (_EACH_S if wait_s <= _LONGEST_S else 0.0)
        if len(self._free_at) > _ADDRESSES:
            self._free_at.popitem(last=False)
        return wait_s

    def forget(self, address: str) -> None:
        """Note that a login of the address was right."""
        self._free_at.pop(address, None)


def _asked() -> Response:
    answer = error_response(401, "User cannot access the resource.")
    answer.headers["WWW-Authenticate"] = "Basic"
    return answer


def credentials(header: str) -> tuple[str | None, str]:
    """Give the user and the password of a header of basic authentication; None where it is none."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None, ""
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None, ""
    return (user, password) if colon else (None, "")
