"""Keys of the Iceberg sink about records that change rows: upserts and deletes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.connectors.iceberg.config.keys import CDC_FORMAT, CDC_MODE, MODES
from frazil.declare.converters import NULLS_TAKE_DEFAULTS, READABLE_KEYS, converter_class
from frazil.declare.definition import Parsed, invalid_value
from frazil.declare.placeholders import has_placeholder
from frazil.pipeline.transforms.declaration import transform_chain, writes_operation
from frazil.pipeline.transforms.formats.registry import FORMATS
from frazil.pipeline.transforms.plugin import OPERATION
from frazil.pipeline.transforms.registry import TRANSFORMATIONS
from frazil.text.lists import listed

UPSERT = "iceberg.tables.upsert-mode-enabled"
AUTO_CREATE = "iceberg.tables.auto-create-enabled"
CDC_FIELD = "iceberg.tables.cdc-field"
ID_COLUMNS = "iceberg.tables.default-id-columns"
_OWN_ID_COLUMNS = "iceberg.table.*.id-columns"
_OWN_MODES = "iceberg.table.*.cdc-mode"

Path = tuple[str, ...]


@dataclass(frozen=True)
class RowChanges:
    """Rules by which records change rows. `operation` is the path of the field that tells deletes, if any does.

    Key columns that are not configured are the table's identifier fields; with `events`, records are change events and
    bring them for a table that is created. `mode` says what tables keep of events, `modes` what some of them do.
    """

    operation: Path | None
    default_id_columns: tuple[Path, ...]
    id_columns: Mapping[str, tuple[Path, ...]]
    events: bool = False
    mode: str = MODES[0]
    modes: Mapping[str, str] = field(default_factory=dict)

    @property
    def keeps_changes(self) -> bool:
        """Whether a table keeps more of events than the rows as they are."""
        return {self.mode, *self.modes.values()} != {MODES[0]}

    def mode_of(self, table: str) -> str:
        """The mode of a table."""
        return self.modes.get(table, self.mode)

    def id_columns_of(self, table: str) -> tuple[Path, ...]:
        """The configured key columns of a table; empty when there are none."""
        return self.id_columns.get(table) or self.default_id_columns


def no_keys(table: str) -> str:
    """The reason why rows of a table without key columns cannot be changed, and what to do."""
    return (
        f"{table} has no identifier fields, so nobody knows which row a record changes. Nothing was written. "
        f"Set {ID_COLUMNS} or iceberg.table.{table}.id-columns to the columns that identify a row."
    )


def brings_changes(config: Mapping[str, str | None]) -> bool:
    """Whether records are change events, whose keys identify rows."""
    return (config.get(CDC_FORMAT) or "none").strip() != "none"


def check_row_changes(parsed: Parsed) -> None:
    """Rules between these keys; errors and warnings go into `parsed`."""
    operation = parsed.text(CDC_FIELD)
    if parsed.text(CDC_FORMAT) != "none":
        _check_format(parsed)
        _check_key_of_events(parsed)
        _warn_of_defaults(parsed)
    _check_modes(parsed)
    if operation and not has_placeholder(operation) and not all(operation.split(".")):
        parsed.fail(CDC_FIELD, invalid_value(CDC_FIELD, operation, "A name in the path is empty"))
    own = parsed.members(_OWN_ID_COLUMNS)
    named = {ID_COLUMNS: listed(parsed.text(ID_COLUMNS))} | {
        f"iceberg.table.{table}.id-columns": listed(text) for table, text in own.items()
    }
    for key, columns in named.items():
        if any(not all(column.split(".")) for column in columns if not has_placeholder(column)):
            parsed.fail(key, invalid_value(key, columns, "A name in the path of a column is empty"))
    if operation in ("", ".".join(OPERATION)) and (operation or parsed.flag(UPSERT)):
        _check_operation_stays(parsed)
    if parsed.flag(UPSERT) and not operation:
        _warn_of_rows_that_stay(parsed)
    if operation and parsed.flag(UPSERT):
        parsed.warn(f"{UPSERT} has no effect here: with {CDC_FIELD} every record says what it does to its row")
    used = operation or parsed.text(CDC_FORMAT) != "none" or parsed.flag(UPSERT) or parsed.flag(AUTO_CREATE)
    for key, columns in named.items() if not used else ():
        if columns:
            parsed.warn(f"{key} has no effect here: rows are appended; row keys matter for upserts and deletes only")


def _check_format(parsed: Parsed) -> None:
    """Errors for keys that say once more what the records do to rows."""
    if parsed.text(CDC_FIELD):
        parsed.fail(CDC_FIELD, f"Cannot be set beside {CDC_FORMAT}, which knows what each record does: remove one")
    elif writes_operation(parsed.config):
        reason = "A transformation makes rows of change events already: remove it, or this key"
        parsed.fail(CDC_FORMAT, invalid_value(CDC_FORMAT, parsed.text(CDC_FORMAT), reason))
    elif parsed.flag(UPSERT):
        parsed.warn(f"{UPSERT} has no effect here: with {CDC_FORMAT} every record says what it does to its row")


def _check_modes(parsed: Parsed) -> None:
    """Errors for modes that there are not, or not for what the records are."""
    own = {f"iceberg.table.{table}.cdc-mode": text.strip() for table, text in parsed.members(_OWN_MODES).items()}
    for key, mode in {CDC_MODE: parsed.text(CDC_MODE), **own}.items():
        if has_placeholder(mode):
            continue
        if key != CDC_MODE and mode not in MODES:
            parsed.fail(key, invalid_value(key, mode, f"String must be one of: {', '.join(MODES)}"))
        elif mode in MODES[1:] and parsed.text(CDC_FORMAT) != "debezium":
            reason = f"Only events of Debezium say what it keeps: set {CDC_FORMAT}=debezium, or remove this key"
            parsed.fail(key, invalid_value(key, mode, reason))


def _check_key_of_events(parsed: Parsed) -> None:
    """Error for keys that cannot be read where events need them."""
    events, converter = FORMATS.get(parsed.text(CDC_FORMAT)), converter_class(parsed.text("key.converter"))
    if events is not None and events.reads_keys and converter is not None and converter not in READABLE_KEYS:
        reason = f"{CDC_FORMAT}={parsed.text(CDC_FORMAT)} reads keys. Set one of: {', '.join(READABLE_KEYS)}"
        parsed.fail("key.converter", invalid_value("key.converter", converter, reason))


def _warn_of_defaults(parsed: Parsed) -> None:
    """Warn where nulls of a database would be stored as other values, unless that is asked for."""
    key = NULLS_TAKE_DEFAULTS
    schemas = parsed.values.get("value.converter.schemas.enable") is True
    if schemas and parsed.values.get(key) is True and key not in parsed.config:
        parsed.warn(
            f"A null in a column with a default value is stored as that value: write {key}=false, in the source "
            "connector too"
        )


def _check_operation_stays(parsed: Parsed) -> None:
    """Error for a transformation that takes out what another one says of a record: deletes would be stored as rows."""
    chain = transform_chain(parsed)
    written = False
    for step in () if chain is None else chain.steps:
        if written and step.name == "ReplaceField" and step.part == "value":
            lists = {name: value for name, value in step.settings if isinstance(value, tuple)}
            includes = [name for name in lists["include"] if name]
            if OPERATION[0] in lists["exclude"] or (includes and OPERATION[0] not in includes):
                key = f"transforms.{step.alias}.{'exclude' if OPERATION[0] in lists['exclude'] else 'include'}"
                reason = f"{OPERATION[0]} says what a record does to its row, and becomes no column: leave it in"
                parsed.fail(key, invalid_value(key, lists[key.rpartition(".")[2]], reason))
        written = written or TRANSFORMATIONS[step.name].writes_operation


def _warn_of_rows_that_stay(parsed: Parsed) -> None:
    """Warn of transformations that keep deletes from the rows, as they are told to."""
    chain = transform_chain(parsed)
    for step in () if chain is None else chain.steps:
        key = "delete.tombstone.handling.mode"
        mode = str(dict(step.settings).get(key, "")).lower()
        what = {"drop": "stay as they are", "rewrite": "stay, with __deleted"}.get(mode.partition("-with")[0])
        if what is not None:
            name = f"transforms.{step.alias}.{key}"
            parsed.warn(f"Rows that the database deletes {what}, since {name} is {mode}; with tombstone they go")


def row_changes(parsed: Parsed) -> RowChanges | None:
    """Rules of changes; None when every record is a new row.

    What a transformation says of a record counts too where records replace rows.
    """
    operation = parsed.text(CDC_FIELD)
    events = parsed.text(CDC_FORMAT) != "none"
    if not operation and not parsed.flag(UPSERT) and not events:
        return None
    if not operation and (events or writes_operation(parsed.config)):
        operation = ".".join(OPERATION)
    own = {table: _paths(listed(text)) for table, text in parsed.members(_OWN_ID_COLUMNS).items()}
    modes = {table: text.strip() for table, text in parsed.members(_OWN_MODES).items()}
    path, ids = _path(operation) if operation else None, _paths(listed(parsed.text(ID_COLUMNS)))
    return RowChanges(path, ids, own, events, parsed.text(CDC_MODE), modes)


def changes_unnamed_rows(parsed: Parsed) -> bool:
    """Whether rows of a table change that are found by the identifier fields of the table alone."""
    changes = row_changes(parsed)
    return changes is not None and not all(map(changes.id_columns_of, parsed.items("iceberg.tables")))


def _paths(columns: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(_path(column) for column in dict.fromkeys(columns))


def _path(text: str) -> Path:
    return tuple(text.split("."))
