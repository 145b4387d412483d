"""What is told of connectors, on the broker, catalog and store of the stack."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from frazil.clients.catalog import connect
from frazil.clients.kafka.groups import set_group_offsets
from frazil.clients.kafka.produce import Outgoing, RecordProducer
from frazil.clients.kafka.topics import ensure_topics
from frazil.connectors.iceberg.tools import problems
from frazil.declare.providers import ConfigProviders
from frazil.doctor.connectors import connectors
from frazil.doctor.finding import Finding, Look
from frazil.doctor.parts import catalog, kafka
from frazil.environment.settings import Settings
from frazil.stack.local import LocalStack
from frazil.stack.ports import unused
from tests.acceptance.objects import BUCKET, ObjectPipe
from tests.connectors.samples import MINIMAL_S3_SINK, MINIMAL_SINK

pytestmark = pytest.mark.stack
NAMESPACE = "doctor"


@pytest.fixture
def settings(stack: LocalStack) -> Settings:
    return stack.settings


@pytest.fixture
def examined(settings: Settings) -> Callable[..., list[Finding]]:
    """Findings about one connector with these keys, and about its parts."""

    def look(config: dict[str, str], state: str = "RUNNING", trace: str = "") -> list[Finding]:
        name = config["name"]
        own: dict[str, Any] = {"state": state, "worker_id": "w", **({"trace": trace} if trace else {})}
        entry = {"info": {"config": config}, "status": {"connector": own, "tasks": []}}
        return list(connectors(Look(settings, ConfigProviders(), connectors={name: entry})))

    return look


def iceberg(name: str, **more: str) -> dict[str, str]:
    """A sink on the catalog of the worker."""
    keys = {key: value for key, value in MINIMAL_SINK.items() if not key.startswith("iceberg.catalog")}
    return {**keys, "name": name, "topics": f"{name}.t", "iceberg.tables": f"{NAMESPACE}.{name}", **more}


def table(settings: Settings, name: str) -> None:
    catalog = connect(settings.catalog_properties())
    catalog.create_namespace_if_not_exists(NAMESPACE)
    catalog.create_table(f"{NAMESPACE}.{name}", Schema(NestedField(1, "id", IntegerType())))


def test_one_that_is_well(settings: Settings, examined: Callable[..., list[Finding]]) -> None:
    table(settings, "well")
    ensure_topics(settings.bootstrap_servers, {"well.t": (1, {})})
    [found] = examined(iceberg("well"))
    assert (found.level, found.what) == ("ok", "it is RUNNING"), found


def test_a_failure_and_its_cause_are_one_problem(settings: Settings, examined: Callable[..., list[Finding]]) -> None:
    table(settings, "once")
    [found] = examined(iceberg("once"), "FAILED", "NotFound: topic once.t does not exist at b")
    assert (found.what, found.cure) == (
        "it is FAILED: NotFound: topic once.t does not exist at b",
        "`topics create once.t`, then `restart connector once`",
    )


def test_a_service_that_does_not_answer_is_told_once(stack: LocalStack) -> None:
    (closed,) = unused(1)
    away = Settings({**stack.settings.env, "KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{closed}"})
    status = {"connector": {"state": "RUNNING", "worker_id": "w"}, "tasks": []}
    known = {name: {"info": {"config": iceberg(name)}, "status": status} for name in ("away", "away2", "away3")}
    found = [one.what for one in connectors(Look(away, ConfigProviders(), connectors=known))]
    assert len([what for what in found if what.startswith(f"Kafka at 127.0.0.1:{closed} does not answer")]) == 1, found


def test_what_it_lacks_and_why_it_failed(examined: Callable[..., list[Finding]]) -> None:
    found = examined(iceberg("lacks"), "FAILED", "BadRecord: x\nat y")
    texts = [one.what for one in found]
    cures = [one.cure for one in found if one.what == "it is FAILED: BadRecord: x"]
    assert cures == ["one of the ways that it tells"] and "topic lacks.t does not exist" in texts
    assert any(text.startswith(f"table {NAMESPACE}.lacks does not exist") for text in texts)
    assert {one.level for one in found} == {"problem"}


def test_retention_that_took_or_is_about_to_take_what_is_not_read(
    settings: Settings, examined: Callable[..., list[Finding]]
) -> None:
    table(settings, "late")
    servers = settings.bootstrap_servers
    ensure_topics(servers, {"late.t": (1, {"retention.ms": str(100 * 3_600_000)})})
    old = int(time.time() * 1000) - 90 * 3_600_000
    with RecordProducer(servers) as producer:
        producer.send("late.t", [Outgoing(b"{}", timestamp=old), Outgoing(b"{}")], 2)
    set_group_offsets(servers, "connect-late", {("late.t", 0): 1})
    assert [one.level for one in examined(iceberg("late"))] == ["ok"], "the next record is new"
    set_group_offsets(servers, "connect-late", {("late.t", 0): 0})
    [found] = examined(iceberg("late"))
    assert (found.level, found.what.startswith("in 10.0 hours retention passes what is not read")) == ("warning", True)
    assert "raise retention.ms of late.t (now 100 hours)" in found.cure


def test_many_small_files(
    settings: Settings, examined: Callable[..., list[Finding]], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa

    table(settings, "small")
    ensure_topics(settings.bootstrap_servers, {"small.t": (1, {})})
    stored = connect(settings.catalog_properties()).load_table(f"{NAMESPACE}.small")
    stored.append(pa.table({"id": pa.array([1], pa.int32())}))
    stored.append(pa.table({"id": pa.array([2], pa.int32())}))
    monkeypatch.setattr(problems, "_MANY_FILES", 2)
    [found] = examined(iceberg("small"))
    assert (found.level, "has 2 data files of 0.0 MB on average" in found.what) == ("warning", True)
    assert found.cure.startswith(f"run `maintain {NAMESPACE}.small`")


def test_object_sinks_are_asked_for_their_bucket(settings: Settings, examined: Callable[..., list[Finding]]) -> None:
    ensure_topics(settings.bootstrap_servers, {"objects.t": (1, {})})
    keys = {key: value for key, value in MINIMAL_S3_SINK.items() if key not in ("aws.access.key.id", "topics")}
    place = {"store.url": settings.s3_endpoint, "s3.bucket.name": "no-such-bucket", "topics": "objects.t"}
    found = examined({**keys, **place, "name": "objects"})
    assert found[0].level == "problem" and "no-such-bucket" in found[0].what, found


def test_records_that_have_waited_long_for_others_are_told(
    settings: Settings, examined: Callable[..., list[Finding]]
) -> None:
    servers = settings.bootstrap_servers
    ensure_topics(servers, {"few.t": (1, {})})
    with RecordProducer(servers) as producer:
        producer.send("few.t", [Outgoing(b"{}", timestamp=int(time.time() * 1000) - 700_000)], 1)
    set_group_offsets(servers, "connect-few", {("few.t", 0): 0})
    ObjectPipe(settings, "few").create()
    store = {"store.url": settings.s3_endpoint, "s3.bucket.name": BUCKET, "topics": "few.t", "name": "few"}
    keys = {"aws.access.key.id": settings.access_key, "aws.secret.access.key": settings.secret_key}
    config = {**MINIMAL_S3_SINK, **store, **keys, "flush.size": "100"}
    [found] = examined(config)
    assert (found.level, found.what.startswith("1 record waits in open objects until")) == ("warning", True)
    assert "set rotate.schedule.interval.ms" in found.cure
    assert [one.level for one in examined(config, "PAUSED")] == ["ok"]


def test_kafka_and_catalog_answer(settings: Settings) -> None:
    look = Look(settings, ConfigProviders())
    [found] = kafka(look)
    assert (found.level, "has 1 broker" in found.what) == ("ok", True)
    [found] = catalog(look)
    assert found.level == "ok"
