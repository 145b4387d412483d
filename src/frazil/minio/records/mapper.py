"""Mapper of MinIO log records to columns and back: it maps legacy shapes, and redacts secrets."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import pyarrow as pa
from pyiceberg.schema import Schema

from frazil.minio.records.kinds import TableKind
from frazil.minio.records.legacy import map_record
from frazil.minio.records.redact import redact
from frazil.minio.records.tables import table_kind


@dataclass(frozen=True)
class LogMapper:
    """The handling of one kind of log table; a `frazil.pipeline.mapper.RecordMapper`."""

    kind: TableKind
    redacting: bool

    @property
    def markers(self) -> tuple[str, ...]:
        """Members that legacy records have and AIStor's do not."""
        return ("api", "level")

    def map(self, members: Mapping[str, msgspec.Raw]) -> Mapping[str, msgspec.Raw]:
        """A legacy record under the table's column names, any other record as it is. Raises ValueError."""
        mapped = map_record(self.kind, dict(members))
        return members if mapped is None else mapped

    def redact(self, table: pa.Table) -> pa.Table:
        """Redact the secrets in the rows, unless redaction is off."""
        return redact(table) if self.redacting else table


def mapper_for(schema: Schema, *, redact: bool) -> LogMapper | None:
    """The mapper for a table that has the columns of MinIO logs; None for every other table."""
    kind = table_kind(schema)
    return None if kind is None else LogMapper(kind, redact)
