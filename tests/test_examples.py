"""Configurations of the pages: each is a file below `docs/examples`, which programs take as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from confluent_kafka import Producer
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

import frazil
from frazil.clients.catalog import connect
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.debezium_keys import errors_of, is_debezium, warnings_of_debezium
from frazil.connectors.documents import Document, read_documents
from frazil.connectors.registry import checked
from frazil.connectors.topics.topic_connectors import topic_connectors
from frazil.environment.settings import Settings
from frazil.minio.deployment.connectors import connectors
from frazil.stack.local import LocalStack
from scripts import reference
from tests.acceptance.objects import BUCKET, ObjectPipe
from tests.test_docs import STACK, WRITTEN, blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = reference.ROOT / "docs" / "examples"
FILES = sorted((EXAMPLES / "connectors").iterdir())
TOPICS = sorted(EXAMPLES.glob("topics*.yaml"))
_SOURCE = "Source"
"""In the names of classes of Kafka Connect's own sources."""


def documents(files: list[Path]) -> list[Document]:
    return [document for file in files for document in read_documents([str(file)])]


def sinks(files: list[Path]) -> list[Document]:
    """Those that this worker runs itself."""
    classes = [(document, document.config["connector.class"]) for document in documents(files)]
    return [document for document, name in classes if not (is_debezium(name) or _SOURCE in name)]


def plain(text: str) -> object:
    """What a block or a file says, without the name of a single connector: pages leave it out."""
    found = list(yaml.safe_load_all(text))
    return [{key: value for key, value in one.items() if key != "name"} for one in found] if len(found) == 1 else found


def test_each_configuration_of_a_page_is_a_file() -> None:
    files = [plain(file.read_text()) for file in (*FILES, *TOPICS)]
    missing = [
        (str(page), block)
        for page in WRITTEN
        for block in (*blocks(page, "json"), *blocks(page, "yaml"))
        if ("connector.class" in block or "topic-name" in block) and plain(block) not in files
    ]
    assert missing == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_file_would_be_applied_without_a_warning(file: Path) -> None:
    found = documents([file])
    assert len(found) > 1 or found[0].name == file.stem
    for document in found:
        if is_debezium(document.config["connector.class"]):
            assert (errors_of(document.config), warnings_of_debezium(document.config)) == ([], [])
    for document in sinks([file]):
        told = checked({**document.config, "name": document.name}, STACK).warnings
        assert not [text for text in told if "is not a key of this connector" in text]


@pytest.mark.parametrize("file", TOPICS, ids=lambda file: file.name)
def test_each_file_of_topics_would_be_taken(file: Path) -> None:
    made = topic_connectors(file, Settings({}))
    assert made
    for config in made.values():
        assert checked(config, STACK).warnings == []


@pytest.mark.parametrize("document", sinks(FILES), ids=lambda document: document.name)
def test_each_sink_suits_the_stack(document: Document) -> None:
    """They write to the catalog and the store of the stack, and to tables that exist or are created."""
    config = document.config
    if "s3.bucket.name" in config:
        assert config["store.url"] == Settings({}).s3_endpoint
        return
    assert not [key for key in config if key.startswith("iceberg.catalog.")]
    if "frazil.sql.topic" in config:
        return
    made_by_init = {one["iceberg.tables"] for one in connectors(Settings({})).values()}
    own = {table.strip() for table in config.get("iceberg.tables", "").split(",")} <= made_by_init
    assert own or config.get("iceberg.tables.auto-create-enabled") == "true"


_ORDER = {"id": 1, "customer": 7, "total": 100, "at": "2026-05-01T10:00:00Z", "items": [{"sku": "ice", "n": 2}]}
_EVENT = {
    "id": 1,
    "kind": "order",
    "event": {"kind": "order"},
    "at": "2026-05-01T10:00:00Z",
    "price": "1.50",
    "labels": {"a": "b"},
    "request": {"body": {"x": [1]}},
    "items": [{"added": "2026-05-01T10:00:00Z"}],
}
_CLICK = {"id": 1, "page": "home", "user": "ann", "at": "2026-05-01T10:00:05Z"}
_ROW = [{"field": "id", "type": "int32"}, {"field": "name", "type": "string", "optional": True}]
_IMAGE = {"type": "struct", "fields": _ROW, "optional": True}
_PLACE = {"type": "struct", "fields": [{"field": "ts_ms", "type": "int64"}], "field": "source"}
_CHANGE = {"before": None, "after": {"id": 1, "name": "ann"}, "source": {"ts_ms": 5}, "op": "c"}
_WITH_SCHEMA = {
    "schema": {
        "type": "struct",
        "name": "dbz.Envelope",
        "fields": [
            {**_IMAGE, "field": "before"},
            {**_IMAGE, "field": "after"},
            _PLACE,
            {"field": "op", "type": "string"},
        ],
    },
    "payload": _CHANGE,
}
_MAXWELL = {"database": "shop", "table": "users", "type": "insert", "ts": 5, "data": {"id": 1, "name": "ann"}}
VALUES: dict[str, object] = {
    "accounts-cdc": _WITH_SCHEMA,
    "customers": _WITH_SCHEMA,
    "customers-cdc": {
        **_CHANGE,
        "source": {"db": "shop", "schema": "public", "table": "customers", "ts_ms": 5},
        "ts_ms": 6,
    },
    "dynamic-events": {"id": 1, "table": "demo.dynamic"},
    "events-with-schemas": {"schema": {"type": "struct", "fields": _ROW}, "payload": {"id": 1, "name": "ann"}},
    "maintained-apilogs": {"version": "1", "bucket": "b"},
    "masked-apilogs": {"version": "1", "bucket": "b", "object": "secret"},
    "maxwell-users": _MAXWELL,
    "prices-history": _WITH_SCHEMA,
    "users-upserts": {"id": 1, "name": "ann"},
    **dict.fromkeys(("my-sink", "orders", "table-per-topic"), _ORDER),
    "large-orders": {**_ORDER, "total": 2000},
    **dict.fromkeys(
        ("gross-sales", "named-orders", "order-lines", "order-line-objects", "plain-sales", "placed-orders"), _ORDER
    ),
    **dict.fromkeys(("events-archive", "partitioned-events", "routed-events", "typed-events"), _EVENT),
    **dict.fromkeys(("sink-events", "sink-audits"), {"id": 1}),
    **dict.fromkeys(("clicks-once", "clicks-per-minute", "clicks-per-page", "paid-clicks", "visits"), _CLICK),
}
"""A record that each sink stores; the one with Avro needs a registry and has its own tests."""
PLAIN = [document for document in sinks(FILES) if document.name in VALUES and "frazil.sql" not in document.config]
STATEMENTS = [document for document in sinks(FILES) if "frazil.sql" in document.config]


def test_each_sink_of_the_files_is_run() -> None:
    assert {document.name for document in sinks(FILES)} - VALUES.keys() == {"sales-avro"}


@pytest.mark.stack
@pytest.mark.parametrize("document", PLAIN, ids=lambda document: document.name)
def test_each_sink_stores_a_record(document: Document, stack: LocalStack) -> None:
    assert drained(document, stack) == (1, 1)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("document", STATEMENTS, ids=lambda document: document.name)
def test_each_statement_stores_a_record(document: Document, stack: LocalStack, spark: SparkSession) -> None:
    if document.name == "named-orders":
        catalog = connect(stack.settings.catalog_properties())
        catalog.create_namespace_if_not_exists(_namespace(document))
        customers = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
        catalog.create_table(f"{_namespace(document)}.customers", customers)
    read, stored = drained(document, stack, spark)
    has_state = document.config["topics"].startswith("clicks")
    at_once = document.name in ("clicks-once", "clicks-per-page")  # the others wait for the end of their windows
    assert (read, stored) == (1, int(at_once or not has_state))


def drained(document: Document, stack: LocalStack, spark: SparkSession | None = None) -> tuple[int, int]:
    """Run a sink with topics and a namespace of its own over one record; how many it read, and how many rows it has."""
    own = json.dumps({**document.config, **_OWN.get(document.name, {})})
    config = json.loads(re.sub(r"\b(streaming|demo)\.", f"{_namespace(document)}.", own))
    topics = {topic: f"{_namespace(document)}_{topic}" for topic in config["topics"].split(",")}
    config["topics"] = ",".join(topics.values())
    for topic, mine in topics.items():
        if "frazil.sql" in config:
            config["frazil.sql"] = re.sub(rf"(?<=FROM |JOIN ){topic}\b", mine, config["frazil.sql"])
            config = {re.sub(rf"\.{topic}$", f".{mine}", key): each for key, each in config.items()}
    if "s3.bucket.name" in config:
        ObjectPipe(stack.settings, document.name).create()
        config |= {"store.url": stack.settings.s3_endpoint, "s3.bucket.name": BUCKET}
    first = next(iter(topics.values()))
    made = [*topics.values(), *filter(None, [config.get("frazil.sql.topic")])]
    kafka_topics.ensure_topics(stack.settings.bootstrap_servers, {topic: (1, {}) for topic in made})
    producer = Producer({"bootstrap.servers": stack.settings.bootstrap_servers})
    value = json.dumps(VALUES[document.name]).replace("demo.", f"{_namespace(document)}.")
    producer.produce(first, value, key=json.dumps(_KEYS.get(document.name, {"id": 1})))
    assert producer.flush(20) == 0
    env = {**stack.settings.env, "FRAZIL_SQL_FILES": str(EXAMPLES / "files")}
    told = frazil.open(config, document.name, env=env).drain(spark)
    return told.read, told.stored + told.waiting


_KEYS = {"maxwell-users": {"database": "shop", "table": "users", "pk.id": 1}}
_OWN = {
    **dict.fromkeys(("maintained-apilogs", "masked-apilogs"), {"iceberg.tables.auto-create-enabled": "true"}),
    **dict.fromkeys(("sink-events", "sink-audits"), {"iceberg.tables.auto-create-enabled": "true"}),
    **dict.fromkeys(("events-archive", "order-line-objects"), {"flush.size": "1"}),
}
"""What the test does in place of `init`, which makes tables, and of waiting for more records."""


def _namespace(document: Document) -> str:
    return f"example_{document.name.replace('-', '_')}"
