"""The option `--env-file`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.cli.ui.env_file import variables_of
from frazil.errors import UsageError

CONNECTOR = {
    "name": "c",
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "${TOPIC}",
    "iceberg.tables": "${NAMESPACE}.t",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://127.0.0.1:1",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "own.env"
    made.write_text("TOPIC=t\nNAMESPACE='n'\nSECRET=a$b${TOPIC}\nEMPTY=\n# a comment\n")
    return made


def test_values_are_taken_as_they_stand(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPIC", "from the environment")
    found = variables_of(file)
    assert found is not None
    assert (found["TOPIC"], found["NAMESPACE"]) == ("from the environment", "n")
    assert found["SECRET"] == "a$b${TOPIC}"
    assert "EMPTY" not in found
    assert variables_of(None) is None


def test_the_stack_s_postgres_is_known_without_a_word_in_the_file(file: Path) -> None:
    found = variables_of(file)
    assert found is not None
    assert {"AWS_RDS_ENDPOINT", "AWS_RDS_PORT", "AWS_RDS_USER"} <= found.keys()


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no such file\. Nothing was sent\."):
        variables_of(tmp_path / "none.env")
    (tmp_path / "binary.env").write_bytes(b"A=\xff\n")
    with pytest.raises(UsageError, match=r"cannot be read: .*Nothing was sent\."):
        variables_of(tmp_path / "binary.env")


def test_placeholders_of_a_connector_get_the_file_s_values(file: Path, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(CONNECTOR))
    result = CliRunner().invoke(app, ["validate", str(tmp_path / "c.json"), "--env-file", str(file)])
    assert result.exit_code == 0, result.output
    assert "c: 0 errors" in result.output


def test_a_name_that_the_file_lacks_is_named(file: Path, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps({**CONNECTOR, "topics": "${UNHEARD_OF}"}))
    result = CliRunner().invoke(app, ["validate", str(tmp_path / "c.json"), "--env-file", str(file)])
    assert isinstance(result.exception, UsageError)
    assert "UNHEARD_OF" in str(result.exception)
