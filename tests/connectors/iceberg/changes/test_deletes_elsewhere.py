"""Tables with our position deletes as others read them: Iceberg's Spark runtime, Trino, PyIceberg, the embedded engine.

And what maintenance makes of them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table

from frazil.connectors.iceberg.changes.merge import MERGE_MODE
from frazil.connectors.iceberg.maintenance.policy import Policy, Step
from frazil.connectors.iceberg.maintenance.run import Maintenance
from frazil.connectors.iceberg.spark.runtime import IcebergRuntime, quoted
from frazil.environment.settings import Settings
from frazil.sql.engine import Engine
from frazil.sql.trino import TrinoEngine
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.changes.test_merge import BY_CITY, PEOPLE, Applier, delete, people, put
from tests.connectors.iceberg.conftest import MakeTable

KEYS, ROUNDS = 60, 12
ON_READ = {MERGE_MODE: "merge-on-read"}


def changed_again_and_again(table: Table, seed: int) -> dict[int, str]:
    """Rows that are put, moved to other cities and deleted, by two tasks at once; what there is of them in the end."""
    chance = random.Random(seed)
    apply = Applier(table)
    expected: dict[int, str] = {}
    for round_ in range(ROUNDS):
        changes = []
        for key in chance.sample(range(KEYS), 20 if round_ else KEYS):
            if chance.random() < 0.25 and round_:
                changes.append(delete(id=key))
                expected.pop(key, None)
            else:
                name = f"{key} of round {round_}"
                changes.append(put(id=key, name=name, city=chance.choice(["Graz", "Linz", "Wien", None])))
                expected[key] = name
        apply(changes[::2], changes[1::2])
    return expected


def delete_files(table: Table) -> int:
    """Also those that belong to no data file any more."""
    head = table.refresh().current_snapshot()
    assert head is not None
    manifests = [found for found in head.manifests(table.io) if found.content is ManifestContent.DELETES]
    return sum(len(found.fetch_manifest_entry(table.io)) for found in manifests)


def by_spark(runtime: IcebergRuntime, properties: Mapping[str, str], table: Table) -> dict[int, str]:
    name = quoted(runtime.catalog(properties), ".".join(table.name()))
    frame = runtime.session.table(name).select("id", "name")
    found = [(row.getLong(0), row.getString(1)) for row in frame._jdf.collectAsList()]  # noqa: SLF001
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.mark.spark
@pytest.mark.parametrize("partitioned", [pytest.param(False, marks=pytest.mark.faults), True])
def test_spark_and_the_embedded_engine_see_what_pyiceberg_sees(
    runtime: IcebergRuntime, stack: LocalStack, make_table: MakeTable, partitioned: bool
) -> None:
    table = make_table(PEOPLE, BY_CITY, ON_READ) if partitioned else make_table(PEOPLE, properties=ON_READ)
    expected = changed_again_and_again(table, 3)
    assert delete_files(table) > 1
    assert people(table) == expected
    assert by_spark(runtime, stack.settings.catalog_properties(), table) == expected
    namespace, name = table.name()
    [answer] = Engine(table.catalog, stack.settings.warehouse, namespace).run(f'SELECT id, name FROM "{name}"')  # noqa: S608
    assert dict(answer.rows) == expected


@pytest.mark.spark
@pytest.mark.faults
def test_maintenance_folds_deletes_into_the_files(
    runtime: IcebergRuntime, stack: LocalStack, make_table: MakeTable
) -> None:
    table = make_table(PEOPLE, BY_CITY, ON_READ)
    expected = changed_again_and_again(table, 4)
    before = delete_files(table)
    properties = stack.settings.catalog_properties()
    policy = Policy(steps=frozenset({Step.COMPACT, Step.MANIFESTS, Step.EXPIRE}), hot_ms=0, keep_ms=0, keep_snapshots=1)
    compacted, *_ = Maintenance(runtime, properties).run(".".join(table.name()), policy)
    assert not compacted.failed
    assert people(table) == expected
    assert by_spark(runtime, properties, table) == expected
    assert not any(task.delete_files for task in table.refresh().scan().plan_files())
    assert delete_files(table) <= before // 10
    Applier(table)([put(id=1, name="later", city="Graz"), delete(id=2)])
    assert people(table) == {key: name for key, name in expected.items() if key != 2} | {1: "later"}


@pytest.mark.trino
@pytest.mark.parametrize("partitioned", [pytest.param(False, marks=pytest.mark.faults), True])
def test_trino_sees_what_pyiceberg_sees(trino: Settings, make_table: MakeTable, partitioned: bool) -> None:
    table = make_table(PEOPLE, BY_CITY, ON_READ) if partitioned else make_table(PEOPLE, properties=ON_READ)
    expected = changed_again_and_again(table, 5)
    namespace, name = table.name()
    [answer] = TrinoEngine(Settings({**trino.env, "NAMESPACE_NAME": namespace})).run(f"SELECT id, name FROM {name}")  # noqa: S608
    assert dict(answer.rows) == expected
