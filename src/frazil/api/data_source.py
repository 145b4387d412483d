"""The data source `frazil` of Spark: a range of a topic as typed rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from frazil.api.connector import Connector, open_connector
from frazil.connectors.positions import check_range
from frazil.connectors.typed_records import TypedRecords
from frazil.errors import UsageError
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.task_spec import Bounds
from frazil.text.times import point_in_time

_OFFSETS = "offsets"
_OWN = ("connector", "topic", "schema", "since", "until", "startingoffsets", "endingoffsets")
_DEFAULTS = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


class RecordSource(DataSource):
    """Records of a topic, converted and transformed, for `spark.dataSource.register` and `spark.read.format("frazil")`.

    Options: `connector`, the file of a SQL connector, and `topic` where it has several; or `topic` and `schema`, with
    keys of a connector such as `errors.tolerance` beside them. `since` and `until` are ages such as 24h or times in
    ISO 8601, `startingOffsets` and `endingOffsets` are JSON such as `{"orders": {"0": 42}}`. Kafka's settings are those
    of the environment that Spark was started with.
    """

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return "frazil"

    def schema(self) -> str:
        """Give the columns, with those of `_topic`, `_offset` and so on."""
        return self._records().columns

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make what reads the records."""
        return _Reader(self._records())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Make what reads them as a stream."""
        return _StreamReader(self._records, self._between)

    def _between(self, start: Offsets, end: Offsets) -> TypedRecords:
        option = dict(self.options)
        found = _connector(option).records(option.get("topic", ""), within=Bounds(start, end))
        for key, offset in start.items():
            check_range(key, offset, found.begin.get(key, 0), found.end.get(key, 0), "the checkpoint of Spark")
        return found

    def _records(self) -> TypedRecords:
        option = dict(self.options)
        now = datetime.now(UTC)
        since, until = (point_in_time(option[name], now) if name in option else None for name in ("since", "until"))
        floor, ceiling = (offsets.from_json(option.get(name, "{}")) for name in ("startingoffsets", "endingoffsets"))
        return _connector(option).records(option.get("topic", ""), since, until, Bounds(floor, ceiling))


def _connector(option: Mapping[str, str]) -> Connector:
    if "connector" in option:
        return open_connector(option["connector"])
    lacks = [name for name in ("topic", "schema") if not option.get(name, "").strip()]
    if lacks:
        raise UsageError(f"format frazil needs the option connector, or topic and schema; there is no {lacks[0]}")
    topic = option["topic"]
    config = {
        "connector.class": "frazil.SqlConnector",
        "topics": topic,
        "frazil.sql": f"SELECT * FROM `{topic}`",  # noqa: S608 - it is checked as any statement
        "frazil.sql.schema": option["schema"],
        "frazil.sql.topic": f"{topic}.rows",  # a connector has to name one, and nothing is written
    }
    more = {key: text for key, text in option.items() if key not in _OWN}
    return open_connector({**_DEFAULTS, **config, **more}, topic)


@dataclass
class _Partition(InputPartition):
    read: Callable[[], Iterator[pa.RecordBatch]]


class _Reader(DataSourceReader):
    def __init__(self, records: TypedRecords) -> None:
        self._records = records

    def partitions(self) -> list[InputPartition]:
        return [_Partition(part) for part in self._records.parts] or [_Partition(_nothing)]

    def read(self, partition: _Partition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        return partition.read()


class _StreamReader(DataSourceStreamReader):
    """Spark keeps the offsets; each is those of all partitions."""

    def __init__(
        self, records: Callable[[], TypedRecords], between: Callable[[Offsets, Offsets], TypedRecords]
    ) -> None:
        self._records, self._between = records, between

    def initialOffset(self) -> dict[str, str]:
        return _offset(self._records().begin)

    def latestOffset(self) -> dict[str, str]:
        return _offset(self._records().end)

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[InputPartition]:
        found = self._between(*(offsets.from_json(each[_OFFSETS]) for each in (start, end)))
        return [_Partition(part) for part in found.parts] or [_Partition(_nothing)]

    def read(self, partition: _Partition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        return partition.read()


def _offset(found: Offsets) -> dict[str, str]:
    return {_OFFSETS: offsets.to_json(found)}


def _nothing() -> Iterator[pa.RecordBatch]:
    return iter(())
