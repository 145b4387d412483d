"""Iceberg tables and files that a statement joins with, as they are when a batch begins."""

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from frazil.clients.catalog import catalog_errors
from frazil.connectors.sql.json_files import json_rows
from frazil.errors import ConfigError

MOST_ROWS = 1_000_000
"""Rows of a table that a statement may join with: they are in the memory of the worker."""


class ReferenceTables:
    """Tables by their names; one that has not changed is not read again."""

    def __init__(self, catalog: Catalog, names: Sequence[str], folder: Path | None) -> None:
        self._catalog = catalog
        self._names = names
        self._files = ReferenceFiles(folder)
        self._known: dict[str, tuple[int | None, pa.Table]] = {}

    def read(self) -> list[pa.Table]:
        """The rows of each table now. Raises ConfigError for a table that is not there, or too large."""
        return [
            self._files.read(name.removeprefix(FILES)) if name.startswith(FILES) else self._read(name)
            for name in self._names
        ]

    def _read(self, name: str) -> pa.Table:
        with catalog_errors(self._catalog.properties, f"table {name}"):
            try:
                table = self._catalog.load_table(name)
            except NoSuchTableError:
                raise ConfigError(
                    f"frazil.sql reads table {name}, and the catalog has no such table; a topic with a dot in its name "
                    "stands in `backquotes`. Nothing was read"
                ) from None
            snapshot = table.current_snapshot()
            version = None if snapshot is None else snapshot.snapshot_id
            known = self._known.get(name)
            if known is not None and known[0] == version:
                return known[1]
            scan = table.scan()
            rows = sum(task.file.record_count for task in scan.plan_files())
            if rows > MOST_ROWS:
                raise ConfigError(
                    f"frazil.sql joins with table {name}, which has {rows:,} rows; it may have {MOST_ROWS:,}, for the "
                    "worker keeps them in memory. Nothing was read. Make a smaller table of it"
                )
            found = scan.to_arrow()
        self._known[name] = version, found
        return found


FILES = "files."
"""Namespace of the tables in a statement that are files."""
_FORMS = (".csv", ".json", ".jsonl", ".parquet")
_MOST_BYTES = 256 << 20
_ZERO, _ZERO_OR_LONG = "^[+-]?0[0-9]", "^[+-]?(0[0-9]|[0-9]{16,}$)"

Version = tuple[Path, int, int, int]


class ReferenceFiles:
    """Tables by the names of files without their ending; one that has not changed is not read again.

    Columns stay as they were at the first read; one that is new is seen after a restart.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._known: dict[str, tuple[Version, pa.Table]] = {}

    def problem(self, name: str) -> str | None:
        """Tell why a file cannot be read: the folder does not have it, or there is no folder."""
        try:
            self._file(name)
        except ConfigError as error:
            return str(error)
        return None

    def read(self, name: str) -> pa.Table:
        """The rows of a file now. Raises ConfigError for one that is not there, too large, or has other columns."""
        file = self._file(name)
        try:
            stat = file.stat()
            version = file, stat.st_mtime_ns, stat.st_size, stat.st_ino
            known = self._known.get(name)
            if known is not None and known[0] == version:
                return known[1]
            if stat.st_size > _MOST_BYTES:
                raise ConfigError(
                    f"frazil.sql joins with file {file}, which has {stat.st_size:,} bytes; it may have "
                    f"{_MOST_BYTES:,}, for the worker keeps its rows in memory. Nothing was read"
                )
            found = _rows(file, file.read_bytes(), None if known is None else known[1].schema)
        except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
            raise ConfigError(
                f"frazil.sql joins with file {file}, which cannot be read{'' if name not in self._known else ' anew'}: "
                f"{error}. Put it right, with the columns that it had, then restart the connector"
            ) from None
        self._known[name] = version, found
        return found

    def _file(self, name: str) -> Path:
        if self._folder is None:
            raise ConfigError(
                f"frazil.sql joins with file {name}, and FRAZIL_SQL_FILES names no folder of files. Nothing was read. "
                "Only who runs the worker can name one, in its environment"
            )
        found = [file for form in _FORMS if (file := self._folder / f"{name}{form}").is_file()]
        if len(found) != 1 or "/" in name:
            known = sorted(file.name for file in self._folder.glob("*") if file.suffix in _FORMS)
            what = f"{len(found)} files are named so" if found else "there is no such file"
            raise ConfigError(
                f"frazil.sql joins with {FILES}{name}, and {what} in folder FRAZIL_SQL_FILES, which has "
                f"{', '.join(known) or 'none'}. Nothing was read"
            )
        return found[0]


def _texts(table: pa.Table, content: bytes) -> dict[str, pa.DataType]:
    """The columns of a CSV whose numbers stay texts, since as numbers they would lose digits, such as 007."""
    patterns = {
        each.name: _ZERO if pa.types.is_integer(each.type) else _ZERO_OR_LONG
        for each in table.schema
        if pa.types.is_integer(each.type) or pa.types.is_floating(each.type)
    }
    if not patterns:
        return {}
    options = pa.csv.ConvertOptions(column_types=dict.fromkeys(patterns, pa.string()), include_columns=[*patterns])
    read = pa.csv.read_csv(io.BytesIO(content), convert_options=options)
    return {
        name: pa.string()
        for name, pattern in patterns.items()
        if pc.any(pc.match_substring_regex(read[name], pattern)).as_py()
    }


def _rows(file: Path, content: bytes, schema: pa.Schema | None) -> pa.Table:
    source = io.BytesIO(content)
    if file.suffix == ".parquet":
        table = pa.parquet.read_table(source)
    elif file.suffix == ".csv":
        types = None if schema is None else dict(zip(schema.names, schema.types, strict=True))
        names = None if schema is None else schema.names
        options = pa.csv.ConvertOptions(column_types=types, include_columns=names, strings_can_be_null=True)
        table = pa.csv.read_csv(source, convert_options=options)
        if len(set(table.column_names)) < table.num_columns:
            raise ValueError("a column is there twice")
        if schema is None and (texts := _texts(table, content)):
            options.column_types = texts
            table = pa.csv.read_csv(io.BytesIO(content), convert_options=options)
    else:
        table = json_rows(content, schema)
    if schema is not None:
        return table.select(schema.names).cast(schema)
    nulls = [pa.field(each.name, pa.string()) if pa.types.is_null(each.type) else each for each in table.schema]
    return table.cast(pa.schema(nulls))
