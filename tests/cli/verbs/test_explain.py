"""The verb `explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.errors import ConfigError, UsageError
from frazil.stack.local import LocalStack
from tests.cli.programs import finished, program
from tests.connectors.samples import MINIMAL_SINK
from tests.connectors.sql.driver import STATEMENT


def explain(path: Path, config: dict[str, Any]) -> Result:
    file = path / "c.json"
    file.write_text(json.dumps(config))
    return CliRunner().invoke(app, ["explain", str(file)])


def test_a_connector_without_a_statement_has_no_plan(tmp_path: Path) -> None:
    result = explain(tmp_path, MINIMAL_SINK)
    assert isinstance(result.exception, UsageError)
    assert "c has no statement" in str(result.exception)


def test_a_statement_that_cannot_be_read_is_told_with_its_place(tmp_path: Path) -> None:
    result = explain(tmp_path, {**MINIMAL_SINK, **STATEMENT, "frazil.sql": "SELECT id,\n FROM t WHERE"})
    assert isinstance(result.exception, ConfigError)
    assert "line 2, column 9" in str(result.exception)


@pytest.mark.stack
def test_the_plan_is_that_of_spark(stack: LocalStack, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({**MINIMAL_SINK, **STATEMENT}))
    code, output = finished(program(stack.settings, "explain", str(file)))
    assert code == 0, output
    assert "c: id bigint, text string\n\n== Physical Plan ==" in output
    assert "MapInArrow" in output
