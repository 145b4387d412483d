"""What maintenance takes for old, and for the table's own, on stores that need no services."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from frazil.connectors.iceberg.maintenance import store_clock
from frazil.connectors.iceberg.maintenance.orphans import old_files, remove_metadata
from frazil.connectors.iceberg.maintenance.policy import DAY_MS, HOUR_MS, Policy
from frazil.errors import ServiceUnavailable, TerminalError
from tests.connectors.iceberg.driver import SIMPLE
from tests.web import Handler, served

NOW_MS = 1_800_000_000_000


class Still(Table):
    """A table that nobody changes."""

    def refresh(self) -> Table:
        return self


def table_at(location: str, properties: dict[str, str] | None = None, endpoint: str = "") -> Table:
    metadata = new_table_metadata(
        SIMPLE, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, location, dict(properties or {})
    )
    return Still(
        ("ns", "t"),
        metadata,
        f"{location}/metadata/00009.metadata.json",
        PyArrowFileIO({"s3.endpoint": endpoint}),
        NoopCatalog("none"),
    )


def put(folder: Path, name: str, age_ms: int) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    os.utime(path, ((NOW_MS - age_ms) / 1000,) * 2)
    return path.as_uri()


@pytest.fixture
def skew() -> list[float]:
    """Seconds that the clock of the store is ahead."""
    return [0.0]


@pytest.fixture
def endpoint(skew: list[float]) -> Iterator[str]:
    class Store(Handler):
        def date_time_string(self, timestamp: float | None = None) -> str:
            return formatdate(time.time() + skew[0], usegmt=True)

        def do_HEAD(self) -> None:
            self.send_response(403)
            self.end_headers()

    with served(Store) as url:
        yield url


def test_the_time_is_that_of_the_store(endpoint: str, skew: list[float]) -> None:
    skew[0] = 200
    told = store_clock.now_ms(table_at("s3://bucket/t", endpoint=endpoint))
    assert abs(told - (time.time() + 200) * 1000) < 5000


@pytest.mark.parametrize(("seconds", "what"), [(400, "behind"), (-400, "ahead of"), (-4 * 86_400, "ahead of")])
def test_a_clock_that_is_wrong_removes_nothing(endpoint: str, skew: list[float], seconds: float, what: str) -> None:
    skew[0] = seconds
    with pytest.raises(TerminalError, match=rf"the clock of this machine is [\d,]+ s {what} that of the object store"):
        store_clock.now_ms(table_at("s3://bucket/t", endpoint=endpoint))


def test_a_store_that_is_away_does_not_tell_the_time() -> None:
    with pytest.raises(ServiceUnavailable, match="does not tell the time"):
        store_clock.now_ms(table_at("s3://bucket/t", endpoint="http://127.0.0.1:9"))


def test_files_are_looked_at_where_writers_of_iceberg_put_them(tmp_path: Path) -> None:
    old = put(tmp_path, "data/old.parquet", 4 * DAY_MS)
    put(tmp_path, "data/young.parquet", 2 * DAY_MS)
    put(tmp_path, "metadata/00009.metadata.json", HOUR_MS)
    left = put(tmp_path, "metadata/left.avro", 4 * DAY_MS)
    put(tmp_path, "topics/events/partition=0/events+0+0.json", 9 * DAY_MS)
    count, files = old_files(table_at(tmp_path.as_uri()), Policy(), NOW_MS)
    assert count == 4
    assert sorted(file.location for file in files) == [old, left]


@pytest.mark.parametrize("inside", ["data/other", "data/other/deep", "metadata/other"])
def test_a_table_inside_of_another_keeps_its_files(tmp_path: Path, inside: str) -> None:
    put(tmp_path, "data/old.parquet", 4 * DAY_MS)
    put(tmp_path, f"{inside}/data/theirs.parquet", 4 * DAY_MS)
    put(tmp_path, f"{inside}/metadata/00001.metadata.json", 4 * DAY_MS)
    with pytest.raises(TerminalError, match=rf"another table has its metadata in \S+{inside}/metadata, inside of"):
        old_files(table_at(tmp_path.as_uri()), Policy(), NOW_MS)


@pytest.mark.parametrize(
    ("properties", "left"),
    [
        ({}, {9}),
        ({"write.metadata.delete-after-commit.enabled": "true"}, {9}),
        ({"write.metadata.delete-after-commit.enabled": "false"}, {5, 6, 7, 8, 9}),
        ({"write.metadata.previous-versions-max": "2"}, {7, 8, 9}),
    ],
)
def test_metadata_files_stay_that_the_table_says(tmp_path: Path, properties: dict[str, str], left: set[int]) -> None:
    for number in range(5, 10):
        put(tmp_path, f"metadata/0000{number}.metadata.json", (20 - number) * HOUR_MS)
    result = remove_metadata(table_at(tmp_path.as_uri(), properties), Policy(), NOW_MS)
    assert {int(path.name[:5]) for path in (tmp_path / "metadata").iterdir()} == left
    assert result.failed is False
