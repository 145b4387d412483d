"""Changes of a table's columns and properties, in one commit."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.exceptions import BadRequestError, CommitFailedException, ValidationError
from pyiceberg.table import Table, Transaction
from pyiceberg.types import IcebergType, PrimitiveType

from frazil.connectors.iceberg.changes.merge import MERGE_MODE, MERGE_MODES
from frazil.connectors.iceberg.config.creation import PartitionTerm
from frazil.connectors.iceberg.table.attempts import NOT_CONFIRMED, one_attempt
from frazil.connectors.iceberg.table.commit import OFFSETS
from frazil.connectors.iceberg.table.create import title_of, transform_of
from frazil.connectors.iceberg.table.schema import iceberg_type
from frazil.connectors.iceberg.table.transaction import transaction_on
from frazil.errors import CommitConflict, CommitStateUnknown, UsageError
from frazil.pipeline.convert.column_types import column_type
from frazil.pipeline.convert.overrides import type_of
from frazil.text.near import did_you_mean

Path = tuple[str, ...]


def parse_type(text: str) -> IcebergType:
    """Read a type as configurations write it. Raises UsageError."""
    try:
        found = column_type(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no type of a column: {error}. Nothing was changed.") from None
    if found is None:
        raise UsageError(f"{text!r} is no type of a column. Nothing was changed.")
    return iceberg_type(type_of(found))


@dataclass(frozen=True)
class Changes:
    """Changes of one commit. `renamed` gives columns new last names; `unset` are properties that go."""

    added: Mapping[Path, IcebergType] = field(default_factory=dict)
    renamed: Mapping[Path, str] = field(default_factory=dict)
    widened: Mapping[Path, IcebergType] = field(default_factory=dict)
    optional: Sequence[Path] = ()
    dropped: Sequence[Path] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    unset: Sequence[str] = ()
    partition: Sequence[PartitionTerm] | None = None
    """Partition fields of the files that are written from now on; None leaves them as they are."""

    @property
    def breaks_writers(self) -> bool:
        """Whether who writes to the table now goes by columns that are not there any more."""
        return bool(self.renamed or self.dropped)

    @property
    def of_columns(self) -> bool:
        """Whether columns are changed."""
        return bool(self.added or self.renamed or self.widened or self.optional or self.dropped)

    def told(self) -> Iterator[str]:
        """A line for each change."""
        yield from (f"+ {'.'.join(path)} {type_}" for path, type_ in self.added.items())
        yield from (f"{'.'.join(path)} → {'.'.join((*path[:-1], new))}" for path, new in self.renamed.items())
        yield from (f"{'.'.join(path)}: {type_}" for path, type_ in self.widened.items())
        yield from (f"{'.'.join(path)}: optional" for path in self.optional)
        yield from (f"- {'.'.join(path)}" for path in self.dropped)
        yield from (f"{key}={value}" for key, value in self.properties.items())
        yield from (f"- property {key}" for key in self.unset)
        if self.partition is not None:
            yield f"partitions: {', '.join(map(title_of, self.partition)) or 'none'}"


def check_changes(table: Table, changes: Changes) -> None:
    """Refuse what cannot be, or would break the table. Raises UsageError."""
    if not (changes.of_columns or changes.properties or changes.unset or changes.partition is not None):
        raise UsageError(
            "nothing to change: give --add, --rename, --widen, --optional, --drop, --partition-by, --set or --unset."
        )
    name, schema = ".".join(table.name()), table.schema()
    for key in (*changes.properties, *changes.unset):
        if key.startswith(f"{OFFSETS}."):
            raise UsageError(f"{key} of {name} is a connector's position: `offsets` moves it. Nothing was changed.")
    mode = changes.properties.get(MERGE_MODE, MERGE_MODES[0])
    if mode not in MERGE_MODES:
        raise UsageError(f"{MERGE_MODE} of {name} is {' or '.join(MERGE_MODES)}, not {mode}. Nothing was changed.")
    columns = set(schema.column_names)
    for path in (*changes.renamed, *changes.widened, *changes.optional, *changes.dropped):
        _check_column(name, ".".join(path), columns)
    new = {".".join(path): type_ for path, type_ in changes.added.items()}
    for term in changes.partition or ():
        _check_column(name, term.column, columns | new.keys())
        type_ = new.get(term.column) or schema.find_type(term.column)
        if not transform_of(term).can_transform(type_):
            raise UsageError(
                f"{name} cannot be partitioned by {term.transform}({term.column}): the column is of type {type_}. "
                "Nothing was changed."
            )
    used = {schema.find_column_name(one.source_id): f"partition field {one.name}" for one in table.spec().fields}
    used |= {schema.find_column_name(one.source_id): "the sort order" for one in table.sort_order().fields}
    used |= dict.fromkeys(schema.identifier_field_names(), "the columns that identify a row")
    for path in changes.dropped:
        column = ".".join(path)
        needed = [what for name_, what in used.items() if name_ and f"{name_}.".startswith(f"{column}.")]
        if needed:
            raise UsageError(f"{column} of {name} cannot be dropped: {needed[0]} needs it. Nothing was changed.")


def _check_column(table: str, column: str, known: Collection[str]) -> None:
    if column not in known:
        near = did_you_mean(column, known) or f"; it has {', '.join(sorted(known))}"
        raise UsageError(f"{table} has no column {column}{near}. Nothing was changed.")


def alter(table: Table, changes: Changes) -> None:
    """Make the changes, all or none.

    Raises UsageError for what Iceberg does not allow, CommitConflict when others have changed the table meanwhile, and
    CommitStateUnknown when the catalog does not confirm.
    """
    check_changes(table, changes)
    name = ".".join(table.name())
    try:
        transaction = transaction_on(one_attempt(table))
        if changes.of_columns:
            _columns(transaction, changes)
        if changes.partition is not None:
            _partition(transaction, changes.partition)
        if changes.properties:
            transaction.set_properties(dict(changes.properties))
        if changes.unset:
            transaction.remove_properties(*changes.unset)
        transaction.commit_transaction()
    except CommitFailedException as error:
        raise CommitConflict(
            f"{name} was changed by others meanwhile. Nothing was changed; repeat the command."
        ) from error
    except (ValueError, ValidationError, BadRequestError) as error:
        raise UsageError(f"{name} cannot be changed so: {error}. Nothing was changed.") from error
    except NOT_CONFIRMED as error:
        raise CommitStateUnknown(
            f"the catalog did not confirm the change of {name} ({type(error).__name__}: {error}). Look with `tables "
            "describe`, and repeat the command if it is not there."
        ) from error


def _partition(transaction: Transaction, terms: Sequence[PartitionTerm]) -> None:
    metadata = transaction.table_metadata
    schema, old = metadata.schema(), metadata.spec().fields
    wanted = {(term.column, transform_of(term)): term for term in terms}
    have = {(schema.find_column_name(one.source_id), one.transform): one.name for one in old}
    with transaction.update_spec() as update:
        for key, name in have.items():
            if key not in wanted:
                update.remove_field(name)
        for key, term in wanted.items():
            if key not in have:
                title = title_of(term)
                taken = title in have.values()  # by a field that goes, such as one of other buckets
                update.add_field(*key, f"{title}_{term.number}" if taken else title)


def _columns(transaction: Transaction, changes: Changes) -> None:
    with transaction.update_schema(allow_incompatible_changes=bool(changes.dropped)) as update:
        for path, type_ in changes.added.items():
            update.add_column(path, type_)
        for path, type_ in changes.widened.items():
            if not isinstance(type_, PrimitiveType):
                raise UsageError(
                    f"{'.'.join(path)} cannot become {type_}: only plain types widen. Nothing was changed."
                )
            update.update_column(path, type_)
        for path in changes.optional:
            update.make_column_optional(path)
        for path in changes.dropped:
            update.delete_column(path)
        for path, new in changes.renamed.items():
            update.rename_column(path, new)
