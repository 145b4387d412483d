"""Checkpoints beside a table: what a manifest names, and what is removed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO

from frazil.connectors.iceberg.maintenance.stored_objects import StoredObject
from frazil.connectors.sql.checkpoint import FOLDER, Checkpoints, Manifest
from frazil.errors import PositionLost


def checkpoints(store: Path) -> Checkpoints:
    return Checkpoints(PyArrowFileIO(), store.as_uri(), "a/b")


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write(folder: Path, contents: dict[str, str]) -> None:
    for path, content in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


def test_a_manifest_has_what_is_there_behind_its_batch(tmp_path: Path) -> None:
    local, store, again = tmp_path / "local", tmp_path / "store", tmp_path / "again"
    kept = {"offsets/0": "o", "commits/0": "c", "state/0/1/1.changelog": "s"}
    write(local, {**kept, "offsets/1": "waits", "state/0/1/.1.changelog.crc": "sum"})
    found = checkpoints(store).save(local, 0, "digest")
    assert found.startswith(f"{store.as_uri()}/{FOLDER}/612f62/")
    manifest = checkpoints(store).restore(found, again)
    assert (manifest.batch, manifest.digest) == (0, "digest")
    assert files(again) == kept


@pytest.mark.parametrize(
    ("path", "at"),
    [
        ("../outside", "{folder}/0/0.avro"),
        ("/outside", "{folder}/0/0.avro"),
        ("offsets/0", "{store}/other.avro"),
        ("offsets/0", "{folder}/../../../other.avro"),
    ],
)
def test_a_manifest_names_nothing_outside_of_its_folders(tmp_path: Path, path: str, at: str) -> None:
    store = tmp_path / "store"
    made = checkpoints(store)
    places = {"folder": made.folder, "store": store.as_uri()}
    manifest = Path(made.folder.removeprefix("file://")) / "manifest.avro"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(msgspec.json.encode(Manifest(0, "d", {path: at.format(**places)})))
    with pytest.raises(PositionLost, match="no file of this state"):
        made.restore(f"{made.folder}/manifest.avro", tmp_path / "again")
    with pytest.raises(PositionLost, match="no file of this state"):
        made.restore(f"{store.as_uri()}/manifest.avro", tmp_path / "again")


def test_files_are_stored_once_and_go_when_no_kept_manifest_names_them(tmp_path: Path) -> None:
    local, store = tmp_path / "local", tmp_path / "store"
    made = checkpoints(store)
    for batch in range(6):
        write(local, {f"offsets/{batch}": "o", "metadata": "m"})
        (local / f"offsets/{batch - 2}").unlink(missing_ok=True)
        newest = made.save(local, batch, "d")
        made.tidy()
    names = sorted(f"{path.parent.name}/{path.name}" for path in store.rglob("*") if path.is_file())
    manifests = [f"{batch}/manifest.avro" for batch in (3, 4, 5)]
    assert [name for name in names if name.rpartition("/")[2] == "manifest.avro"] == manifests
    assert len(names) == len(manifests) + 5, "offsets of the batches from 2 on, and metadata"
    made.restore(newest, tmp_path / "again")
    assert files(tmp_path / "again") == {"metadata": "m", "offsets/4": "o", "offsets/5": "o"}


def test_a_file_that_was_stored_while_it_was_written_is_stored_again(tmp_path: Path) -> None:
    local, store = tmp_path / "local", tmp_path / "store"
    made = checkpoints(store)
    write(local, {"state/0/0/SSTs/a.sst": "ha"})
    made.save(local, 0, "d")
    write(local, {"state/0/0/SSTs/a.sst": "half and half", "state/0/0/1.zip": "names a.sst"})
    checkpoints(store).restore(made.save(local, 1, "d"), tmp_path / "again")
    assert files(tmp_path / "again")["state/0/0/SSTs/a.sst"] == "half and half"


def test_what_a_killed_worker_has_left_is_found_a_day_later(tmp_path: Path) -> None:
    local, store = tmp_path / "local", tmp_path / "store"
    write(local, {"offsets/0": "o"})
    checkpoints(store).save(local, 0, "d")
    made = checkpoints(store)
    made.save(local, 0, "d")
    objects = [StoredObject(path.as_uri(), 1, 1_000) for path in store.rglob("*") if path.is_file()]
    day = 24 * 3_600_000
    assert made.strays(objects, day) == []
    assert len(made.strays(objects, day + 1_001)) == 2


def test_another_run_goes_on_from_a_manifest_and_disturbs_nothing(tmp_path: Path) -> None:
    local, store, again = tmp_path / "local", tmp_path / "store", tmp_path / "again"
    write(local, {"state/1.changelog": "of the first"})
    first = checkpoints(store)
    committed = first.save(local, 0, "d")
    second = checkpoints(store)
    second.restore(committed, again)
    write(local, {"state/2.changelog": "of a zombie"})
    write(again, {"state/2.changelog": "of the second"})
    first.save(local, 1, "d")
    newest = second.save(again, 1, "d")
    checkpoints(store).restore(newest, tmp_path / "third")
    assert files(tmp_path / "third") == {"state/1.changelog": "of the first", "state/2.changelog": "of the second"}


@pytest.mark.parametrize("gone", ["manifest.avro", "0.avro"])
def test_a_file_that_is_gone_is_told_with_the_ways_on(tmp_path: Path, gone: str) -> None:
    local, store = tmp_path / "local", tmp_path / "store"
    write(local, {"state/1.changelog": "s"})
    location = checkpoints(store).save(local, 0, "d")
    next(path for path in store.rglob(gone) if path.is_file()).unlink()
    with pytest.raises(PositionLost, match=r"state of the statement is lost: .*Reset the offsets"):
        checkpoints(store).restore(location, tmp_path / "again")


def test_a_manifest_that_is_none_is_told_as_a_lost_one(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{")
    with pytest.raises(PositionLost, match=r"cannot be read"):
        checkpoints(tmp_path).restore((tmp_path / "m.json").as_uri(), tmp_path / "again")
