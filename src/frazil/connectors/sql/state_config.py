"""Keys of a connector with a statement about the state that it keeps between batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from frazil.connectors.sql.state_rules import StateRules, milliseconds
from frazil.declare.definition import Key, Parsed, invalid_value
from frazil.declare.validators import one_of
from frazil.pipeline.types import Scalar, Struct

WATERMARK = "frazil.watermark"
DEDUP_KEYS = "frazil.dedup.keys"
LATE = "frazil.late"
_OF_TOPIC = "frazil.watermark.*"
_ARRIVAL = "_timestamp"
STATE_IS_HERE = (
    "the state is on the disk of the worker while it runs, which executors elsewhere do not reach; run the connector "
    "on a worker with SPARK_MASTER=local[*]"
)
_FORM = "It is a column and the delay of its records, such as: at 10 seconds"

STATE_KEYS = (
    Key(
        WATERMARK,
        "STRING",
        "Column with the time of a record, and how long records are waited for: at 10 seconds. State of what is older "
        "than the newest time without the delay ends, and records for it are late. _timestamp is Kafka's time.",
        default="",
        importance="HIGH",
    ),
    Key(_OF_TOPIC, "STRING", "Column and delay for the records of one topic.", default=None),
    Key(
        DEDUP_KEYS,
        "LIST",
        "Columns by which records are told apart: one that comes again within the delay of the watermark is left out.",
        default="",
    ),
    Key(
        LATE,
        "STRING",
        "What becomes of records whose time is before the watermark: count lets Spark leave out those whose state has "
        "ended, dead-letter makes dead letters of all of them.",
        default="count",
        validator=one_of("count", "dead-letter"),
    ),
)


@dataclass(frozen=True)
class Watermark:
    """Column with the time of a topic's records, and the delay as Spark reads it."""

    column: str
    delay: str


@dataclass(frozen=True)
class StateConfig:
    """Checked keys; `watermarks` by the topics of the statement."""

    watermarks: Mapping[str, Watermark]
    dedup_keys: tuple[str, ...]
    late_letters: bool


def state_config(parsed: Parsed, topics: Sequence[str]) -> StateConfig:
    """Take the typed result; what `check_state` refuses is left out."""
    own = parsed.members(_OF_TOPIC)
    found = {topic: _watermark(own.get(topic, parsed.text(WATERMARK))) for topic in topics}
    watermarks = {topic: each for topic, each in found.items() if each is not None}
    return StateConfig(watermarks, tuple(parsed.items(DEDUP_KEYS)), parsed.text(LATE) == "dead-letter")


def is_here(master: str) -> bool:
    """Whether Spark computes on the machine of the worker, where the state is."""
    return master.startswith("local")


def state_rules(state: StateConfig, *, upserts: bool, id_columns: Sequence[str]) -> StateRules:
    """Give what a statement has to know of the configuration."""
    columns = {topic: each.column for topic, each in state.watermarks.items()}
    return StateRules(columns, upserts, tuple(id_columns), bool(state.dedup_keys))


def check_state(parsed: Parsed, columns: Mapping[str, Struct], topics: Sequence[str]) -> None:
    """Check the keys by the columns of those topics whose columns are known; errors go into `parsed`."""
    if parsed.text(LATE) == "dead-letter" and parsed.text("errors.tolerance") != "all":
        reason = "A late record would stop the connector; set errors.tolerance=all too"
        parsed.fail(LATE, invalid_value(LATE, "dead-letter", reason))
    own = parsed.members(_OF_TOPIC)
    for topic in own.keys() - set(topics):
        parsed.fail(f"{WATERMARK}.{topic}", f"{WATERMARK}.{topic} is for a topic that topics does not name")
    for topic, struct in columns.items():
        name = f"{WATERMARK}.{topic}" if topic in own else WATERMARK
        text = own.get(topic, parsed.text(WATERMARK))
        problem = _problem(text, topic, struct) if text.strip() else None
        if problem is not None:
            parsed.fail(name, invalid_value(name, text, problem))
        names = {field.name.lower() for field in struct.fields}
        lacks = [key for key in parsed.items(DEDUP_KEYS) if key.lower() not in names]
        if lacks:
            reason = f"{topic} has no column {lacks[0]}"
            parsed.fail(DEDUP_KEYS, invalid_value(DEDUP_KEYS, parsed.text(DEDUP_KEYS), reason))


def _watermark(text: str) -> Watermark | None:
    column, _, delay = text.strip().partition(" ")
    return Watermark(column, delay.strip().lower()) if milliseconds(delay) is not None else None


def _problem(text: str, topic: str, struct: Struct) -> str | None:
    found = _watermark(text)
    if found is None:
        return f"{_FORM}, 1 minute or 2 hours"
    if found.column == _ARRIVAL:
        return None
    times = {field.name for field in struct.fields if field.type in _TIMES}
    if found.column not in times:
        return f"{topic} has no column {found.column} of type TIMESTAMP; there are {', '.join(sorted(times)) or 'none'}"
    return None


_TIMES = (Scalar("timestamptz"), Scalar("timestamp"))
