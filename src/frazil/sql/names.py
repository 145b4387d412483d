"""Names as Trino resolves them: catalog.schema.table, without regard to case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from urllib.parse import urlsplit

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import BadRequestError, NoSuchNamespaceError, NoSuchTableError, RESTError
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from requests.exceptions import RequestException

from frazil.errors import QueryError, ServiceUnavailable
from frazil.sql.view import Views
from frazil.text.near import did_you_mean

# Only such names go into a request as they stand; others are looked for among the names that the catalog lists.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")
# A catalog may refuse a name that cannot exist (SeaweedFS: upper case) instead of not finding it.
_NO_SUCH_NAME = (NoSuchTableError, NoSuchNamespaceError, BadRequestError)

METADATA_TABLES = (
    "snapshots",
    "history",
    "files",
    "partitions",
    "manifests",
    "refs",
    "properties",
    "metadata_log_entries",
)


@dataclass(frozen=True)
class Source:
    """A table that a statement reads.

    `metadata` names one of METADATA_TABLES for a name like `apilogs$snapshots`, `snapshot_id` a version of the table;
    None is the current one.
    """

    table: Table
    metadata: str | None = None
    snapshot_id: int | None = None

    @property
    def schema(self) -> Schema:
        """The schema that the version was written with."""
        snapshot = self.table.snapshot_by_id(self.snapshot_id) if self.snapshot_id is not None else None
        if snapshot is None or snapshot.schema_id is None:
            return self.table.schema()
        return self.table.schemas()[snapshot.schema_id]

    def version(self, wanted: int | str) -> Source:
        """The table as a snapshot id, a branch or a tag names it. Raises QueryError when there is none."""
        name = ".".join(self.table.name())
        if isinstance(wanted, int):
            if self.table.snapshot_by_id(wanted) is None:
                raise QueryError(f'{name} has no snapshot {wanted}; "{self.table.name()[-1]}$snapshots" lists them')
            return replace(self, snapshot_id=wanted)
        ref = self.table.metadata.refs.get(wanted)
        if ref is None:
            known = ", ".join(sorted(self.table.metadata.refs)) or "none"
            raise QueryError(f"{name} has no branch or tag {wanted!r}; there are: {known}")
        return replace(self, snapshot_id=ref.snapshot_id)

    def as_of(self, moment: datetime) -> Source:
        """The table as it was at a moment. Raises QueryError when it had no snapshot then."""
        snapshot = self.table.snapshot_as_of_timestamp(int(moment.timestamp() * 1000))
        if snapshot is None:
            name = ".".join(self.table.name())
            raise QueryError(f"{name} had no snapshot at {moment.isoformat()}, or it has been expired")
        return replace(self, snapshot_id=snapshot.snapshot_id)


class Names:
    """Looks up catalogs, schemas and tables; each table is loaded once, so a statement sees one snapshot of it."""

    def __init__(
        self,
        catalog: Catalog | Callable[[], Catalog],
        warehouse: str,
        namespace: str,
        own_views: Views = MappingProxyType({}),
    ) -> None:
        """`catalog` may be a function, which is called when a name is looked up.

        `own_views` lie in the default schema, beside what is stored; a table of such a name comes first.
        """
        self._given = catalog
        self._loaded: dict[tuple[str, ...], Table] = {}
        self.catalog_name = warehouse.rstrip("/").rsplit("/", 1)[-1]
        self.default_schema = namespace
        self.own_views = own_views

    @cached_property
    def _catalog(self) -> Catalog:
        return self._given if isinstance(self._given, Catalog) else self._given()

    def source(self, parts: Sequence[str]) -> Source:
        """Table of `table`, `schema.table` or `catalog.schema.table`. Raises QueryError when there is none."""
        if len(parts) > 3:
            raise QueryError(f"{'.'.join(parts)} has too many parts; a table is named catalog.schema.table")
        if len(parts) == 3:
            self.check_catalog(parts[0])
        namespace = self.namespace(parts[-2]) if len(parts) > 1 else self.namespace(self.default_schema)
        name, dollar, metadata = parts[-1].rpartition("$")
        if not dollar:
            return Source(self._table(namespace, parts[-1]))
        if metadata.lower() == "data":
            return Source(self._table(namespace, name))
        if metadata.lower() not in METADATA_TABLES:
            known = ", ".join(f"{name}${m}" for m in METADATA_TABLES)
            raise QueryError(f"there is no metadata table {parts[-1]}; there are {known}")
        return Source(self._table(namespace, name), metadata.lower())

    def in_default_schema(self, parts: Sequence[str]) -> bool:
        """Whether a name of up to three parts, written out or not, lies in the default schema of the catalog."""
        full = [self.catalog_name, self.default_schema]
        qualifiers = [part.lower() for part in parts[:-1]]
        return qualifiers == [part.lower() for part in full[len(full) - len(qualifiers) :]]

    def exists(self, parts: Sequence[str]) -> bool:
        """Whether the table of that name exists; it is loaded then."""
        namespace = self.namespace(parts[-2]) if len(parts) > 1 else self.namespace(self.default_schema)
        if (*namespace, parts[-1].lower()) in self._loaded:
            return True
        with answers(), suppress(*_NO_SUCH_NAME):
            self._loaded[*namespace, parts[-1].lower()] = self._catalog.load_table((*namespace, parts[-1]))
            return True
        return False

    def check_catalog(self, name: str) -> None:
        """Raise QueryError when `name` is not the warehouse."""
        if name.lower() != self.catalog_name.lower():
            raise QueryError(f"there is no catalog {name}; there is {self.catalog_name}")

    def schemas(self) -> list[str]:
        """Names of all schemas. Raises QueryError when the catalog does not know the warehouse."""
        try:
            with answers():
                return sorted(".".join(namespace) for namespace in self._catalog.list_namespaces())
        except _NO_SUCH_NAME as error:
            raise QueryError(f"the Iceberg catalog has no such warehouse ({error}); correct WAREHOUSE_NAME") from error

    def namespace(self, schema: str) -> tuple[str, ...]:
        """Namespace of a schema name; a dot inside the name separates the levels of a nested one."""
        wanted = tuple(schema.split("."))
        if schema == self.default_schema:
            return wanted
        return next((tuple(s.split(".")) for s in self.schemas() if s.lower() == schema.lower()), wanted)

    def tables(self, namespace: tuple[str, ...]) -> list[str]:
        """Table names of a namespace. Raises QueryError when it does not exist."""
        if all(_PLAIN_NAME.fullmatch(level) for level in namespace):
            with answers(), suppress(*_NO_SUCH_NAME):
                found = sorted(identifier[-1] for identifier in self._catalog.list_tables(namespace))
                if found or ".".join(namespace) in self.schemas():
                    return found
        known = ", ".join(self.schemas()) or "none"
        name = ".".join(namespace)
        raise QueryError(f"there is no schema {name}{did_you_mean(name, self.schemas())}; known schemas: {known}")

    def views(self, namespace: tuple[str, ...]) -> list[str]:
        """Names of the views that are stored in a namespace; none where the catalog stores no views."""
        try:
            with answers():
                return sorted(identifier[-1] for identifier in self._catalog.list_views(namespace))
        except (*_NO_SUCH_NAME, NotImplementedError):
            return []

    def _table(self, namespace: tuple[str, ...], name: str) -> Table:
        key = (*namespace, name.lower())
        if key not in self._loaded:
            self._loaded[key] = self._load(namespace, name)
        return self._loaded[key]

    def _load(self, namespace: tuple[str, ...], name: str) -> Table:
        if _PLAIN_NAME.fullmatch(name):
            with answers(), suppress(*_NO_SUCH_NAME):
                return self._catalog.load_table((*namespace, name))
        known = self.tables(namespace)
        found = [table for table in known if table.lower() == name.lower()]
        if len(found) == 1:
            with answers():
                return self._catalog.load_table((*namespace, found[0]))
        if found:
            raise QueryError(f"{name} could be any of {', '.join(found)}; write it exactly")
        schema = ".".join(namespace)
        own = schema == self.default_schema
        near = did_you_mean(name, [*known, *(self.own_views if own else ())], "" if own else f"{schema}.")
        near = near or self._elsewhere(name, schema)
        raise QueryError(f"there is no table {schema}.{name}{near}; known tables: {', '.join(known) or 'none'}")

    def _elsewhere(self, name: str, schema: str) -> str:
        """Tables of that name in the other schemas that may be listed, to go behind a message."""
        found = []
        for other in self.schemas():
            with suppress(ServiceUnavailable):
                tables = self.tables(tuple(other.split("."))) if other != schema else ()
                found += [f"{other}.{table}" for table in tables if table.lower() == name.lower()]
        return f"; there is {', '.join(found)}" if found else ""


@contextmanager
def answers() -> Iterator[None]:
    """Turn a catalog or object store that does not answer into ServiceUnavailable; missing names pass unchanged."""
    try:
        yield
    except _NO_SUCH_NAME:
        raise
    except RequestException as error:
        asked = urlsplit(str(error.request.url)).netloc.rpartition("@")[2] if error.request else "its address"
        raise ServiceUnavailable(
            f"the Iceberg catalog at {asked} does not answer any more ({type(error).__name__}); check that it runs, "
            "then ask again"
        ) from error
    except RESTError as error:
        raise ServiceUnavailable(f"the Iceberg catalog cannot answer: {error}; nothing was changed") from error
    except OSError as error:
        raise ServiceUnavailable(
            f"a file of the table cannot be read: {error}; check the object store, then ask again"
        ) from error
