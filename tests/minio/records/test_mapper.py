from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema

from frazil.minio.records.kinds import TableKind
from frazil.minio.records.mapper import LogMapper
from frazil.minio.records.tables import SCHEMAS
from frazil.pipeline.mapper import mapper_for
from frazil.text.credentials import REDACTED


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_installed_mapper_knows_the_tables_of_log_records(kind: TableKind) -> None:
    assert mapper_for(SCHEMAS[kind], redact=True) == LogMapper(kind, redacting=True)
    assert mapper_for(SCHEMAS[kind], ["minio"], redact=False) == LogMapper(kind, redacting=False)
    assert mapper_for(SCHEMAS[kind], [], redact=True) is None


def test_other_tables_have_none() -> None:
    assert mapper_for(Schema(), redact=True) is None


def test_secrets_stay_where_redaction_is_off() -> None:
    rows = pa.table({"authorization": ["secret"]})
    assert LogMapper("api", redacting=True).redact(rows).to_pylist() == [{"authorization": REDACTED}]
    assert LogMapper("api", redacting=False).redact(rows) is rows
