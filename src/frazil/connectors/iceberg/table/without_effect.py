"""Keys of a connector that have no effect on a table as it is."""

from collections.abc import Iterator

from pyiceberg.table import Table

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.schema import mapping_of, struct_of
from frazil.pipeline.convert.infer import Path
from frazil.pipeline.convert.overrides import overrides_of
from frazil.pipeline.types import Struct, Type, has_aliases, inner_types

_SHOWN = 60


def without_effect(config: IcebergSinkConfig, table: Table) -> Iterator[str]:
    """Warnings about keys that the table's columns or properties make idle. Raises ConfigError as `struct_of` does."""
    name = ".".join(table.name())
    if config.any_case and has_aliases(struct_of(table.schema(), mapping_of(table))):
        yield (
            f"iceberg.tables.schema-case-insensitive has no effect on {name}: its property schema.name-mapping.default "
            "has other names for its columns, in their exact case"
        )
    struct = struct_of(table.schema())
    for path, wanted in overrides_of(config.column_types).types:
        found = _at(struct, path)
        if found is not None and str(found) != str(wanted):
            text = str(found)
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
            key = f"frazil.schema.path.{'.'.join(path)}"
            yield (
                f"{key} has no effect on {name}: the column is there already, as {shown}, and the key is for new "
                "columns. Rename or drop the column first, or have the table made anew"
            )


def _at(struct: Struct, path: Path) -> Type | None:
    found: Type | None = struct
    for name in path:
        found = None if found is None else dict(inner_types(found)).get(name)
    return found
