"""The tables of a connector whose records name them: those of the catalog that have its position."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import ForbiddenError, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from frazil.clients.catalog import catalog_errors
from frazil.connectors.iceberg.table.commit import OFFSETS
from frazil.connectors.iceberg.table.taken import taken_topics

_THREADS = 8


def tables_with_position(catalog: Catalog, connector: str, topics: Collection[str] = ()) -> list[str]:
    """Names of all tables of the catalog that the connector has committed to, sorted.

    With `topics` also those whose rows were taken from a database that one of these brings the changes of. Looks at
    every table that it may read. Raises ServiceUnavailable, or ConfigError when the catalog refuses to list its
    namespaces.
    """
    return [".".join(table.name()) for table in tables_of(catalog, {connector: topics})]


def tables_of(catalog: Catalog, connectors: Mapping[str, Collection[str]]) -> list[Table]:
    """The tables of any of the connectors, given with their topics; see `tables_with_position`."""
    prefixes = tuple(f"{OFFSETS}.{connector}." for connector in connectors)
    topics = {topic for each in connectors.values() for topic in each}
    return [
        table
        for table in loaded(catalog, all_tables(catalog))
        if any(name.startswith(prefixes) for name in table.properties) or not taken_topics(table).isdisjoint(topics)
    ]


def all_tables(catalog: Catalog) -> list[Identifier]:
    """Find all tables of the catalog, sorted. Raises ServiceUnavailable, or ConfigError when it refuses."""
    with catalog_errors(catalog.properties, "its tables"):
        return sorted(set(_tables(catalog, ())))


def loaded(catalog: Catalog, tables: Iterable[Identifier]) -> list[Table]:
    """Load those of the tables that are still there and may be read. Raises ServiceUnavailable or ConfigError."""

    def load(identifier: Identifier) -> Table | None:
        try:
            return catalog.load_table(identifier)
        except (NoSuchTableError, ForbiddenError):
            return None

    with catalog_errors(catalog.properties, "its tables"), ThreadPoolExecutor(_THREADS) as threads:
        return [table for table in threads.map(load, tables) if table is not None]


def existing(catalog: Catalog, names: Collection[str]) -> set[str]:
    """Find those of many names that tables of the catalog have; lists only namespaces that exist.

    Raises ServiceUnavailable, or ConfigError when the catalog refuses to list them.
    """
    listed: dict[Identifier, set[Identifier]] = {}

    def is_there(namespace: Identifier) -> bool:
        parent = namespace[:-1]
        if parent and not is_there(parent):
            return False
        if parent not in listed:
            listed[parent] = set(catalog.list_namespaces(parent))
        return namespace in listed[parent]

    found: set[str] = set()
    with catalog_errors(catalog.properties, "its tables"):
        for namespace in {tuple(name.split(".")[:-1]) for name in names}:
            with suppress(NoSuchNamespaceError):  # it was there a moment ago
                if is_there(namespace):
                    found |= {".".join(table) for table in catalog.list_tables(namespace)}
    return found.intersection(names)


def _tables(catalog: Catalog, parent: Identifier) -> Iterator[Identifier]:
    for namespace in catalog.list_namespaces(parent):
        if len(namespace) <= len(parent):  # a catalog without nested namespaces may list the same ones again
            continue
        try:
            yield from catalog.list_tables(namespace)
            yield from _tables(catalog, namespace)
        except (NoSuchNamespaceError, ForbiddenError):
            continue
