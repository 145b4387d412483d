"""A catalog that answers with code to be loaded, and a table that names some: none of it runs, here nor in tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.locations import SimpleLocationProvider
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.types import LongType, NestedField

from frazil.clients.catalog import connect, server_properties
from frazil.clients.catalog_properties import without_code
from frazil.connectors.iceberg.spark.runtime import spark_properties
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.errors import ConfigError
from tests.web import Handler, served


class Bomb:
    """A class that notes that somebody has made one, whatever it is to be."""

    made: ClassVar[list[tuple[Any, ...]]] = []

    def __init__(self, *args: Any, **named: Any) -> None:
        self.made.append(args)


NAMED = f"{__name__}.Bomb"
CODE = {
    "py-io-impl": NAMED,
    "py-catalog-impl": NAMED,
    "s3.retry-strategy-impl": NAMED,
    "write.py-location-provider.impl": NAMED,
    "auth": NAMED,
    "auth.type": "custom",
    "auth.impl": NAMED,
    "ssl": NAMED,
    "io-impl": NAMED,
    "catalog-impl": NAMED,
    "client.factory": NAMED,
    "s3.client-factory-impl": NAMED,
    "client.profile-name": "another",
    "botocore_session": NAMED,
}


@dataclass
class Answers:
    """Answers of the catalog; `table` is what a load and a commit give."""

    config: Mapping[str, Any]
    table: Mapping[str, Any] = field(default_factory=dict)


@pytest.fixture
def answers() -> Answers:
    return Answers({"defaults": {}, "overrides": {}})


@pytest.fixture
def uri(answers: Answers) -> Iterator[str]:
    """A catalog that gives the answers."""

    class Catalog(Handler):
        def _answer(self) -> None:
            self.body()
            known = answers.config if self.path.startswith("/v1/config") else answers.table
            self.answer(200, json.dumps(known).encode())

        do_GET = do_POST = _answer

    with served(Catalog) as url:
        yield url


@pytest.fixture(autouse=True)
def nothing_runs() -> Iterator[None]:
    Bomb.made.clear()
    yield
    assert Bomb.made == []


def table_answer(folder: Path, properties: Mapping[str, str], **more: Any) -> dict[str, Any]:
    metadata = new_table_metadata(
        Schema(NestedField(1, "id", LongType())),
        UNPARTITIONED_PARTITION_SPEC,
        UNSORTED_SORT_ORDER,
        folder.as_uri(),
        dict(properties),
    )
    location = f"{folder.as_uri()}/metadata/v1.metadata.json"
    return {"metadata-location": location, "metadata": json.loads(metadata.model_dump_json()), **more}


def test_the_answers_of_a_catalog_name_no_code(uri: str, answers: Answers, tmp_path: Path) -> None:
    answers.config = {"defaults": CODE, "overrides": CODE}
    answers.table = table_answer(tmp_path, {}, config=CODE)
    catalog = connect({"uri": uri, "warehouse": "w", "client.region": "eu-west-1"})
    assert not CODE.keys() & catalog.properties.keys()
    table = catalog.load_table("db.t")
    assert type(table.io) is PyArrowFileIO
    table.io.fs_by_scheme("s3", "bucket")
    told = server_properties({"uri": uri, "warehouse": "w"})
    assert told.keys() == CODE.keys(), "they are known, for who has to refuse them"


def test_the_properties_of_a_table_name_no_code(uri: str, answers: Answers, tmp_path: Path) -> None:
    answers.table = table_answer(tmp_path, CODE)
    table = connect({"uri": uri}).load_table("db.t")
    assert type(table.io) is PyArrowFileIO
    assert type(table.location_provider()) is SimpleLocationProvider
    with table.transaction() as transaction:
        transaction.set_properties({"a": "b"})
    assert type(table.location_provider()) is SimpleLocationProvider, "what a commit gives back is looked at too"


def test_the_properties_of_a_table_say_nothing_of_the_store(uri: str, answers: Answers, tmp_path: Path) -> None:
    mine = {"uri": uri, "s3.endpoint": "http://mine", "s3.access-key-id": "me"}
    answers.table = table_answer(
        tmp_path,
        {"s3.endpoint": "http://elsewhere", "s3.proxy-uri": "http://elsewhere"},
        config={"s3.session-token": "told"},
    )
    table = connect(mine).load_table("db.t")
    assert table.io.properties["s3.endpoint"] == "http://mine"
    assert "s3.proxy-uri" not in table.io.properties
    assert table.io.properties["s3.session-token"] == "told", "the catalog may lend keys"


@pytest.mark.parametrize("where", ["table", "connector"])
def test_tasks_load_no_code_that_chooses_locations(tmp_path: Path, where: str) -> None:
    named = {"write.py-location-provider.impl": NAMED}
    metadata = json.dumps(table_answer(tmp_path, named if where == "table" else {})["metadata"])
    writer = DataFileWriter(metadata, (), tuple(named.items()) if where == "connector" else ())
    writer.open()


def test_what_a_server_may_say_counts(uri: str, answers: Answers) -> None:
    answers.config = {
        "defaults": {"prefix": "p", "header.X-Tenant": "theirs", "s3.endpoint": "http://theirs"},
        "overrides": {"s3.region": "eu-west-2"},
    }
    catalog = connect({"uri": uri, "warehouse": "w", "s3.endpoint": "http://mine"})
    found = catalog.properties
    assert (found["prefix"], found["header.X-Tenant"], found["s3.region"]) == ("p", "theirs", "eu-west-2")
    assert found["s3.endpoint"] == "http://mine"


@pytest.mark.parametrize(
    "key",
    [
        "py-io-impl",
        "py-catalog-impl",
        "auth.impl",
        "auth.type",
        "catalog-impl",
        "io-impl",
        "client.factory",
        "client.credentials-provider",
        "client.credentials-provider.key",
        "s3.client-factory-impl",
        "s3.retry-strategy-impl",
        "metrics-reporter-impl",
        "encryption.kms-impl",
        "encryption.kms-type",
        "lock-impl",
        "rest.auth.type",
        "rest.auth.sigv4.delegate-auth-type",
        "rest.client.tls.configurer-impl",
        "table-override.write.location-provider.impl",
    ],
)
def test_a_configuration_that_names_code_is_refused_by_either_side(key: str) -> None:
    for use in (connect, spark_properties):
        with pytest.raises(ConfigError, match=f"the catalog's properties name code to be loaded by {key}; "):
            use({"uri": "http://127.0.0.1:1", key: NAMED})


def test_what_everybody_writes_is_taken() -> None:
    usual = {
        "type": "rest",
        "catalog-impl": "org.apache.iceberg.rest.RESTCatalog",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "rest.auth.type": "sigv4",
        "header.x-provider": "a",
        "s3.write.storage-class": "GLACIER_IR",
    }
    kept = without_code(usual, "these")
    assert kept.keys() == usual.keys() - {"catalog-impl", "io-impl"}
    assert spark_properties(usual)["io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert "catalog-impl" not in spark_properties(usual)


def test_a_table_is_its_own(uri: str, answers: Answers, tmp_path: Path) -> None:
    answers.table = table_answer(tmp_path, {"write.object-storage.enabled": "true"})
    table = connect({"uri": uri}).load_table("db.t")
    assert isinstance(table, Table)
    assert table.location_provider().new_data_location("x").startswith(tmp_path.as_uri())
