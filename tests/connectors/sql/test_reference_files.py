"""Files of the operator's folder, as a statement joins with them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from frazil.connectors.sink import Due
from frazil.connectors.sql.reference import ReferenceFiles
from frazil.engine.jobs import SparkJobs
from frazil.errors import ConfigError
from tests.connectors.iceberg.driver import TABLE, Memory
from tests.connectors.sql.driver import SqlDriver

ROWS = [{"id": 1, "text": "one"}, {"id": 2, "text": None}]


def replaced(file: Path, text: str) -> None:
    new = file.with_name("new")
    new.write_text(text)
    new.replace(file)


def test_each_form_has_its_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,one\n2,\n")
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pa.parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "c.parquet")
    files = ReferenceFiles(tmp_path)
    assert [files.read(name).to_pylist() for name in "abc"] == [ROWS] * 3


def test_one_is_read_anew_when_it_changes_with_the_columns_that_it_had(tmp_path: Path) -> None:
    file, files = tmp_path / "a.csv", ReferenceFiles(tmp_path)
    replaced(file, "id,text\n1,7\n")
    first = files.read("a")
    assert files.read("a") is first
    replaced(file, "more,text,id\nx,8,2\n")
    assert files.read("a").to_pylist() == [{"id": 2, "text": 8}]
    replaced(file, "id,text\n3,none\n")
    with pytest.raises(ConfigError, match=r"a\.csv, which cannot be read anew: .*Put it right, with the columns"):
        files.read("a")
    replaced(file, "id\n3\n")
    with pytest.raises(ConfigError, match="cannot be read anew"):
        files.read("a")


def test_lines_of_json_keep_their_columns_too(tmp_path: Path) -> None:
    file, files = tmp_path / "a.json", ReferenceFiles(tmp_path)
    replaced(file, '{"id": 1, "who": {"n": 1}}\n')
    files.read("a")
    replaced(file, '{"id": 2, "who": {"n": 5}, "more": 1}\n')
    assert files.read("a").to_pylist() == [{"id": 2, "who": {"n": 5}}]
    replaced(file, '{"id": "x"}\n')
    with pytest.raises(ConfigError, match="cannot be read anew"):
        files.read("a")


def test_numbers_that_would_lose_digits_stay_texts(tmp_path: Path) -> None:
    rows = ("00501,12345678901234567890,9223372036854775807,0.5,0.5", "12345,1,7,0.30000000000000004,9007199254740993")
    (tmp_path / "a.csv").write_text("\n".join(("zip,big,whole,fraction,half", *rows)))
    first, second = ReferenceFiles(tmp_path).read("a").to_pylist()
    assert list(first.values()) == ["00501", "12345678901234567890", 9223372036854775807, 0.5, "0.5"]
    assert list(second.values()) == ["12345", "1", 7, 0.30000000000000004, "9007199254740993"]


def test_numbers_of_json_that_would_lose_digits_stay_texts(tmp_path: Path) -> None:
    file, files = tmp_path / "a.json", ReferenceFiles(tmp_path)
    odd = (
        '{"half": 9007199254740993, "big": 12345678901234567890, "long": 9007199254740993, "in": {"n": 1.10}, "f": 1}\n'
    )
    replaced(file, odd + '{"half": 0.5, "in": {"n": 9007199254740993}, "f": 0.30000000000000004}\n{"big": null}\n')
    assert files.read("a").to_pylist() == [
        {
            "half": "9007199254740993",
            "big": "12345678901234567890",
            "long": 9007199254740993,
            "in": '{"n": 1.10}',
            "f": 1,
        },
        {"half": "0.5", "big": None, "long": None, "in": '{"n": 9007199254740993}', "f": 0.30000000000000004},
        {"half": None, "big": None, "long": None, "in": None, "f": None},
    ]
    replaced(file, '{"half": 1, "long": 2, "f": 3}\n')
    assert files.read("a").to_pylist() == [{"half": "1", "big": None, "long": 2, "in": None, "f": 3.0}]
    replaced(file, '{"f": 9007199254740993}\n')
    with pytest.raises(ConfigError, match="numbers in f would lose digits as DOUBLE"):
        files.read("a")


def test_a_file_of_json_that_has_texts_alone_is_read_anew(tmp_path: Path) -> None:
    file, files = tmp_path / "a.jsonl", ReferenceFiles(tmp_path)
    replaced(file, '{"n": 12345678901234567890}\n')
    assert files.read("a").to_pylist() == [{"n": "12345678901234567890"}]
    replaced(file, '{"n": 1}\n{"m": 2}\n')
    assert files.read("a").to_pylist() == [{"n": "1"}, {"n": None}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'{"a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n"),
        ("a.json", b'{"a": 1}\n' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000),
        ("a.jsonl", b'{"a": "\xff"}\n'),
        ("a.json", b"[1]\n"),
        ("a.csv", b"a,a\n1,2\n"),
        ("a.csv", b""),
    ],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=f"{name}, which cannot be read: .*Put it right"):
        ReferenceFiles(tmp_path).read("a")


def test_only_files_of_the_folder_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "secret.csv").write_text("id\n1\n")
    for name in ("../secret", "secret", str(tmp_path / "secret")):
        with pytest.raises(ConfigError, match="there is no such file|Nothing was read"):
            ReferenceFiles(folder).read(name)
    with pytest.raises(ConfigError, match="FRAZIL_SQL_FILES names no folder"):
        ReferenceFiles(None).read("secret")
    (folder / "a.csv").write_text("id\n1\n")
    (folder / "a.json").write_text("{}")
    with pytest.raises(ConfigError, match="2 files are named so"):
        ReferenceFiles(folder).read("a")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_a_batch_joins_with_the_file_as_it_is(one: Memory, jobs: SparkJobs, tmp_path: Path) -> None:
    replaced(tmp_path / "names.csv", "id,name\n1,one\n2,two\n")
    sql = "SELECT t.id, f.name AS text FROM t LEFT JOIN files.names f ON t.id = f.id"
    with pytest.MonkeyPatch.context() as patched:
        one[0].send("t", [json.dumps({"id": n}).encode() for n in (1, 3, 1, 2, 3)])
        driver = SqlDriver(patched, *one, {"frazil.sql": sql}, executor=jobs.of("c"), files=tmp_path)
        driver.task.step(Due({("t", 0): 2}), driver.reports.append)
        replaced(tmp_path / "names.csv", "id,name\n1,uno\n3,tre\n")
        driver.drain()
    found = sorted((row["id"], row["text"] or "") for row in driver.rows(TABLE))
    assert found == [(1, "one"), (1, "uno"), (2, ""), (3, ""), (3, "tre")]
