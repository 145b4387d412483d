"""Base of all sinks with a statement, wherever its rows go."""

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from frazil.connectors.backfill import RECORDS_PER_TASK, Span, span_of
from frazil.connectors.checks.compare import Limits, Progress
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.kept_keys import FOUND_COLUMNS
from frazil.connectors.plan import Plan
from frazil.connectors.sample import Sample
from frazil.connectors.sink import NO_REPLAY, Concern, Replayer, Sink
from frazil.connectors.source import task_source, topics_of
from frazil.connectors.sql.columns import spark_columns
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.found_columns import INFERRED, REGISTRY, mixed_columns, newest_columns
from frazil.connectors.sql.reference import FILES, ReferenceFiles
from frazil.connectors.sql.row_function import RowFunction
from frazil.connectors.sql.runs import StatementRuns, scans_of
from frazil.connectors.sql.sample import Judge
from frazil.connectors.sql.scan import scanned_topics
from frazil.connectors.sql.statement import METADATA
from frazil.connectors.typed_records import TypedRecords
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, NotComparable, NotFound, NotReplayable, UsageError
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.log import Queue
from frazil.pipeline.source import divided
from frazil.pipeline.task_spec import Bounds

logger = logging.getLogger(__name__)


class StatementSink(Sink):
    """Base of a sink whose rows a statement makes; `_own` is the statement."""

    _own: StatementConfig
    _bootstrap: Bootstrap

    def __init__(self, config: Mapping[str, str], settings: Settings, bootstrap: Bootstrap) -> None:
        """Raises ConfigError for a configuration that cannot run."""
        super().__init__(config, settings, bootstrap)  # type: ignore[call-arg]
        self._own = self._own.loaded(settings)

    def look_for_newer_schemas(self) -> threading.Thread:
        """Log that the registry has newer columns than the statement, in a thread: nothing waits for the registry."""
        looking = threading.Thread(target=self._tell_newer_schemas, name=f"schemas of {self.name}", daemon=True)
        looking.start()
        return looking

    def _tell_newer_schemas(self) -> None:
        try:
            for concern in self.newer_schemas():
                logger.warning("connector %s: %s: %s. %s", self.name, concern.what, concern.effect, concern.cure)
        except FrazilError as error:
            logger.warning("connector %s: whether there are newer schemas is not known: %s", self.name, error)

    def obstacles(self) -> list[str]:
        files = ReferenceFiles(self._own.folder)
        names = (name.removeprefix(FILES) for name in self._own.statement.tables if name.startswith(FILES))
        return [problem for problem in map(files.problem, names) if problem]

    def concerns(self) -> list[Concern]:
        return [*super().concerns(), *self.newer_schemas()]

    def newer_schemas(self) -> Iterator[Concern]:
        """Find the topics whose newest schema has other columns than the statement."""
        for topic in (topic for topic, source in self._own.found.items() if source == REGISTRY):
            try:
                newest, own = newest_columns(self.config, topic), self._own.columns[topic]
            except NotFound:
                continue  # the subject is gone, and there is none newer
            if spark_columns(newest) != spark_columns(own):
                yield Concern(
                    f"the newest schema of topic {topic} has other columns than the statement: {spark_columns(newest)}",
                    "the statement goes on with those that it has",
                    f"To take them, remove {FOUND_COLUMNS}{topic} from the connector: patch connector {self.name} "
                    f"--remove {FOUND_COLUMNS}{topic}",
                )

    @property
    def _reads_headers(self) -> bool:
        return "_headers" in self._own.statement.metadata or super()._reads_headers

    def _tables(self) -> Callable[[], Sequence[pa.Table]]:
        """Give what reads the tables that the statement joins; here it joins none."""
        return list[pa.Table]

    @property
    @abstractmethod
    def _target_name(self) -> str:
        """Name of what the rows are stored in."""

    _judge: Judge | None = None
    """Judge of rows by what they are to be stored in, where that may refuse some."""

    def sample(
        self, count: int, most_rows: int, say: Callable[[str], None], on_spark: Callable[[], Executor]
    ) -> Sample:
        from frazil.clients.kafka.peek import newest_records
        from frazil.connectors.sql.sample import sample

        config, tables = self.config, self._tables()
        topics = topics_of(config, self._bootstrap)
        say(f"reading the newest records of {', '.join(topics)}")
        records = newest_records(self._bootstrap, topics, count)
        say("starting Spark")
        executor = on_spark()
        say(f"computing the rows of {len(records):,} records")
        found = sample(config, self._own, tables, records, most_rows, executor, self._target_name, self._judge)
        found.columns |= {topic: spark_columns(self._own.columns[topic]) for topic in self._own.found}
        for topic, source in self._own.found.items():
            found.warnings += mixed_columns(config, topic, records) if source == INFERRED else ()
        return found

    def explain(self, say: Callable[[str], None], on_spark: Callable[[], Executor]) -> Plan:
        own, tables = self._own, self._tables()
        say("starting Spark")
        return StatementRuns(own, scanned_topics(self.config, own), on_spark(), tables).plan

    def records(
        self, topic: str, since_ms: int | None, until_ms: int | None, within: Bounds | None = None
    ) -> TypedRecords:
        from frazil.connectors.sql.frame import typed_records

        config, bootstrap = self.config, self._bootstrap
        several = scanned_topics(
            config, replace(self._own, statement=replace(self._own.statement, metadata=METADATA, names=None))
        )
        chosen = [each for each in several if each.number < 0 or topic in ("", each.name)]
        if len(chosen) != 1:
            raise UsageError(f"a frame is of one topic; name one of {', '.join(each.name for each in several)}")
        (found,) = chosen
        topics = [topic] if topic else topics_of(config, bootstrap)
        span = span_of(config, bootstrap, topics, since_ms, until_ms)
        if within is not None:
            begin = {key: max(at, within.floor.get(key, at)) for key, at in span.begin.items()}
            span = Span(begin, {key: min(at, within.ceiling.get(key, at)) for key, at in span.end.items()})
        ranges = span.ranges
        source, named = task_source(config, bootstrap, headers=True), {one: replace(found, name=one) for one in topics}
        shares = divided(ranges, -(-sum(map(len, ranges)) // RECORDS_PER_TASK))
        scans = [scan for share in shares for scan in scans_of(named, share, source, {}, None)]
        return typed_records(found, scans, span.begin, span.end, tolerant=config.errors_tolerance == "all")

    def through(self, function: RowFunction) -> None:
        if self._own.statement.state:
            raise UsageError(f"the statement of {self.name} keeps state; rows of one without can go through a function")
        self._own = replace(self._own, function=function)

    def verify(self, limits: Limits, progress: Progress) -> list[RangeCheck]:
        raise NotComparable(
            f"rows of {self.name} are those of its statement, which differ from its records; nothing was compared"
        )

    def replayer(self, queues: Sequence[Queue], *, dry_run: bool) -> Replayer:
        raise NotReplayable(
            f"dead letters of {self.name} cannot be replayed: its statement, or a table that it joins, may have "
            f"changed since. {NO_REPLAY}"
        )
