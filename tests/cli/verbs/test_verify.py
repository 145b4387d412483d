"""What `verify` prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.cli.ui.letter_connectors import Connectors
from frazil.cli.verbs import verify
from frazil.connectors.checks.result import RangeCheck
from frazil.errors import ConfigError, ServiceUnavailable, UsageError


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    good = RangeCheck("s3://b", "t", 0, 0, 10, 10, 1, 1, 8, 8, expected_sum="a", stored_sum="a")
    bad = RangeCheck("s3://b", "t", 1, 0, 2000, 2000, missing=list(range(12)), doubled=[3], foreign=2, notes=["why"])
    verify.show({"c": [good]})
    text = capsys.readouterr().out
    assert "0 to 10" in text and "equal" in text
    assert text.endswith(
        "Each record that was compared is stored exactly once, is a dead letter, or is left out by its connector.\n"
    )
    verify.show({"c": [good, bad]})
    text = capsys.readouterr().out
    assert "c: missing of t-1: offsets 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 …" in text
    assert "c: doubled of t-1: offsets 3\n" in text
    assert "c: 2 records of s3://b are none of the topic" in text
    assert "c: why" in text
    assert "exactly once" not in text
    verify.show({"c": [RangeCheck("db.t", "t", None, 0, 0, notes=["table db.t does not exist"])]})
    text = capsys.readouterr().out
    assert "c: table db.t does not exist\nThere was no record to compare" in text
    assert "exactly once" not in text
    verify.show({"c": [good]}, {"d": ServiceUnavailable("no answer")})
    text = capsys.readouterr().out
    assert "d could not be compared: no answer" in text
    assert "exactly once" not in text


UPSERTS = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}
NAMED_BY_RECORDS = {"iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "x", "iceberg.tables": ""}


@pytest.mark.parametrize("keys", [UPSERTS, NAMED_BY_RECORDS])
def test_a_sink_of_a_kind_that_cannot_be_compared_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, keys: dict[str, str]
) -> None:
    sink = {
        "name": "changes",
        "connector.class": "IcebergSink",
        "topics": "t",
        "iceberg.tables": "db.t",
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": "http://127.0.0.1:9",
        **keys,
    }
    monkeypatch.setattr(Connectors, "known", lambda settings, names: Connectors({"changes": sink}))
    result = CliRunner().invoke(app, ["verify"])
    assert (result.exit_code, result.exception) == (0, None)
    assert "changes is not comparable: connector changes " in result.stdout
    assert "exactly once" not in result.stdout
    [body] = json.loads(CliRunner().invoke(app, ["verify", "-o", "json"]).stdout)
    assert (body["connector"], body["complete"]) == ("changes", None)
    named = CliRunner().invoke(app, ["verify", "changes"])
    assert (named.exit_code, named.stdout) == (0, result.stdout)
    limited = CliRunner().invoke(app, ["verify", "changes", "--partition", "0", "--against", "postgres://"])
    assert isinstance(limited.exception, UsageError)


@pytest.mark.parametrize("names", [[], ["apart"]])
def test_a_sink_that_cannot_be_compared_now_is_a_failure_however_it_is_named(
    monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    def refused(*arguments: object) -> list[RangeCheck]:
        raise ConfigError("bucket b is not there")

    sink = {"connector.class": "IcebergSink", "topics": "t", "iceberg.tables": "db.t"}
    monkeypatch.setattr(Connectors, "known", lambda settings, names: Connectors({"apart": sink}))
    monkeypatch.setattr(verify, "_verified", refused)
    result = CliRunner().invoke(app, ["verify", *names])
    assert (result.exit_code, result.stdout) == (1, "apart could not be compared: bucket b is not there\n")


def test_wrong_usage(tmp_path: Path) -> None:
    env = {"KAFKA_CONNECT_URL": "http://127.0.0.1:9"}
    result = CliRunner().invoke(app, ["verify"], env=env)
    assert isinstance(result.exception, ServiceUnavailable)
    result = CliRunner().invoke(app, ["verify", "--config", str(tmp_path / "no.json")], env=env)
    assert isinstance(result.exception, UsageError)


def test_a_file_that_is_nested_too_deeply(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text('{"a":' + "[" * 100_000)
    result = CliRunner().invoke(app, ["verify", "--config", str(tmp_path / "deep.json")])
    assert isinstance(result.exception, UsageError)
    result = CliRunner().invoke(app, ["apply", "-f", str(tmp_path / "deep.json")])
    assert isinstance(result.exception, UsageError)
