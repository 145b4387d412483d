"""Write-audit-publish on real tables."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.connectors.iceberg.table.commit import TableBranch
from frazil.connectors.iceberg.tools.publish import publish
from frazil.errors import CommitConflict, CommitStateUnknown, ConfigError, NotFound
from tests.connectors.iceberg.conftest import MakeTable
from tests.connectors.iceberg.proxy import CatalogProxy

pytestmark = pytest.mark.stack


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "text": pa.nulls(len(ids), pa.string())})


def name(table: Table) -> str:
    return ".".join(table.name())


def ids(table: Table, branch: str = "main") -> list[int]:
    head = table.refresh().metadata.snapshot_by_name(branch)
    assert head is not None
    return sorted(table.scan(snapshot_id=head.snapshot_id).to_arrow().column("id").to_pylist())


@pytest.fixture
def audited(make_table: MakeTable) -> Table:
    """A row on main, and two more, in two commits, on the branch `audit`."""
    table = make_table()
    table.append(rows(1))
    TableBranch(table.catalog, name(table), "audit").with_branch(table)
    table.refresh().append(rows(2), branch="audit")
    table.refresh().append(rows(3), branch="audit")
    return table.refresh()


def test_main_gets_all_commits_at_once(audited: Table, catalog: Catalog) -> None:
    assert ids(audited) == [1]
    done = publish(catalog, name(audited), "audit")
    assert ids(audited) == [1, 2, 3]
    assert (done.commits, done.rows, done.branch) == (2, 2, "main")
    head = audited.refresh().current_snapshot()
    assert head is not None
    assert head.snapshot_id == done.snapshot_id


def test_published_twice_nothing_happens(audited: Table, catalog: Catalog) -> None:
    publish(catalog, name(audited), "audit")
    assert publish(catalog, name(audited), "audit").commits == 0
    assert ids(audited) == [1, 2, 3]


def test_into_another_branch(audited: Table, catalog: Catalog) -> None:
    publish(catalog, name(audited), "audit", "release")
    assert (ids(audited), ids(audited, "release")) == ([1], [1, 2, 3])


def test_what_main_has_beside_is_never_lost(audited: Table, catalog: Catalog) -> None:
    audited.append(rows(9))
    with pytest.raises(ConfigError, match="main of .* has commits that audit does not have"):
        publish(catalog, name(audited), "audit")
    assert ids(audited) == [1, 9]


def test_what_is_not_there_is_named(audited: Table, catalog: Catalog) -> None:
    with pytest.raises(NotFound, match="has no branch nope: it has audit, main. Nothing was published"):
        publish(catalog, name(audited), "nope")
    with pytest.raises(NotFound, match="does not exist"):
        publish(catalog, name(audited) + "x", "audit")


def test_main_is_changed_meanwhile(audited: Table, proxy: CatalogProxy, proxied: Catalog) -> None:
    proxy.faults = ["409 before"]
    with pytest.raises(CommitConflict, match="was changed by others meanwhile. Nothing was published"):
        publish(proxied, name(audited), "audit")
    assert ids(audited) == [1]


def test_an_answer_that_is_lost(audited: Table, proxy: CatalogProxy, proxied: Catalog) -> None:
    proxy.faults = ["500 before"]
    with pytest.raises(CommitStateUnknown, match="did not confirm that main of .* was moved"):
        publish(proxied, name(audited), "audit")
    assert ids(audited) == [1]
    proxy.faults = ["close after"]
    assert publish(proxied, name(audited), "audit").commits == 2
    assert ids(audited) == [1, 2, 3]


def test_a_branch_begins_where_main_is(make_table: MakeTable) -> None:
    table = make_table()
    table.append(rows(1))
    target = TableBranch(table.catalog, name(table), "audit")
    made = target.with_branch(table.refresh())
    assert target.with_branch(made) is made
    assert (ids(table, "audit"), len(table.snapshots())) == ([1], 1)


def test_a_branch_of_a_table_without_snapshots(make_table: MakeTable, catalog: Catalog) -> None:
    table = make_table()
    TableBranch(catalog, name(table), "audit").with_branch(table)
    table.refresh().append(rows(1), branch="audit")
    assert (ids(table), ids(table, "audit")) == ([], [1])
    assert publish(catalog, name(table), "audit").commits == 1
    assert ids(table) == [1]
