"""Connectors of `init --with aggregates`: they are taken as they are, and store what the records say."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import frazil
from frazil.cli.main import app
from frazil.clients.catalog import connect
from frazil.connectors.registry import checked
from frazil.environment.settings import Settings
from frazil.errors import NotFound
from frazil.minio.deployment.aggregates import aggregates
from frazil.minio.deployment.deploy import deploy_tables, deploy_topics
from frazil.minio.generators.generate import records
from frazil.minio.questions.aggregated import AGGREGATED
from frazil.minio.questions.bind import statement
from frazil.minio.report.build import build
from frazil.minio.report.page import html
from frazil.minio.report.panels import OF_AGGREGATES, Span
from frazil.sql.engine import embedded_engine
from frazil.stack.local import LocalStack
from tests.harness import send

BEGIN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_each_is_taken_as_it_is() -> None:
    configs = aggregates(Settings({"API_LOGS_TOPIC": "api-logs"}))
    assert list(configs) == [
        "iceberg-sink-requests-per-minute",
        "iceberg-sink-latencies-per-5-minutes",
        "iceberg-sink-failed-logins-per-10-minutes",
        "iceberg-sink-session-calls",
    ]
    for name, config in configs.items():
        told = checked({**config, "name": name}, Settings({})).warnings
        assert not [text for text in told if "is not a key of this connector" in text]


def call(minute: float, name: str, status: int, took: str, **more: Any) -> bytes:
    info = {"httpStatusCode": status, "requestTime": took, "rx": 10, "sourceHost": "10.0.0.7"}
    time = (BEGIN + timedelta(minutes=minute)).isoformat()
    return json.dumps({"version": "1", "time": time, "name": name, "callInfo": info, **more}).encode()


def session(minute: float, name: str, status: int, **info: Any) -> bytes:
    record = json.loads(call(minute, name, status, ""))
    return json.dumps({**record, "callInfo": {**record["callInfo"], "requestTime": None, **info}}).encode()


def begin_of(record: dict[str, Any], minutes: int) -> datetime:
    time = datetime.fromisoformat(record["time"][:19]).replace(tzinfo=UTC)
    return time - timedelta(minutes=time.minute % minutes, seconds=time.second)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.faults
def test_calls_latencies_and_failed_logins_are_those_of_the_records(stack: LocalStack, spark: SparkSession) -> None:
    own = {"NAMESPACE_NAME": "aggregates", "API_LOGS_TOPIC": "aggregated-api-logs"}
    settings = Settings({**stack.settings.env, **own})
    deploy_topics(settings, lambda step: None)
    deploy_tables(settings, lambda step: None)
    generated = list(records("api", 500, seed=3, start=BEGIN, span=timedelta(minutes=20)))
    claims = {"accessKey": "SESSION1", "preferred_username": "ada"}
    ours = [
        session(2, "sts.AssumeRoleWithWebIdentity", 200, requestClaims=claims, accessKey=""),
        session(1, "s3.GetObject", 200, accessKey="SESSION1"),  # before the session was made
        *(session(n, "s3.GetObject", 403 if n == 3 else 200, accessKey="SESSION1", parentUser="p") for n in (3, 4, 14)),
        session(5, "sts.AssumeRole", 403, requestClaims={"accessKey": "SESSION2"}, sourceHost="10.0.0.8"),
        session(6, "s3.GetObject", 200, accessKey="SESSION2"),
        *(call(n, "a.Slow", 200, took) for n, took in enumerate(["1m2.5s", "207.5µs", "3ms", "1h", "250ns"])),
        *(call(n, "sts.AssumeRoleWithWebIdentity", 403, "1ms", type="auth") for n in (1, 2, 12)),
        call(3, "sts.AssumeRole", 200, "1ms", type="auth"),
        call(4, "s3.HealObject", 200, "1ms", origin="heal"),
    ]
    send(
        settings.bootstrap_servers, settings.topics["api"], [*generated, *ours, b"no call", call(120, "last", 200, "")]
    )
    for name, config in aggregates(settings).items():
        done = frazil.open(config, name, env=settings.env).drain(spark)
        assert (done.read - done.stored, done.dead_letters) == (len(generated) + len(ours) + 2, 1)

    catalog = connect(settings.catalog_properties())

    def rows(table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = catalog.load_table(f"{settings.namespace}.{table}").scan().to_arrow().to_pylist()
        return found

    minutes = defaultdict[tuple[datetime, str | None], list[dict[str, Any]]](list)
    for each in map(json.loads, [*generated, *ours]):
        if each.get("origin", "client") == "client":
            minutes[begin_of(each, 1), each.get("bucket")].append(each["callInfo"])
    told = {(row["minute"], row["bucket"]): row for row in rows("requests_per_minute")}
    assert told.keys() == minutes.keys()
    for key, calls in minutes.items():
        errors = sum(each["httpStatusCode"] >= 400 for each in calls)
        assert (told[key]["calls"], told[key]["errors"]) == (len(calls), errors)
        assert told[key]["error_percent"] == pytest.approx(100 * errors / len(calls))
        for column, member in (("bytes_in", "rx"), ("bytes_out", "tx")):
            assert told[key][column] == sum(each.get(member, 0) for each in calls)

    (slow,) = (row for row in rows("latencies_per_5_minutes") if row["api"] == "a.Slow")
    took = [62_500, 0.2075, 3, 3_600_000, 0.00025]
    assert (slow["since"], slow["calls"], slow["p50_ms"]) == (BEGIN, 5, statistics.median(took))
    assert (slow["p99_ms"], slow["most_ms"]) == (3_600_000, 3_600_000)
    assert sum(row["calls"] for row in rows("latencies_per_5_minutes")) >= len(generated) / 2

    failed = [row for row in rows("failed_logins_per_10_minutes") if row["source_host"] == "10.0.0.7"]
    assert sorted((row["since"], row["failed"], row["newest"]) for row in failed) == [
        (BEGIN, 2, BEGIN + timedelta(minutes=2)),
        (BEGIN + timedelta(minutes=10), 1, BEGIN + timedelta(minutes=12)),
    ]

    used = [row for row in rows("session_calls") if row["session_key"].startswith("SESSION")]
    assert sorted((row["time"], row["api"], row["status"]) for row in used) == [
        (BEGIN + timedelta(minutes=n), "GetObject", status) for n, status in ((3, 403), (4, 200), (14, 200))
    ]
    assert {(row["who"], row["identity"], row["assumed_by"], row["assumed_at"]) for row in used} == {
        ("ada", "ada", "AssumeRoleWithWebIdentity", BEGIN + timedelta(minutes=2))
    }

    engine = embedded_engine(settings, {})
    span = Span(BEGIN, BEGIN + timedelta(hours=1))
    for name, question in AGGREGATED.items():
        [answer] = engine.run(statement(question, {"since": span.start, "until": span.end}))
        assert tuple(answer.columns) == tuple(question.columns)
        assert answer.rows, f"{name} has an answer"
    page = html(build(engine, span, span.end, lambda step: None))
    assert all(view.title in page for view in OF_AGGREGATES)
    assert "No answer" not in page


@pytest.mark.stack
def test_a_question_whose_table_is_not_there_says_what_makes_it(stack: LocalStack) -> None:
    env = {**stack.settings.env, "NAMESPACE_NAME": "aggregateless", "TRINO_URL": ""}
    connect(stack.settings.catalog_properties()).create_namespace("aggregateless")
    told = CliRunner().invoke(app, ["ask", "latencies"], env=env)
    assert isinstance(told.exception, NotFound)
    assert "there is no table latencies_per_5_minutes in aggregateless" in str(told.exception)
    assert "init --with aggregates` make it" in str(told.exception)
