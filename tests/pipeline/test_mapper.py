from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.errors import ConfigError
from frazil.pipeline.mapper import installed_mappers, mapper_for, mapper_names

ORDERS = Schema(NestedField(1, "order_id", LongType()))
OTHERS = Schema(NestedField(1, "other", LongType()))
_SOURCE = """\
class Mapper:
    def __init__(self, redacting):
        self.maker, self.redacting = __name__, redacting

def mapper_for(schema, *, redact):
    return Mapper(redact) if "order_id" in schema.column_names else None
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package `orders_<name>` with one record mapper, beside those that are there."""
    monkeypatch.syspath_prepend(tmp_path)

    def add(name: str, function: str = "mapper_for") -> None:
        package = f"orders_{name}"
        (tmp_path / f"{package}.py").write_text(_SOURCE)
        described = tmp_path / f"{package}-1.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (described / "entry_points.txt").write_text(f"[frazil.record_mappers]\n{name} = {package}:{function}\n")
        installed_mappers.cache_clear()

    yield add
    installed_mappers.cache_clear()


def maker(names: list[str] | None = None, *, redact: bool = True) -> tuple[object, object]:
    found = mapper_for(ORDERS, names, redact=redact)
    return getattr(found, "maker", None), getattr(found, "redacting", None)


def test_the_first_in_the_order_of_names_that_knows_the_table_is_taken(install: Install) -> None:
    assert maker() == (None, None)
    install("zebra")
    assert maker(redact=False) == ("orders_zebra", False)
    install("antelope")
    assert maker() == ("orders_antelope", True)
    assert mapper_for(OTHERS, redact=True) is None


def test_only_those_that_are_named_are_asked(install: Install) -> None:
    install("antelope")
    install("zebra")
    assert maker(["zebra"]) == ("orders_zebra", True)
    assert maker(["minio"]) == (None, None)
    assert maker([]) == (None, None)


def test_one_that_cannot_be_loaded_is_an_error_that_names_it(install: Install) -> None:
    install("broken", "nowhere")
    with pytest.raises(ConfigError, match=r"record mapper broken \(orders_broken:nowhere\) cannot be loaded"):
        maker()
    assert maker(["minio"]) == (None, None)


def test_names_that_are_not_installed_are_refused_with_those_that_are(install: Install) -> None:
    install("zebra")
    assert mapper_names(("zebra", "minio")) is None
    assert mapper_names(()) is None
    assert mapper_names(None) is None
    assert mapper_names(("lion", "zebra")) == "No record mapper lion is installed; there are: minio, zebra"
