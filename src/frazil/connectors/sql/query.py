"""A statement in Spark: scans of topics give it rows, and its own rows go to the tasks that write them.

One job does it all: each task reads a share of the batch from Kafka in a Python worker, Spark's JVM computes the rows,
and another Python worker writes them.
"""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar, cast

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.accumulators import AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.util import PythonEvalType

from frazil.connectors.plan import Plan
from frazil.connectors.sql.columns import shape_of, spark_columns
from frazil.connectors.sql.rehearsal import Rehearse, divided, rehearsed
from frazil.connectors.sql.row_function import RowFunction, applied, check_shuffle
from frazil.connectors.sql.scan import Scan, Scanned, ScannedTopic, hidden_columns
from frazil.connectors.sql.statement import PLACE, Statement, table_relation, topic_relation
from frazil.errors import ConfigError
from frazil.pipeline.types import Struct

# PySpark prints each error of a statement, with values of the record, beside raising it.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    PySparkLogger.getLogger(_name).setLevel(logging.CRITICAL)

T = TypeVar("T")
ArrowMapping: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",  # texts of a statement may have ${…}, which stands for secrets elsewhere
    "spark.sql.runSQLOnFiles": "false",
}
_DATA_EXCEPTION = re.compile(r"(\[[A-Z_.]+\][^\n]*?)\s*SQLSTATE: (?:22|P0001)", re.DOTALL)
_CONTEXT = re.compile(r"== SQL \(line 1, position (\d+)\) ==")
_TOO_DEEP = re.compile(r"Lost task [^\n]*: java\.lang\.StackOverflowError\b")
_ADVICE = re.compile(r" If necessary set \S+ to \S+ to bypass this error\.")
_MOST_TEXT = 500


def data_exception(error: BaseException, statement: Statement) -> str | None:
    """The words of an error about the data of a record, such as a division by zero; None for any other error."""
    if not isinstance(error, (PySparkException, Py4JJavaError)):
        return None
    said = str(error)
    if _TOO_DEEP.search(said):
        return (
            "[STACK_OVERFLOW] a value is too long or too deep for an expression, such as the regular expression (a|b)*"
        )
    found = _DATA_EXCEPTION.search(said)
    if found is None:
        return None
    text = _ADVICE.sub("", re.sub(r"\s+", " ", found[1]).strip())
    context = _CONTEXT.search(said)
    place = statement.place_of(int(context[1]) - 1) if context is not None else ""
    return text[:_MOST_TEXT] + (f" ({place})" if place else "")


class Reports(AccumulatorParam[dict[Any, Any]]):
    """Reports of tasks by their names; the same task that ran twice tells the same."""

    def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:
        return {}

    def addInPlace(self, value1: dict[Any, Any], value2: dict[Any, Any]) -> dict[Any, Any]:
        value1.update(value2)
        return value1


@dataclass
class Query:
    """A statement in a session of its own; used from one thread at a time."""

    session: SparkSession
    statement: Statement
    topics: Sequence[ScannedTopic]
    function: RowFunction | None = field(default=None, kw_only=True)
    calls: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        self._tables: dict[int, pa.Table] = {}
        self._runs = 0
        self.columns = Struct(())
        """Columns of the rows, known after `check`."""
        self._reports = self.session.sparkContext.accumulator({}, Reports())
        for name, value in SETTINGS.items():
            self.session.conf.set(name, value)
        for name, call in self.calls.items():
            self.session.udf.register(name, call)

    @classmethod
    def of(
        cls,
        session: SparkSession,
        statement: Statement,
        topics: Sequence[ScannedTopic],
        function: RowFunction | None = None,
        calls: Mapping[str, Any] | None = None,
    ) -> Query:
        """Make a query in a session beside `session`: views, functions and settings reach nobody else."""
        return cls(session.newSession(), statement, topics, function=function, calls=calls or {})

    def run(
        self, scans: Sequence[Scan], tables: Sequence[pa.Table], write: Callable[[pa.Table], T]
    ) -> tuple[list[Scanned], list[Scan], list[T]]:
        """Compute the rows of scans, and hand them to `write`, one call for each task.

        Gives the reports of the scans, and those that Spark did not make, as no row can come of them: of a condition
        that is never true, or a join with an empty table. Raises what Spark raises; `data_exception` tells what that
        says of a record.
        """
        self._runs += 1
        self._reports.value = {}
        own = {
            topic.relation: [each for each in scans if each.topic.relation == topic.relation] for topic in self.topics
        }
        for topic in self.topics:
            self._relation(topic, own[topic.relation])
        results = written(self.frame(tables), write)
        reports = self._reports.value.items()
        found = {(topic, number): report for (run, topic, number), report in reports if run == self._runs}
        left = [scan for at, several in own.items() for n, scan in enumerate(several) if (at, n) not in found]
        return list(found.values()), left, results

    def try_rows(self, batches: Mapping[int, Sequence[pa.RecordBatch]], tables: Sequence[pa.Table]) -> pa.Table:
        """Compute the rows of a few records that are here, by their relations. Raises as `run` does."""
        for topic in self.topics:
            found = pa.Table.from_batches(batches.get(topic.relation, ()), topic.schema())
            self._show(topic, self.session.createDataFrame(found))
        rows = written(self.frame(tables), _itself)
        return pa.concat_tables(rows) if rows else pa.table({})

    def rehearsal(self, relation: int, batch: pa.RecordBatch, tables: Sequence[pa.Table]) -> Rehearse:
        """Plan the statement over typed rows of a topic, to compute the rows of parts of them; see `rehearsed`.

        The plan is made once and costs ten times what a part does. A call raises as `run` does.
        """
        for topic in self.topics:
            self._relation(topic, [])
            if topic.relation == relation:
                self._show(topic, divided(self.session, batch))
        return rehearsed(self.frame(tables), batch)

    def check(self, tables: Sequence[pa.Table]) -> Plan:
        """Plan the statement over records of all topics. Raises ConfigError for a statement that Spark refuses."""
        for topic in self.topics:
            self._relation(replace(topic, used=None), [])
        try:
            frame = self.frame(tables)
            schema = to_arrow_schema(frame.schema)
        except PySparkException as error:
            raise ConfigError(f"frazil.sql: {analysis(error, self.statement)}") from None
        columns = [column for column in schema if column.name != PLACE]
        names = [column.name.lower() for column in columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"frazil.sql: columns {', '.join(twice)} are there twice; name them apart with AS")
        try:
            self.columns = cast(Struct, shape_of(pa.struct(columns))[0])
        except ValueError as error:
            raise ConfigError(f"frazil.sql: {error}") from None
        types = {column.name: column.dataType.simpleString() for column in frame.schema if column.name != PLACE}
        plan = _explained(frame)
        if self.function is not None:
            check_shuffle(self.function, plan)
        return Plan(types, plan)

    def frame(self, tables: Sequence[pa.Table]) -> DataFrame:
        """The statement over the relations as they are; tables get theirs here."""
        for number, table in enumerate(tables):
            if self._tables.get(number) is not table:
                frame = self.session.createDataFrame(table).hint("broadcast")
                frame.createOrReplaceTempView(table_relation(number))
                self._tables[number] = table
        frame = self.session.sql(self.statement.text)
        return frame if self.function is None else applied(self.function, frame)

    def _relation(self, topic: ScannedTopic, scans: Sequence[Scan]) -> None:
        schema = ", ".join(filter(None, [spark_columns(topic.shown), hidden_columns(topic.metadata)]))
        number = self.session.range(0, len(scans), 1, max(len(scans), 1))
        self._show(topic, map_in_arrow(number, _scanning(tuple(scans), self._runs, self._reports), schema, topic.name))

    def _show(self, topic: ScannedTopic, frame: DataFrame) -> None:
        """Let the statement see a topic by its name."""
        frame.createOrReplaceTempView(topic_relation(topic.relation))


def written(frame: DataFrame, write: Callable[[pa.Table], T]) -> list[T]:
    """Hand the rows to `write`, one call for each task that has any."""
    rows = map_in_arrow(frame, _writing(write), "result BINARY").collect()
    return [pickle.loads(row[0]) for row in rows]  # noqa: S301 - of our own tasks


def map_in_arrow(frame: DataFrame, function: ArrowMapping, schema: str, name: str = "rows") -> DataFrame:
    """Do what `DataFrame.mapInArrow` does, which wants pandas to be there for other functions than this.

    `name` is what plans call it.
    """
    from pyspark.sql.classic.dataframe import DataFrame
    from pyspark.sql.udf import UserDefinedFunction

    mapped = UserDefinedFunction(function, schema, name, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column = mapped(*(frame[name] for name in frame.columns))
    made: Any = frame
    return DataFrame(made._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)  # noqa: SLF001 - as PySpark does


def _scanning(scans: tuple[Scan, ...], run: int, reports: Any) -> ArrowMapping:
    def scanning(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                report, rows = scans[number]()
                reports.add({(run, scans[number].topic.relation, number): report})
                yield from rows

    return scanning


def _itself(rows: pa.Table) -> pa.Table:
    return rows


def _writing(write: Callable[[pa.Table], Any]) -> ArrowMapping:
    def writing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = [batch for batch in batches if batch.num_rows]
        if found:
            result = pickle.dumps(write(pa.Table.from_batches(found)))
            yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], ["result"])

    return writing


def _explained(frame: DataFrame) -> str:
    """Give what `DataFrame.explain` prints."""
    made: Any = frame
    sides: Any = frame.sparkSession.sparkContext._jvm  # noqa: SLF001 - as PySpark does
    return str(sides.PythonSQLUtils.explainString(made._jdf.queryExecution(), "formatted")).strip()  # noqa: SLF001


def analysis(error: PySparkException, statement: Statement) -> str:
    """The words of Spark about a statement, in one line, with the part of it that they are about and its place."""
    message = error.getMessage() or str(error)
    said = re.sub(r"\s+", " ", message.partition("== SQL")[0].partition(";\n")[0]).strip()
    said = said.replace(f"`{PLACE}`, ", "").replace(f", `{PLACE}`", "")
    context = next(iter(error.getQueryContext() or ()), None)
    if context is None or not context.fragment() or PLACE in context.fragment():
        return said
    place = statement.place_of(context.startIndex())
    return f"{place}{': ' if place else ''}{said} (at {context.fragment()})"
