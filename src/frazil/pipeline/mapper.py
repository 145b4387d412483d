"""Record mappers: what installed packages do to records of a kind that they know, before and after the conversion.

A package provides one with an entry point of the group `frazil.record_mappers`, which leads to a `MapperFor`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Protocol, cast

from frazil.errors import ConfigError

if TYPE_CHECKING:
    import msgspec
    import pyarrow as pa
    from pyiceberg.schema import Schema

GROUP = "frazil.record_mappers"


class RecordMapper(Protocol):
    """Maps and redacts records; picklable and hashable, since it travels to the tasks."""

    @property
    def markers(self) -> tuple[str, ...]:
        """Top-level names that show a record for `map`, where the table has no such column."""

    def map(self, members: Mapping[str, msgspec.Raw]) -> Mapping[str, msgspec.Raw]:
        """Put the members under the table's column names. Raises ValueError for a record of another kind."""

    def redact(self, table: pa.Table) -> pa.Table:
        """Remove secrets from rows."""


class MapperFor(Protocol):
    """Finds the mapper for a table."""

    def __call__(self, schema: Schema, *, redact: bool) -> RecordMapper | None:
        """The mapper for a table with these columns; None for a table of no kind that it knows.

        Without `redact` the mapper keeps secrets as they are.
        """


@cache
def installed_mappers() -> tuple[EntryPoint, ...]:
    """The entry points of all installed packages, in the order of their names; nothing of them is imported."""
    return tuple(sorted(entry_points(group=GROUP), key=lambda found: found.name))


def load_mapper(found: EntryPoint) -> MapperFor:
    """Import a mapper. Raises ConfigError when its package does not have what it leads to."""
    try:
        return cast(MapperFor, found.load())
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"the record mapper {found.name} ({found.value}) cannot be loaded: {error}; nothing was stored. Install "
            "its package anew, or leave it out of frazil.record.mappers"
        ) from error


def mapper_for(schema: Schema, names: Collection[str] | None = None, *, redact: bool) -> RecordMapper | None:
    """The mapper of the first installed one, in the order of names, that knows a table with these columns.

    `names` are those that may be asked, all of them when None. Raises ConfigError when one cannot be loaded.
    """
    chosen = (found for found in installed_mappers() if names is None or found.name in names)
    mappers = (load_mapper(found)(schema, redact=redact) for found in chosen)
    return next((mapper for mapper in mappers if mapper is not None), None)


def mapper_names(value: object) -> str | None:
    """Reason why the names in the value of a key cannot be used; None when all are installed, and for null."""
    installed = [found.name for found in installed_mappers()]
    unknown = [name for name in value if name and name not in installed] if isinstance(value, tuple) else []
    if not unknown:
        return None
    return f"No record mapper {', '.join(unknown)} is installed; there are: {', '.join(installed) or 'none'}"
