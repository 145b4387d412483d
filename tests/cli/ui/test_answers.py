from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from frazil.cli.ui.answers import Answers, SqlFormat
from frazil.errors import UsageError
from frazil.sql.render import TableLook
from frazil.sql.result import Result

LOOK = TableLook()
ONE = Result(("a",), [(1,)], 0.5, types=("bigint",))


def test_a_file_holds_all_answers_and_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    answers = Answers(SqlFormat.TABLE, path)
    assert path.read_text() == "old", "nothing was answered yet"
    answers.write(ONE, LOOK)
    answers.write(Result(("long",), [("x" * 400,)]), LOOK)
    answers.close()
    assert path.read_text().count("(1 row in ") == 2
    assert "x" * 400 in path.read_text()
    assert "\x1b" not in path.read_text()


@pytest.mark.parametrize(("form", "content"), [(SqlFormat.CSV, b"a\r\n1\r\n"), (SqlFormat.JSON, b'[{"a": 1}]\n')])
def test_forms_for_programs(tmp_path: Path, form: SqlFormat, content: bytes) -> None:
    answers = Answers(form, tmp_path / "out")
    answers.write(ONE, LOOK)
    answers.close()
    assert (tmp_path / "out").read_bytes() == content


def test_parquet_takes_one_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.parquet"
    answers = Answers(SqlFormat.PARQUET, path)
    answers.write(ONE, LOOK)
    assert capsys.readouterr().err == f"1 row is in {path}\n"
    with pytest.raises(UsageError, match="holds one answer"):
        answers.check()
    assert pq.read_table(path).to_pylist() == [{"a": 1}]


@pytest.mark.parametrize("form", SqlFormat)
def test_a_file_that_cannot_be_written(tmp_path: Path, form: SqlFormat) -> None:
    with pytest.raises(UsageError, match="nosuch/out cannot be written: No such file or directory"):
        Answers(form, tmp_path / "nosuch" / "out").write(ONE, LOOK)


def test_parquet_never_goes_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match="Name a file with --output-file"):
        Answers(SqlFormat.PARQUET).check()


@pytest.mark.parametrize("form", SqlFormat)
def test_a_full_device_is_told_once(form: SqlFormat) -> None:
    answers = Answers(form, Path("/dev/full"))
    with pytest.raises(UsageError, match="/dev/full cannot be written: No space left on device"):
        answers.write(ONE, LOOK)
    answers.close()
