"""Requests that are sent to Kafka Connect 4.3.1 and to this worker, and how the answers are compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import httpx

from tests.waits import PATIENCE_S, eventually

Json = Any
JSON = {"content-type": "application/json"}

# What differs: an answer of 500 that is 400 here, since the client made a mistake.
MISTAKE = (500, 400)


@dataclass(frozen=True)
class Sink:
    """A configuration of the side's own sink connector with changes; an Ellipsis leaves a key out."""

    changes: Mapping[str, Json] = field(default_factory=dict)

    def on(self, base: Mapping[str, str]) -> dict[str, Json]:
        merged = {**base, **self.changes}
        return {key: value for key, value in merged.items() if value is not Ellipsis}


@dataclass(frozen=True)
class Step:
    """One request.

    `differs` has the two statuses where they are not equal. `says` compares the messages of errors, `equal` whole
    bodies, else only the shape counts. `until` is what to wait for before the request, such as `c=RUNNING`. `{alias}`,
    `{class}` and `{topic}` stand for those of the side.
    """

    method: str
    path: str
    body: Json = None
    raw: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    differs: tuple[int, int] | None = None
    says: bool = True
    equal: bool = False
    until: str | None = None

    @property
    def name(self) -> str:
        shown = "" if self.body is None and self.raw is None else f" {self.raw or self.body}"
        return f"{self.method} {self.path}{shown}"


@dataclass(frozen=True)
class Side:
    """One of the two workers: its address, the sink that is there, and a topic."""

    url: str
    config: Mapping[str, str]
    topic: str

    @property
    def class_name(self) -> str:
        return self.config["connector.class"]

    @property
    def alias(self) -> str:
        return self.class_name.rpartition(".")[2]

    def fill(self, value: Json) -> Json:
        """The value with what stands for something of this side replaced."""
        if isinstance(value, Sink):
            return self.fill(value.on(self.config))
        if isinstance(value, dict):
            return {self.fill(key): self.fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, str):
            for name, text in (("class", self.class_name), ("alias", self.alias), ("topic", self.topic)):
                value = value.replace(f"{{{name}}}", text)
        return value

    def hide(self, text: str) -> str:
        """The text with what differs by nature replaced by its name."""
        for name, own in (("url", self.url), ("class", self.class_name), ("alias", self.alias), ("topic", self.topic)):
            text = text.replace(own, f"{{{name}}}")
        return text


@dataclass(frozen=True)
class Answer:
    """What came back, without the names of its side."""

    status: int
    json: bool
    body: Json
    location: str | None
    allow: list[str]

    @property
    def message(self) -> str | None:
        return self.body.get("message") if isinstance(self.body, dict) and "error_code" in self.body else None


def run(side: Side, steps: list[Step]) -> list[Answer]:
    """Send all requests in order, each over a connection of its own: Jetty ends one whose request it refuses."""
    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=side.url, timeout=PATIENCE_S, trust_env=False, limits=limits) as client:
        return [_send(client, side, step) for step in steps]


def _send(client: httpx.Client, side: Side, step: Step) -> Answer:
    if step.until is not None:
        path, _, state = step.until.partition("=")
        eventually(lambda: _state(client, path) == state)
    content = side.fill(step.raw) if step.raw is not None else None
    headers = dict(step.headers)
    if step.body is not None:
        content, headers = json.dumps(side.fill(step.body)), {**JSON, **headers}
    response = _settled(client, step, side.fill(step.path), content, headers)
    return Answer(
        response.status_code,
        bool(response.content) and response.headers.get("content-type", "").startswith("application/json"),
        _json(side.hide(response.text)),
        side.hide(unquote(response.headers["location"])) if "location" in response.headers else None,
        sorted(part.strip() for part in response.headers.get("allow", "").split(",") if part.strip()),
    )


def _settled(
    client: httpx.Client, step: Step, path: str, content: str | None, headers: Mapping[str, str]
) -> httpx.Response:
    """The answer, asked for again while a distributed worker rebalances, as clients of Connect do."""
    found: list[httpx.Response] = []

    def ask() -> bool:
        found.append(client.request(step.method, path, content=content, headers=dict(headers)))
        rebalances = found[-1].status_code in (409, 500) and "rebalance" in found[-1].text
        return not rebalances or step.differs == (409, 409)

    eventually(ask)
    return found[-1]


def _state(client: httpx.Client, connector: str) -> str:
    """The state of a connector and of all its tasks; RUNNING needs one, `gone` is a connector that has no status."""
    response = client.get(f"/connectors/{connector}/status")
    if response.status_code == 404:
        return "gone"
    body = response.json()
    states = {body["connector"]["state"], *(task["state"] for task in body["tasks"])}
    settled = len(states) == 1 and (states != {"RUNNING"} or body["tasks"])
    return str(states.pop()) if settled else "mixed"


def _json(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _ordered(body: Json) -> Json:
    """The body with offsets in an order; Connect gives them in that of a hash map."""
    if isinstance(body, dict) and isinstance(body.get("offsets"), list):
        return {**body, "offsets": sorted(body["offsets"], key=lambda entry: json.dumps(entry, sort_keys=True))}
    return body


def shape(value: Json) -> Json:
    """Keys and types of a JSON value; configurations, whose keys are the connector's own, are only maps."""
    if isinstance(value, dict):
        return "config" if "connector.class" in value else {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        shapes: list[Json] = []
        for item in value:
            one = shape(item)
            if one not in shapes:
                shapes.append(one)
        return shapes if len(shapes) < 2 or not all(isinstance(one, dict) for one in shapes) else [_union(shapes)]
    return type(value).__name__


def _union(shapes: list[dict[str, Json]]) -> Json:
    """Keys that all elements have; a value of several types is named after all of them."""
    keys = set.intersection(*(set(one) for one in shapes))
    return {key: "any" if len({str(one[key]) for one in shapes}) > 1 else shapes[0][key] for key in sorted(keys)}


def difference(step: Step, real: Answer, ours: Answer) -> str | None:
    """What is not as it has to be; None when nothing is."""
    expected = step.differs or (real.status, real.status)
    if (real.status, ours.status) != expected:
        return f"status {real.status}, ours {ours.status}: {real.body} | {ours.body}"
    if step.differs == MISTAKE:
        return None if ours.message else f"no message: {ours.body}"
    if real.status < 400 and real.json != ours.json:
        return f"JSON {real.json}, ours {ours.json}"
    if (real.location, real.allow) != (ours.location, ours.allow) and real.status < 400:
        return f"headers {real.location} {real.allow}, ours {ours.location} {ours.allow}"
    if real.message is not None:
        if step.says and real.message != ours.message:
            return f"message {real.message!r}, ours {ours.message!r}"
        return None if ours.message else f"no message: {ours.body}"
    if step.equal:
        return None if _ordered(real.body) == _ordered(ours.body) else f"body {real.body}, ours {ours.body}"
    both = shape(real.body), shape(ours.body)
    return None if both[0] == both[1] else f"shape {both[0]}, ours {both[1]}"
