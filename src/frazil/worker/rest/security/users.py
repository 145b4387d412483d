"""Users of the REST API: the properties file of Kafka Connect's basic authentication, with hashed passwords too."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import javaproperties

from frazil.errors import ConfigError
from frazil.text.lists import listed


class Role(StrEnum):
    """A reader looks, an operator pauses and restarts as well, an admin does everything."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"

    def may(self, method: str, path: str) -> bool:
        """Whether users of the role may make such a request."""
        if self is Role.ADMIN or only_looks(method, path):
            return True
        return self is Role.OPERATOR and _one_of(_OPERATIONS, method, path)


def only_looks(method: str, path: str) -> bool:
    """Whether a request changes nothing, whoever makes it."""
    return method in _LOOKING or _one_of(_CHECKS, method, path)


_LOOKING = ("GET", "HEAD", "OPTIONS")
_CHECKS = (
    ("PUT", re.compile(r"/connector-plugins/[^/]+/config/validate")),
    ("POST", re.compile(r"/ui/(?:sql/answer|report/made)")),  # which read only
)
_OPERATIONS = (
    ("PUT", re.compile(r"/connectors/[^/]+/(pause|resume|stop|topics/reset)")),
    ("POST", re.compile(r"/connectors/[^/]+/(tasks/[^/]+/)?restart")),
    ("PUT", re.compile(r"/admin/loggers/[^/]+")),
)


def _one_of(allowed: Sequence[tuple[str, re.Pattern[str]]], method: str, path: str) -> bool:
    return any(method == one and pattern.fullmatch(path.rstrip("/")) for one, pattern in allowed)


EXTENSIONS = "rest.extension.classes"
USERS_FILE = "frazil.rest.users.file"
_EXTENSION = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
_MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
_LOGIN_FILE = "-Djava.security.auth.login.config="
_ENTRY = re.compile(r"KafkaConnect\s*\{(.*?)\}\s*;", re.DOTALL)
_FILE = re.compile(r'\bfile\s*=\s*"([^"]+)"')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HASH = re.compile(r"scrypt\$(\d+)\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)")
_WITH_ROLE = re.compile(rf"(scrypt\$\S+) +({'|'.join(Role)})")
_COST, _BLOCK, _MEMORY = 14, 8, 64 << 20


def hashed(password: str) -> str:
    """Hash a password for a users file; each call salts it anew, and so gives another text."""
    salt = secrets.token_bytes(16)
    return f"scrypt${_COST}${_encode(salt)}${_encode(_digest(password, salt, _COST))}"


class Users:
    """Names and passwords of those who may use the REST API. Passwords are compared in constant time.

    A hash may have a role behind it; without one a user is an admin.
    """

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._roles = {
            name: Role(found[2]) for name, text in passwords.items() if (found := _WITH_ROLE.fullmatch(text))
        }
        self._passwords = {name: _WITH_ROLE.sub(r"\1", text) for name, text in passwords.items()}
        self._nobody = secrets.token_urlsafe()
        if any(_HASH.fullmatch(stored) for stored in self._passwords.values()):
            self._nobody = hashed(self._nobody)
        self._key = os.urandom(32)
        self._known: set[bytes] = set()

    @classmethod
    def load(cls, properties: Mapping[str, str], env: Mapping[str, str]) -> Users | None:
        """Users of a worker, from `frazil.rest.users.file`, or from Connect's extension for basic authentication and
        the login file that `KAFKA_OPTS` names; None when anybody may use the API.

        Raises ConfigError for an extension that there is not, and for a file that cannot be used.
        """
        named = properties.get(USERS_FILE, "").strip()
        extensions = listed(properties.get(EXTENSIONS, ""))
        unknown = [name for name in extensions if name != _EXTENSION]
        if unknown:
            raise ConfigError(f"{EXTENSIONS} has {unknown[0]}; the only extension is {_EXTENSION}")
        if named:
            return cls(_read(named, USERS_FILE))
        return cls(_read(*_of_login_file(env))) if extensions else None

    def role(self, user: str) -> Role:
        """The role of a user."""
        return self._roles.get(user, Role.ADMIN)

    def knows(self, user: str, password: str) -> bool:
        """Whether `admit` has found the password to be the user's before; costs next to nothing."""
        return self._seen(user, password) in self._known

    def admit(self, user: str, password: str) -> bool:
        """Whether the password is the user's; a check takes as long for an unknown user: some 50 ms of CPU and 16 MiB
        for a hash."""
        stored = self._passwords.get(user, self._nobody)
        found = _HASH.fullmatch(stored)
        if found is None:
            right = hmac.compare_digest(stored.encode(), password.encode())
        else:
            salt, expected = base64.b64decode(found[2]), base64.b64decode(found[3])
            right = hmac.compare_digest(_digest(password, salt, int(found[1])), expected)
        if right and user in self._passwords:
            self._known.add(self._seen(user, password))
            return True
        return False

    def _seen(self, user: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{user}\0{password}".encode(), "sha256")


def _digest(password: str, salt: bytes, cost: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=1 << cost, r=_BLOCK, p=1, maxmem=_MEMORY)


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _of_login_file(env: Mapping[str, str]) -> tuple[str, str]:
    """Path of the users file that the JAAS section KafkaConnect names, and what to call it in messages."""
    for variable in ("KAFKA_OPTS", "JAVA_TOOL_OPTIONS"):
        for option in shlex.split(env.get(variable, "")):
            if option.startswith(_LOGIN_FILE):
                path = option.removeprefix(_LOGIN_FILE)
                try:
                    text = _COMMENT.sub("", Path(path).read_text("utf-8"))
                except (OSError, UnicodeDecodeError) as error:
                    raise ConfigError(f"{variable}: the login file {path} cannot be read: {error}") from None
                entry = _ENTRY.search(text)
                file = _FILE.search(entry[1]) if entry and _MODULE in entry[1] else None
                if file is None:
                    raise ConfigError(f'{variable}: {path} has no section KafkaConnect with {_MODULE} and file="…"')
                return file[1], path
    raise ConfigError(
        f"{EXTENSIONS} asks for users, but neither {USERS_FILE} is set nor {_LOGIN_FILE}FILE in KAFKA_OPTS. "
        "The worker was not started."
    )


def _read(path: str, where: str) -> dict[str, str]:
    try:
        users = javaproperties.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a properties file in UTF-8"
        raise ConfigError(f"{where}: {path} cannot be read: {reason}. The worker was not started.") from None
    empty = [name for name, password in users.items() if not password]
    if empty or not users:
        what = f"no password for user {empty[0]}" if empty else "no user"
        raise ConfigError(f"{where}: {path} has {what}; a line is user=password. The worker was not started.")
    for name, password in users.items():
        cost = _HASH.fullmatch(_WITH_ROLE.sub(r"\1", password))
        if password.startswith("scrypt$") and (cost is None or not 10 <= int(cost[1]) <= 15):
            raise ConfigError(
                f"{where}: {path} has a damaged hash for user {name}, or a role behind it that is none of "
                f"{', '.join(Role)}; make the hash anew with `password`."
            )
    return users
