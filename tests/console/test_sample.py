"""What records would become, as the form of a connector shows it, on a cluster and a catalog in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Message
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StringType

from frazil.clients import catalog as catalogs
from frazil.clients.kafka import peek
from tests.connectors.broker import Broker
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.console.test_app import CONFIG, EVIL, Console

SCHEMA = Schema(NestedField(1, "id", IntegerType()), NestedField(2, "text", StringType()))
MORE = {
    "iceberg.catalog.s3.access-key-id": "me",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


class Form:
    """The form of a connector that writes to table db.orders."""

    def __init__(self, console: Console, broker: Broker) -> None:
        self.console = console
        self.broker = broker
        broker.make("orders")

    def try_out(self, name: str = "", **more: str) -> httpx.Response:
        config = {**CONFIG, **MORE, **{key.replace("__", "."): text for key, text in more.items()}}
        return self.console.client.post("/ui/sample", data={"name": name, "config": json.dumps(config)})


@pytest.fixture
def form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Form]:
    console = Console(tmp_path)
    broker = Broker().install(monkeypatch)
    catalog = MemoryCatalog(tmp_path, {"db.orders": SCHEMA})
    seen: list[Any] = []

    def connect(properties: Any, name: str = "") -> MemoryCatalog:
        seen.append(properties)
        return catalog

    def newest(cluster: str, topics: Sequence[str], count: int) -> list[Message]:
        return [record for topic, _ in broker.ends(*topics) for record in broker.records(topic)][-count:]

    monkeypatch.setattr(catalogs, "connect", connect)
    monkeypatch.setattr(peek, "newest_records", newest)
    made = Form(console, broker)
    yield made
    console.close()
    assert all(properties["s3.secret-access-key"] == "swordfish" for properties in seen)


def cells(page: str) -> list[str]:
    return [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", page, re.DOTALL)]


def test_records_are_judged_and_shown_as_rows_and_nothing_is_stored(form: Form) -> None:
    form.broker.send("orders", [json.dumps({"id": 7, "text": EVIL, "more": 1.5}).encode(), b'{"id": "x"}', None])
    page = form.try_out(iceberg__tables__evolve_schema_enabled="true").text
    assert "<script>alert" not in page
    assert "Of 3 records" in page
    found = cells(page)
    assert {"stored", "skippedtombstone"} <= set(found)
    assert [text for text in found if text.startswith("dead letter")] != []
    assert form.broker.groups == {} and form.console.herder.connectors() == []


def test_hidden_secrets_are_those_that_are_stored(form: Form) -> None:
    form.console.run("orders")
    form.broker.send("orders", [b'{"id": 1}'])
    hidden = {"iceberg.catalog.s3.secret-access-key": "[hidden]"}
    assert "Of 1 record<" in form.try_out("orders", **hidden).text
    refused = form.try_out("other", **hidden)
    assert refused.status_code == 400 and "in place of one that is stored" in refused.text


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"iceberg.tables": "db.none"}, "db.none"),
        ({"tasks.max": "two"}, "tasks.max"),
        ({"topics": "none"}, "none"),
        ({"connector.class": "Unknown"}, "Unknown"),
    ],
)
def test_what_keeps_a_connector_from_running_is_told_in_place_of_rows(
    form: Form, more: dict[str, str], told: str
) -> None:
    answer = form.try_out(**more)
    assert (answer.status_code, told in answer.text) == (400, True)
    assert "<table>" not in answer.text and "swordfish" not in answer.text


def test_what_is_no_configuration_is_told(form: Form) -> None:
    for sent in ("", "[]", "{"):
        assert form.console.client.post("/ui/sample", data={"config": sent}).status_code == 400


def test_topics_without_records_are_told(form: Form) -> None:
    assert "The topics have no records" in form.try_out().text


def test_a_page_of_another_origin_reads_no_records(form: Form) -> None:
    answer = form.console.client.post("/ui/sample", data={"config": "{}"}, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
