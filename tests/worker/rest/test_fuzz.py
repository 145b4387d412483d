"""Requests that nobody thought of, made from the API's own document: odd names, queries, bodies and content types."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.worker.rest.requests import sink
from tests.worker.watch.positions import KeptPositions

ANSWER_S = 20.0
CONFIG = sink(
    "c",
    iceberg__catalog__uri="http://me:s3cr3t-login@127.0.0.1:1/",
    iceberg__catalog__token="s3cr3t-token",
    iceberg__catalog__header__Authorization="Bearer s3cr3t-bearer",
)
TEXT = st.text(max_size=20) | st.sampled_from(["", " ", "..", "%", "c/d", "\0", "-1", "1e999", "null", "${env:PATH}"])
NAMES = (
    st.sampled_from(["c", "c", "0", "root", "frazil.fuzz", "IcebergSink", "S3SinkConnector", "JsonConverter"]) | TEXT
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
KEYS = st.sampled_from([*CONFIG, "config", "offsets", "partition", "offset", "level", "initial_state"]) | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)
CHANGED = st.dictionaries(KEYS, JSON, max_size=3).map(lambda changes: {**CONFIG, **changes})
OFFSETS = st.fixed_dictionaries(
    {"offsets": st.lists(st.fixed_dictionaries({"partition": JSON, "offset": JSON}), max_size=2)}
)
BODIES = (
    (JSON | CHANGED | OFFSETS | CHANGED.map(lambda config: {"name": "c", "config": config})).map(
        lambda document: json.dumps(document).encode("utf-8", "surrogatepass")
    )
    | st.binary(max_size=40)
    | st.sampled_from([b"", b"{", b"[" * 5000, b'{"a":1}{"a":1}', b'{"name":"c","name":"d"}'])
)
TYPES = st.sampled_from(["application/json"] * 5 + ["", "text/plain", "application/json; charset=utf-16", "*/*;q=x"])
METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS")
QUERIES = st.dictionaries(
    st.sampled_from(["expand", "includeTasks", "onlyFailed", "connectorsOnly", "version", "scope", "x"]),
    st.sampled_from(["true", "status", "info", "cluster", "worker"]) | TEXT,
    max_size=2,
)


def _ask(herder: Herder, client: httpx.Client, method: str, path: str, data: st.DataObject) -> None:
    """Send one request to a worker that has a connector with secrets."""
    if "c" not in herder.connectors():
        herder.create("c", CONFIG)
    filled = re.sub(r"\{\w+\}", lambda _: quote(data.draw(NAMES), safe=""), path)
    body, kind = data.draw(BODIES), data.draw(TYPES)
    answer = client.request(
        method, filled, params=data.draw(QUERIES), content=body, headers={"Content-Type": kind, "Accept": kind}
    )
    shown = f"{method} {answer.request.url} {kind} {body!r}: {answer.status_code} {answer.text}"
    assert answer.status_code < 500, shown
    assert "s3cr3t" not in answer.text + str(answer.headers), shown
    if method != "HEAD" and answer.status_code >= 400 and answer.headers.get("content-type") == "application/json":
        assert answer.json()["error_code"] == answer.status_code, shown


def _fuzz(herder: Herder, requests: int) -> None:
    info = WorkerInfo("cluster-1", KeptPositions(), ActiveTopics(), Loggers())
    server = serve(rest_app(herder, info, masks=True), "127.0.0.1", 0, "KAFKA_CONNECT_PORT")
    with (
        _levels(),
        httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=ANSWER_S, trust_env=False) as client,
    ):
        paths: dict[str, dict[str, Any]] = client.get("/openapi.json").json()["paths"]
        known = [(method.upper(), path) for path, methods in paths.items() for method in methods]
        operations = st.sampled_from([*known * 5, *((method, path) for path in paths for method in METHODS)])

        @settings(
            max_examples=requests,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(operation=operations, data=st.data())
        def ask(operation: tuple[str, str], data: st.DataObject) -> None:
            _ask(herder, client, *operation, data)

        ask()
        assert client.get("/health").status_code == 200
    server.stop()


@contextmanager
def _levels() -> Iterator[None]:
    """Leave the levels of this process's loggers as they were."""
    every = [logging.getLogger(), *map(logging.getLogger, [*logging.root.manager.loggerDict])]
    levels = [(logger, logger.level) for logger in every]
    yield
    for logger, level in levels:
        logger.setLevel(level)


def test_no_request_is_a_fault_of_the_worker_or_shows_a_secret(herder: Herder) -> None:
    _fuzz(herder, 300)


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_no_request_of_twenty_thousand_is(herder: Herder) -> None:
    _fuzz(herder, 20_000)
