"""Tables that a verb is about, and the connectors that write to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.ui.arguments import known_table
from frazil.cli.ui.worker_connectors import worker_connectors
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, NotFound, UsageError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_AT_REST = ("STOPPED", "FAILED")


def complete_tables(incomplete: str) -> list[str]:
    """Names that a shell offers for a table; none when the catalog does not answer."""
    from frazil.clients.catalog import connect
    from frazil.connectors.iceberg.table.discover import all_tables

    try:
        settings = Settings.load()
        names = [".".join(name) for name in all_tables(connect(settings.catalog_properties()))]
    except FrazilError:
        return []
    own = [name.removeprefix(f"{settings.namespace}.") for name in names]
    return [name for name in dict.fromkeys([*own, *names]) if name.startswith(incomplete)]


TableArgument = Annotated[
    str,
    typer.Argument(help="`namespace.table`, or a table of NAMESPACE_NAME.", autocompletion=complete_tables),
]


def open_table(settings: Settings, table: str) -> tuple[Catalog, Table]:
    """The catalog and a table that is there, whatever the case of its letters. Raises UsageError."""
    from frazil.clients.catalog import connect
    from frazil.connectors.iceberg.table.commit import TableBranch
    from frazil.sql.summary import known_tables

    catalog = connect(settings.catalog_properties())
    name = ".".join(known_table(table, settings.namespace, partial(known_tables, catalog)))
    return catalog, TableBranch(catalog, name, "main").load()


@dataclass(frozen=True)
class Writers:
    """Connectors of the worker, as it tells them; `unknown` says why it does not."""

    connectors: Mapping[str, Mapping[str, Any]]
    unknown: str = ""

    @classmethod
    def ask(cls, settings: Settings) -> Writers:
        """Ask the worker."""
        return cls(*worker_connectors(settings))

    def of(self, table: Table) -> dict[str, str]:
        """States of the connectors that write to a table, by name: unknown where the worker does not have them."""
        from frazil.connectors.iceberg.tools.describe import writers

        configs = {name: entry["info"]["config"] for name, entry in self.connectors.items()}
        return {name: self._state(name) for name in writers(table, configs)}

    def _state(self, name: str) -> str:
        entry = self.connectors.get(name)
        return "unknown" if entry is None else str(entry["status"]["connector"]["state"])

    def require_rest(self, table: Table, what: str) -> None:
        """Refuse a change while a connector runs that writes to the table. Raises UsageError."""
        name = ".".join(table.name())
        writing = self.of(table)
        running = [one for one, state in writing.items() if state not in (*_AT_REST, "unknown")]
        if running:
            raise UsageError(
                f"{', '.join(running)} may be writing to {name}: {what}. Nothing was changed; stop it with `stop "
                f"connector {running[0]}`, repeat this, and `resume` it."
            )
        if self.unknown and writing:
            typer.echo(f"Whether {', '.join(writing)} is writing to {name} is not known: {self.unknown}", err=True)


def told_by_catalog(act: Callable[[], object], settings: Settings, what: str) -> None:
    """Do what the catalog does, `what` in words. Raises UsageError, NotFound or what an unanswered catalog means."""
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, TableAlreadyExistsError

    from frazil.clients.catalog import catalog_errors

    with catalog_errors(settings.catalog_properties(), what):
        try:
            act()
        except NoSuchTableError:
            raise NotFound(f"{what} is too late: the table is gone already") from None
        except NoSuchNamespaceError:
            raise NotFound(f"{what} needs a namespace that is there. Nothing was changed.") from None
        except TableAlreadyExistsError:
            raise UsageError(f"{what} is not possible: there is a table of that name. Nothing was changed.") from None
