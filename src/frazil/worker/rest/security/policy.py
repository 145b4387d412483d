"""Policy of the REST API: its users, where they come from, and the headers of every answer."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frazil.errors import ConfigError
from frazil.text.lists import listed
from frazil.worker.rest.security.audit import Audit
from frazil.worker.rest.security.hosts import HostCheck, OriginCheck
from frazil.worker.rest.security.login import BasicAuthentication
from frazil.worker.rest.security.users import Users
from frazil.worker.watch.events import EventLog

ORIGIN, METHODS = "access.control.allow.origin", "access.control.allow.methods"
HEADERS = "response.http.headers.config"
_DEFAULT_METHODS = ("GET", "POST", "HEAD")
_ALLOWED_HEADERS = ("Accept", "Content-Type", "Origin", "X-Requested-With")
_ACTIONS = ("add", "set", "adddate", "setdate")


@dataclass(frozen=True)
class HeaderRule:
    """Rule of `response.http.headers.config`; `value` None stands for the time of the answer."""

    name: str
    value: str | None
    replaces: bool


@dataclass(frozen=True)
class RestPolicy:
    """Rules for every request and answer; without any, everybody who can connect may do everything."""

    users: Users | None = None
    origins: tuple[str, ...] = ()
    methods: tuple[str, ...] = _DEFAULT_METHODS
    headers: tuple[HeaderRule, ...] = ()
    hosts: frozenset[str] | None = None
    """Names that requests may be for, besides addresses; None: any."""

    @classmethod
    def load(cls, properties: Mapping[str, str], env: Mapping[str, str]) -> RestPolicy:
        """Load the policy from the keys of Kafka Connect's worker; raises ConfigError that names the wrong key."""
        origins = listed(properties.get(ORIGIN, ""))
        methods = tuple(method.upper() for method in listed(properties.get(METHODS, ""))) or _DEFAULT_METHODS
        return cls(Users.load(properties, env), origins, methods, _header_rules(properties.get(HEADERS, "")))

    def middleware(self, events: EventLog) -> list[Middleware]:
        """Middleware that requests go through, the outermost first; what changes something is an event."""
        chain = []
        if self.headers:
            chain.append(Middleware(_AnswerHeaders, rules=self.headers))
        if self.hosts is not None:
            chain.append(Middleware(HostCheck, hosts=self.hosts))
        if self.origins:
            chain.append(
                Middleware(
                    CORSMiddleware,
                    allow_origins=self.origins,
                    allow_methods=self.methods,
                    allow_headers=_ALLOWED_HEADERS,
                )
            )
        chain.append(Middleware(OriginCheck, origins=self.origins))
        chain.append(Middleware(Audit, events=events, users=self.users is not None))
        if self.users is not None:
            chain.append(Middleware(BasicAuthentication, users=self.users))
        return chain


class _AnswerHeaders:
    """Adds headers to every answer, errors included."""

    def __init__(self, app: ASGIApp, rules: tuple[HeaderRule, ...]) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for rule in self._rules:
                    value = formatdate(usegmt=True) if rule.value is None else rule.value
                    if rule.replaces:
                        headers[rule.name] = value
                    else:
                        headers.append(rule.name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _header_rules(text: str) -> tuple[HeaderRule, ...]:
    """`[action] [name]:[value]`, separated by commas; a rule with a comma stands in double quotes (KIP-577)."""
    rules = []
    for part in next(csv.reader([text.replace("\n", " ").replace("\r", " ")], skipinitialspace=True), []):
        if not part.strip():
            continue
        action, _, rest = part.strip().partition(" ")
        name, _, value = rest.partition(":")
        name, value = name.strip(), value.strip()
        dated = action.lower().endswith("date")
        if action.lower() not in _ACTIONS or not name or " " in name or not (value or dated):
            raise ConfigError(
                f"{HEADERS} has {part.strip()!r}; expected `add|set Name: value` or `addDate|setDate Name`"
            )
        if not all(" " <= char <= "~" for char in name + value):
            raise ConfigError(f"{HEADERS}: the header {name} has a character that headers cannot have")
        rules.append(HeaderRule(name, None if dated else value, action.lower().startswith("set")))
    return tuple(rules)
