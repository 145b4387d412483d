"""The verb `tables` on the catalog of the stack, and in front of a worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, NestedField, StringType
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.cli.ui.table_access import complete_tables
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.connectors.iceberg.table.commit import Commit, TableBranch
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import UsageError
from frazil.stack.local import LocalStack
from tests.connectors.samples import MINIMAL_SINK
from tests.rest_worker import rest_worker

pytestmark = pytest.mark.stack
NAMESPACE = "verbs_tables"


@pytest.fixture
def catalog(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    for key, value in {**stack.settings.env, "NAMESPACE_NAME": NAMESPACE}.items():
        monkeypatch.setenv(key, value)
    catalog = connect(stack.settings.catalog_properties())
    catalog.create_namespace_if_not_exists(NAMESPACE)
    return catalog


@pytest.fixture
def orders(catalog: Catalog, request: pytest.FixtureRequest) -> Iterator[Table]:
    """A table with three rows in two snapshots, which connector `writer` has read up to offset 20."""
    name = f"{NAMESPACE}.{request.node.name.removeprefix('test_')[:40]}"
    table = catalog.create_table(
        name, Schema(NestedField(1, "id", IntegerType()), NestedField(2, "city", StringType()))
    )
    for rows, end in (([1], 10), ([2, 3], 20)):
        columns = {"id": pa.array(rows, pa.int32()), "city": pa.array(["x"] * len(rows))}
        catalog.load_table(name).append(pa.table(columns))
        place = TableBranch(catalog, name, "main")
        table = place.load()
        commit = Commit("writer", [], {("t", 0): 0}, {("t", 0): end}, KafkaIdentity("c", {"t": "id"}), None)
        place.commit(table, place.floor(table, "writer"), commit)
    yield catalog.load_table(name)
    if catalog.table_exists(name):
        catalog.drop_table(name)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["tables", *arguments])


def ok(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_looked_at(orders: Table) -> None:
    name, full = orders.name()[-1], ".".join(orders.name())
    assert full in ok("list", "-o", "name").splitlines()
    [listed] = [one for one in json.loads(ok("list", "-o", "json")) if one["table"] == full]
    assert (listed["rows"], listed["data_files"], listed["connectors"]) == (3, 2, ["writer"])
    described = json.loads(ok("describe", name, "-o", "json"))
    assert [(one["name"], one["type"]) for one in described["columns"]] == [("id", "int"), ("city", "string")]
    assert described["positions"] == [{"connector": "writer", "branch": "main", "offsets": [["t", 0, 20]]}]
    assert described["connectors"] == {"writer": "unknown"}
    shown = ok("describe", name.upper())
    assert "writer (unknown)" in shown and "position of" in shown
    snapshots = json.loads(ok("snapshots", name, "-n", "2", "-o", "json"))
    assert [one["connector"] for one in snapshots] == ["writer", None]
    assert "and 2 older ones" in ok("snapshots", name, "-n", "2")
    assert name in complete_tables(name[:4]) and full in complete_tables(full[:20])
    refused = run("describe", "nope")
    assert isinstance(refused.exception, UsageError) and "there is no table nope" in str(refused.exception)


def test_changed_only_while_its_connector_is_at_rest(
    orders: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: Catalog
) -> None:
    name = orders.name()[-1]
    with rest_worker(tmp_path) as (url, _), ConnectClient(url) as client:
        monkeypatch.setenv("KAFKA_CONNECT_URL", url)
        client.put_config("writer", {**MINIMAL_SINK, "name": "writer"})
        assert ok("alter", name, "--add", "note string", "--set", "comment=x").endswith(": changed\n")
        for arguments in (("alter", name, "--drop", "note"), ("rollback", name, "--to", "0s"), ("drop", name)):
            first = str(orders.snapshots()[0].snapshot_id)
            refused = run(*(first if one == "0s" else one for one in arguments), "--yes")
            assert "writer may be writing to" in str(refused.exception), refused.output
        refused = run("rename", name, "other")
        assert "writer may be writing to" in str(refused.exception), refused.output
        client.stop("writer")
        asked = run("alter", name, "--drop", "note")
        assert f"Drop note of {NAMESPACE}.{name}? This cannot be asked here" in str(asked.exception)
        assert "nothing was changed" in ok("alter", name, "--drop", "note", "--dry-run")
        ok("alter", name, "--drop", "note", "--rename", "city=town", "--yes")
        assert [one.name for one in catalog.load_table(orders.name()).schema().fields] == ["id", "town"]


def test_rolled_back_with_a_word_about_positions(orders: Table, catalog: Catalog) -> None:
    name, target = orders.name()[-1], str(orders.snapshots()[1].snapshot_id)
    told = ok("rollback", name, "--to", target, "--dry-run")
    assert "its position in t-0 goes back from 20 to 10: 10 records will be read and stored again" in told
    assert told.endswith("nothing was changed\n")
    assert "stays at 20: 10 records will not be read again" in ok(
        "rollback", name, "--to", target, "--keep-positions", "--dry-run"
    )
    ok("rollback", name, "--to", target, "--yes")
    now = catalog.load_table(orders.name())
    place = TableBranch(catalog, ".".join(orders.name()), "main")
    assert (now.scan().to_arrow().num_rows, place.floor(now, "writer").offsets) == (1, {("t", 0): 10})
    refused = run("rollback", name, "--to", "2020-01-01")
    assert "had no snapshot at 2020-01-01T00:00:00+00:00" in str(refused.exception)


def test_branches_tags_and_the_end(orders: Table, catalog: Catalog) -> None:
    name = orders.name()[-1]
    first = str(orders.snapshots()[0].snapshot_id)
    assert f"made at snapshot {first}" in ok("tag", name, "first", "--at", first)
    ok("branch", name, "audit")
    assert ok("refs", name, "-o", "name").split() == ["audit", "first", "main"]
    ok("branch", name, "audit", "--delete")
    ok("tag", name, "first", "--delete")
    assert ok("refs", name, "-o", "name").split() == ["main"]
    assert "its files are still at" in ok("drop", name, "--yes")
    assert not catalog.table_exists(orders.name())


def test_renamed_with_its_positions(orders: Table, catalog: Catalog) -> None:
    name = orders.name()[-1]
    new = f"{name}_new"
    assert ok("rename", name, new) == f"{NAMESPACE}.{name}: is {NAMESPACE}.{new} now\n"
    assert json.loads(ok("describe", new, "-o", "json"))["positions"][0]["connector"] == "writer"
    catalog.create_table(orders.name(), orders.schema())
    for wanted, said in ((name, "there is a table of that name"), ("nowhere.x", "")):
        refused = run("rename", new, wanted)
        assert refused.exit_code and said in str(refused.exception), refused.output
    assert catalog.table_exists((NAMESPACE, new))


def test_dropped_with_its_files(orders: Table, catalog: Catalog) -> None:
    assert ok("drop", orders.name()[-1], "--purge", "--yes").endswith(": dropped\n")
    assert not catalog.table_exists(orders.name())
