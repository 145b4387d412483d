"""Declaration of a transformation or predicate: names of its class, keys, their rules, the code that applies it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from frazil.declare.definition import Key, Value, invalid_value
from frazil.pipeline.transforms.columns import ApplyToBlock, TestBlock
from frazil.pipeline.transforms.record import Apply, Part, Record

Options = Mapping[str, Value]
"""Parsed values of a plugin's keys, under their names without prefix."""
Problems = Iterator[tuple[str, str]]
"""Name of a key without prefix, and error text."""
Check = Callable[[str, Options], Problems]
"""A rule between keys; it gets their prefix too (`transforms.mask.`), for texts that name them."""
Test = Callable[[Record], bool]
Fields = Iterable[tuple[str, tuple[str, ...]]]
"""Keys of a plugin without prefix, and the paths of fields that they name."""

KAFKA = ("org.apache.kafka.connect.transforms",)
ICEBERG = ("org.apache.iceberg.connect.transforms", "io.tabular.iceberg.connect.transforms")
KEY_OR_VALUE = ("Key", "Value")
OPERATION = ("_cdc", "op")
"""Path of the field in which transformations of change events say what a record does to its row."""
OPERATIONS = "operations"
"""Option of those that write it on demand, set where it counts; no key."""
POSITION = ("_cdc", "position")
"""Path of the field in which they say where in the database's log the event stands."""
IDS, ALL = "ids", "all"
"""Options of the same: the fields by which rows are found, in lower case, and whether any other may become one."""
CHANGE_OP, CHANGE_TS = "_op", "_ts"
"""Fields in which they say, where it is asked, what a change is and when the database made it."""
CHANGE_POSITION, VALID_FROM, VALID_TO = "_position", "_valid_from", "_valid_to"
CURRENT, DELETE_POSITION = "_current", "_delete_position"
"""Columns beside these of a table that keeps each change, and of one that keeps each version."""
READ = "R"
"""Operation of a row that a snapshot has read."""
CHANGES = "changes"
"""Option that asks for them."""
TRUNCATES = "truncates"
"""Option of the same: whether the tables can be emptied at the place of a record."""
UNTOLD, MOVED, KEY = "untold", "moved", "key.fields"
"""Names of their notes beside the operation: which of these fields the event may hide, and which it changes; and the
fields of the row's key, where the event names them."""
NOTES = (POSITION[1], UNTOLD, MOVED, KEY)
"""Notes that are no columns where the others are."""

DATE_FORMAT = (
    "Pattern as for Java's SimpleDateFormat, in UTC. Digits of `S` are a fraction of the second; a value out of "
    "range is refused."
)
REPLACE_NULL = Key(
    "replace.null.with.default",
    "BOOLEAN",
    "Whether a null takes the default value of its field.",
    default=True,
    no_effect="a null stays null where its field has a default value too",
)


def nothing(prefix: str, options: Options) -> Iterator[Any]:
    """Find no problem, and nothing to warn of."""
    yield from ()


def of_lists(*keys: str) -> Callable[[Options], Fields]:
    """Give the fields that lists of names name."""
    return lambda options: ((key, (name,)) for key in keys for name in items(options, key))


def of_texts(*keys: str) -> Callable[[Options], Fields]:
    """Give the fields that texts name, each one."""
    return lambda options: ((key, (text(options, key),)) for key in keys if text(options, key))


def never(options: Options) -> bool:
    """Say no."""
    return False


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A class that a configuration names, in one of `packages`.

    `parts` are the nested classes to be named instead of it. `refused` says why it cannot be used.
    """

    name: str
    documentation: str
    keys: tuple[Key, ...] = ()
    packages: tuple[str, ...] = KAFKA
    parts: tuple[str, ...] = ()
    check: Check = nothing
    refused: str | None = None

    @property
    def class_names(self) -> tuple[str, ...]:
        names = [f"{package}.{self.name}" for package in self.packages]
        return tuple(f"{name}${part}" for name in names for part in self.parts) if self.parts else tuple(names)


@dataclass(frozen=True, kw_only=True)
class Transformation(Plugin):
    """A transformation; without `build` it changes nothing.

    `warnings` yields texts about values that have no effect. `reads_keys`: the key of a record makes a difference to
    its value. `makes_objects`: the value may be text before it. `makes_types`: it leaves values whose type their text
    does not show. `writes_operation`: it says in `OPERATION` what a record does to its row. `reads_headers`: the
    values of headers make a difference. `writes_headers`: it adds or removes headers. `columns` builds what changes
    values that are columns, if there is a way; it has the keys of the plugin. `of_json`: it does so too where no schema
    says which fields there are. `fields` are those of its part that it looks for, where their absence is no error.
    """

    build: Callable[[Options, Part], Apply] | None
    columns: Callable[[Options], ApplyToBlock] | None = None
    of_json: bool = False
    warnings: Callable[[str, Options], Iterator[str]] = nothing
    reads_keys: Callable[[Options], bool] = never
    makes_objects: bool = False
    makes_types: Callable[[Options], bool] = never
    writes_operation: bool = False
    reads_headers: Callable[[Options], bool] = never
    writes_headers: bool = False
    fields: Callable[[Options], Fields] = lambda options: ()


@dataclass(frozen=True, kw_only=True)
class Predicate(Plugin):
    """A predicate; `columns` builds what asks for many records at once, if there is a way.

    `reads_headers`: it asks for the headers of records.
    """

    build: Callable[[Options], Test]
    columns: Callable[[Options], TestBlock] | None = None
    packages: tuple[str, ...] = (f"{KAFKA[0]}.predicates",)
    reads_headers: bool = False


def items(options: Options, name: str) -> tuple[str, ...]:
    """Give the entries of a LIST key, without blank ones."""
    value = options.get(name)
    return tuple(item for item in value if item) if isinstance(value, tuple) else ()


def text(options: Options, name: str) -> str:
    """Give the value of a STRING key; empty when it is null."""
    value = options.get(name)
    return value if isinstance(value, str) else ""


def not_empty(name: str) -> Check:
    """Make the rule that a list has an entry."""

    def check(prefix: str, options: Options) -> Problems:
        if isinstance(options.get(name), tuple) and not items(options, name):
            yield name, f"Configuration '{prefix}{name}' must not be empty. Valid values include: any non-empty value"

    return check


def pairs(first: str, second: str) -> Check:
    """Make the rule that a list of fields and one of headers have entries, and as many of them; `second` is told."""

    def check(prefix: str, options: Options) -> Problems:
        lists = {name: items(options, name) for name in (first, second) if isinstance(options.get(name), tuple)}
        for name, entries in lists.items():
            if not entries:
                yield name, invalid_value(prefix + name, entries, "Empty list")
        if len({*map(len, lists.values())}) == 2:
            yield second, "'fields' config must have the same number of elements as 'headers' config."

    return check
