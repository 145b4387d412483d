"""Results that a task of an object sink hands to the driver."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import TopicPartition
from frazil.pipeline.results import NewColumns, SkipReason


@dataclass(frozen=True)
class StoredObject:
    """An object that is durable. `first` and `last` are the offsets of its records."""

    name: str
    topic: str
    partition: int
    first: int
    last: int
    count: int
    size: int


@dataclass
class PartitionResult:
    """Result of a run over the records of one Kafka partition.

    `position` is the next offset to read: everything below it is stored, a dead letter or a counted skip, and
    counted here; records from it on are read again. `letters` are all dead letters that were found, also beyond the
    position; `invalid` of those below it are not valid by a schema. `refused` are offsets that no file can take,
    with the reason, and `unknown` fields that the table has no column for: the partition was read up to there, and
    is to be read again. `bad` ends the connector. `overflow`: there are more dead letters than one task may hand
    over. `open_count` records are in open objects, whose first record has the time `open_since` in epoch ms;
    `newest` is Kafka's time of the newest record that is stored. `surplus` rows of a statement are not the first of
    their record. `validation_s` is the time in seconds that the JSON Schema took, also of records beyond the
    position.
    """

    position: int
    stored: Counter[str] = field(default_factory=Counter)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    dead: Counter[str] = field(default_factory=Counter)
    letters: list[DeadLetter] = field(default_factory=list)
    objects: list[StoredObject] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    invalid: int = 0
    unknown: NewColumns = field(default_factory=NewColumns)
    bad: DeadLetter | None = None
    overflow: bool = False
    open_count: int = 0
    open_since: int = 0
    newest: int = 0
    surplus: int = 0
    validation_s: float = 0.0

    @property
    def read(self) -> int:
        """Records below the position."""
        return self.stored.total() - self.surplus + self.skipped.total() + self.dead.total()


@dataclass
class ObjectsResult:
    """Results by topic and partition. Times are seconds: `write_s` is how long the slowest task waited for the store,
    `validation_s` how long the slowest one checked records by the JSON Schema, `object_s` what each object took."""

    partitions: dict[TopicPartition, PartitionResult] = field(default_factory=dict)
    write_s: float = 0.0
    validation_s: float = 0.0
    object_s: list[float] = field(default_factory=list)

    def add(self, task: ObjectsResult) -> None:
        """Take the result of a task over other partitions."""
        self.partitions |= task.partitions
        self.write_s = max(self.write_s, task.write_s)
        self.validation_s = max(self.validation_s, task.validation_s)
        self.object_s += task.object_s
