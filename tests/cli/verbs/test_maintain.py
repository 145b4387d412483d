from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.cli.ui.output import Output
from frazil.cli.verbs.maintain import print_results
from frazil.connectors.iceberg.maintenance.policy import Step, StepResult
from frazil.errors import UsageError

RESULTS = [
    StepResult(Step.COMPACT, "data files", 1204, 37, 5_000_000, 1.25, note="2 partitions left out"),
    StepResult(Step.EXPIRE, "", failed=True, note="the catalog is away"),
]


def test_results_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_results("n.t", RESULTS, Output.TABLE, dry_run=False)
    title, head, compact, expire = capsys.readouterr().out.splitlines()
    assert title == "n.t"
    assert head.split() == ["STEP", "OF", "BEFORE", "AFTER", "MB", "FREED", "SECONDS", "NOTE"]
    assert compact.split() == [
        "compact",
        "data",
        "files",
        "1,204",
        "37",
        "5.0",
        "1.2",
        "2",
        "partitions",
        "left",
        "out",
    ]
    assert expire.split() == ["expire", "0.0", "FAILED:", "the", "catalog", "is", "away"]


def test_a_dry_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_results("n.t", RESULTS, Output.TABLE, dry_run=True)
    assert capsys.readouterr().out.startswith("n.t: nothing was changed; this would be done")


def test_results_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_results("n.t", RESULTS, Output.JSON, dry_run=True)
    body = json.loads(capsys.readouterr().out)
    assert (body["table"], body["dry_run"]) == ("n.t", True)
    assert body["steps"][0] == {
        "step": "compact",
        "unit": "data files",
        "before": 1204,
        "after": 37,
        "bytes_removed": 5_000_000,
        "seconds": 1.2,
        "failed": False,
        "note": "2 partitions left out",
    }


def test_young_orphans_are_refused_before_anything_starts() -> None:
    result = CliRunner().invoke(app, ["maintain", "apilogs", "--orphan-days", "0.5"])
    assert isinstance(result.exception, UsageError)
    assert "younger than a day" in str(result.exception)
