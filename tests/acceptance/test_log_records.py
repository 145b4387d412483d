"""The main job: MinIO log records of every kind become rows of the three tables."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pyiceberg.catalog import Catalog

from frazil.clients.catalog import connect
from frazil.clients.kafka import groups as kafka_groups
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.environment.settings import Settings
from frazil.minio.deployment import deploy
from frazil.minio.deployment.connectors import connectors
from frazil.minio.generators.generate import records
from frazil.minio.records.kinds import TABLE_NAMES, TableKind
from frazil.pipeline.convert.decode import DecodeSpec, RecordDecoder
from tests.harness import Worker, messages, send
from tests.waits import eventually

pytestmark = pytest.mark.spark

LEGACY_AUDIT = {
    "version": "1",
    "deploymentid": "00000000-0000-4000-8000-000000000001",
    "time": "2024-05-09T07:38:10.449688982Z",
    "event": "",
    "trigger": "incoming",
    "api": {
        "name": "PutObject",
        "bucket": "legacybucket",
        "object": "hosts",
        "status": "OK",
        "statusCode": 200,
        "rx": 401,
        "tx": -1,
        "timeToResponse": "13309747ns",
    },
    "remotehost": "127.0.0.1",
    "requestID": "17CDC1F4D7E69123",
    "requestHeader": {"Authorization": "AWS4-HMAC-SHA256 Credential=EXAMPLE", "Content-Length": "401"},
    "tags": {"objectLocation": {"name": "hosts", "poolId": 1}},
}
SERVER_LOG = {
    "deploymentid": "d",
    "level": "WARNING",
    "time": "2025-08-15T16:06:01.16308316Z",
    "api": {"name": "SYSTEM.iam", "args": {}},
    "error": {"message": "legacy message (*errors.errorString)", "source": ["internal/logger/logger.go:271"]},
}


@pytest.fixture(scope="module")
def logs(worker: Worker) -> Iterator[Settings]:
    """The topics, tables and connectors of the logs on the worker, deployed twice: the second time changes nothing."""
    settings = worker.settings
    first: list[deploy.Step] = []
    deploy.deploy(settings, first.append)
    again: list[deploy.Step] = []
    deploy.deploy(settings, again.append)
    assert {step.outcome for step in again} == {"exists"}
    yield settings
    for name in connectors(settings):
        worker.client.delete(name)


def rows(settings: Settings, table: str) -> list[dict[str, object]]:
    catalog: Catalog = connect(settings.catalog_properties())
    found: list[dict[str, object]] = catalog.load_table(f"{settings.namespace}.{table}").scan().to_arrow().to_pylist()
    return found


@pytest.mark.parametrize("kind", TABLE_NAMES)
def test_generated_records_arrive_as_the_strict_converter_sees_them(
    worker: Worker, logs: Settings, kind: TableKind
) -> None:
    """The rows equal those of the converter alone, record by record, secrets aside."""
    table = TABLE_NAMES[kind]
    before = len(rows(logs, table))
    made = list(records(kind, 700, seed=5))
    send(logs.bootstrap_servers, logs.topics[kind], made)

    eventually(lambda: len(rows(logs, table)) == before + len(made))

    schema = connect(logs.catalog_properties()).load_table(f"{logs.namespace}.{table}").schema()
    expected = RecordDecoder(DecodeSpec(struct_of(schema), evolve=False)).decode(made).table.to_pylist()
    stored = rows(logs, table)
    for row in expected:
        assert _without_maps(row) in [_without_maps(r) for r in stored if r["time"] == row["time"]]


def _without_maps(row: dict[str, object]) -> str:
    """Maps, and text that may hold secrets, are compared by the redaction tests."""
    call = row.get("callInfo")
    plain = {k: v for k, v in row.items() if not isinstance(v, list | dict)}
    plain |= {f"callInfo.{k}": v for k, v in call.items() if not isinstance(v, list)} if isinstance(call, dict) else {}
    return json.dumps({k: v for k, v in plain.items() if k not in ("details", "metadata")}, default=str, sort_keys=True)


def test_secrets_are_redacted(worker: Worker, logs: Settings) -> None:
    send(logs.bootstrap_servers, logs.topics["api"], list(records("api", 300, seed=8)))
    eventually(
        lambda: (
            not any(
                kafka_groups.lag(logs.bootstrap_servers, [logs.topics["api"]], "connect-iceberg-sink-apilogs").values()
            )
        )
    )

    headers = [dict(row["callInfo"]["requestHeader"] or ()) for row in rows(logs, "apilogs") if row["callInfo"]]  # type: ignore[index]
    authorizations = {value for header in headers for key, value in header.items() if key.lower() == "authorization"}
    assert authorizations == {"***REDACTED***"}


def test_legacy_records_are_told_apart_and_mapped(worker: Worker, logs: Settings) -> None:
    for kind in ("api", "audit"):
        send(logs.bootstrap_servers, logs.topics[kind], [json.dumps(LEGACY_AUDIT).encode()])
    send(logs.bootstrap_servers, logs.topics["error"], [json.dumps(SERVER_LOG).encode()])

    (api,) = eventually(lambda: [r for r in rows(logs, "apilogs") if r["bucket"] == "legacybucket"])
    (audit,) = eventually(lambda: [r for r in rows(logs, "auditlogs") if r["bucket"] == "legacybucket"])
    (error,) = eventually(lambda: [r for r in rows(logs, "errorlogs") if "legacy message" in str(r["message"])])

    assert (api["name"], api["object"], api["origin"]) == ("PutObject", "hosts", "client")
    call = api["callInfo"]
    assert isinstance(call, dict)
    assert (call["httpStatusCode"], call["rx"], call["tx"], call["timeToResponse"]) == (200, 401, None, "13309747ns")
    assert dict(call["requestHeader"])["Authorization"] == "***REDACTED***"
    tags = dict(api["tags"])
    assert tags["deploymentid"] == LEGACY_AUDIT["deploymentid"]
    assert json.loads(tags["objectLocation"]) == {"name": "hosts", "poolId": 1}
    assert (audit["apiName"], audit["sourceHost"]) == ("PutObject", "127.0.0.1")
    assert json.loads(str(audit["details"])) == LEGACY_AUDIT["api"]
    assert (error["apiName"], dict(error["tags"])["level"]) == ("SYSTEM.iam", "WARNING")
    assert {"api", "level", "trigger", "deploymentid"}.isdisjoint(api)  # no column was made of a legacy member


def test_details_keep_their_source_text_and_claims_their_values(worker: Worker, logs: Settings) -> None:
    text = '{"bucketConfig":{"bucketName":"b","tagCount":18446744073709551615,  "x": 1.50}}'
    audit = {"version": "1", "time": "2026-01-01T00:00:00Z", "category": "bucket", "requestID": "exact"}
    record = (
        json.dumps(audit)[:-1] + f', "details": {text}, "requestClaims": {{"exp": 1.50, "l": [1, "a"], "s": "t"}}}}'
    )
    string = json.dumps({**audit, "requestID": "string", "details": '{"bucketName":"b"}'})
    send(logs.bootstrap_servers, logs.topics["audit"], [record.encode(), string.encode()])

    found = eventually(lambda: _by_request_id(rows(logs, "auditlogs"), "exact", "string"))

    assert found["exact"]["details"] == text
    assert dict(found["exact"]["requestClaims"]) == {"exp": "1.50", "l": '[1, "a"]', "s": "t"}
    assert found["string"]["details"] == '{"bucketName":"b"}'


def _by_request_id(found: list[dict[str, object]], *ids: str) -> dict[str, dict[str, object]] | None:
    result = {str(row["requestID"]): row for row in found if row["requestID"] in ids}
    return result if len(result) == len(ids) else None


def test_odd_records_end_as_rows_or_dead_letters(worker: Worker, logs: Settings) -> None:
    """Conservation: rows + dead letters + tombstones = records sent."""
    count, topic = 2000, logs.topics["error"]
    stored, dead = len(rows(logs, "errorlogs")), len(messages(logs.bootstrap_servers, f"{topic}-dlq"))
    made = list(records("error", count, seed=3, odd=0.2))
    send(logs.bootstrap_servers, topic, made)

    eventually(
        lambda: not any(kafka_groups.lag(logs.bootstrap_servers, [topic], "connect-iceberg-sink-errorlogs").values())
    )

    new_rows = len(rows(logs, "errorlogs")) - stored
    new_dead = len(messages(logs.bootstrap_servers, f"{topic}-dlq")) - dead
    tombstones = made.count(b"null")
    assert new_dead > tombstones > 0
    assert new_rows + new_dead + tombstones == count
