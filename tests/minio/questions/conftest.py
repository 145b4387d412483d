"""The three log tables with the records of `records.py`, in the real catalog, written as a connector writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NamespaceNotEmptyError

from frazil.clients.catalog import connect
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.environment.settings import Settings
from frazil.minio.questions.bind import statement
from frazil.minio.questions.catalog import QUESTIONS
from frazil.minio.questions.question import Value
from frazil.minio.questions.views import QUESTION_VIEWS
from frazil.minio.records.kinds import TABLE_NAMES, TableKind
from frazil.minio.records.mapper import LogMapper
from frazil.minio.records.tables import PARTITION_SPECS, SCHEMAS, TABLE_PROPERTIES
from frazil.pipeline.convert.decode import DecodeSpec, RecordDecoder
from frazil.sql.engine import Engine
from frazil.stack.local import LocalStack
from tests.minio.questions.records import Call, Record, all_records, calls

NAMESPACE = "questiontests"


@dataclass
class Asked:
    """An engine over the tables, and what was written into them."""

    engine: Any
    settings: Settings
    made: dict[TableKind, list[Record]]
    calls: list[Call]
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def ask(self, name: str, **values: Value) -> list[dict[str, Any]]:
        """The answer to a question as objects; the tables stay as they are, so each is asked once."""
        asked = statement(QUESTIONS[name], values)
        if asked not in self.answers:
            self.answers[asked] = self.rows(asked)
        return self.answers[asked]

    def rows(self, sql: str) -> list[dict[str, Any]]:
        [result] = self.engine.run(sql)
        return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


@pytest.fixture(scope="session")
def asked(stack: LocalStack) -> Iterator[Asked]:
    catalog = connect(stack.settings.catalog_properties())
    made = all_records()
    write_records(catalog, NAMESPACE, {kind: [_json(record) for record in made[kind]] for kind in made})
    engine = Engine(catalog, stack.settings.warehouse, NAMESPACE, own_views=QUESTION_VIEWS)
    settings = Settings({**stack.settings.env, "NAMESPACE_NAME": NAMESPACE, "TRINO_URL": ""})
    yield Asked(engine, settings, made, calls(made))
    views = connect({**stack.settings.catalog_properties(), "view-endpoints-supported": "true"})
    for view in views.list_views(NAMESPACE):
        views.drop_view(view)
    drop_tables(catalog, NAMESPACE)


def write_records(catalog: Catalog, namespace: str, made: Mapping[TableKind, Sequence[bytes]]) -> None:
    """Create the namespace and the three tables, and write records into them as a connector does."""
    catalog.create_namespace_if_not_exists(namespace)
    for kind, name in TABLE_NAMES.items():
        table = catalog.create_table(
            (namespace, name), SCHEMAS[kind], partition_spec=PARTITION_SPECS[kind], properties=TABLE_PROPERTIES
        )
        struct = struct_of(table.schema())
        decoded = RecordDecoder(DecodeSpec(struct, False, LogMapper(kind, True))).decode(list(made[kind]))
        assert (decoded.rejected, decoded.skipped) == ([], [])
        writer = DataFileWriter(table.metadata.model_dump_json(), tuple(table.io.properties.items())).open()
        writer.add(decoded.table)
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for file in writer.close():
                append.append_data_file(file)


def drop_tables(catalog: Catalog, namespace: str) -> None:
    """Remove what `write_records` has made; a namespace stays where other tests have tables."""
    for name in TABLE_NAMES.values():
        catalog.drop_table((namespace, name))
    with suppress(NamespaceNotEmptyError):
        catalog.drop_namespace(namespace)


def _json(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()
