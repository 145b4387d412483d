"""The rules for Prometheus and the metrics that they read, checked by Prometheus' own tool."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from scripts import reference
from tests.programs import program
from tests.test_docs import anchors

FOLDER = reference.ROOT / "deploy" / "prometheus"


def promtool(*arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    tool = program("promtool", "prometheus")
    return subprocess.run([tool, *arguments], input=text, capture_output=True, text=True, check=False)


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((FOLDER / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_scrapes_and_rules_are_well_formed() -> None:
    done = promtool("check", "config", "--lint=all", "--lint-fatal", FOLDER / "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_fire_for_their_cause_only() -> None:
    done = promtool("test", "rules", FOLDER / "rules.test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test_in_which_it_fires() -> None:
    tests = yaml.safe_load((FOLDER / "rules.test.yml").read_text())["tests"]
    fired = {case["alertname"] for test in tests for case in test.get("alert_rule_test", []) if case["exp_alerts"]}
    assert fired == {rule["alert"] for rule in rules() if "alert" in rule}


def test_runbooks_are_pages() -> None:
    for rule in rules():
        if "alert" in rule:
            page, _, anchor = rule["annotations"]["runbook"].partition("#")
            assert (reference.ROOT / page).exists(), rule["alert"]
            assert not anchor or anchor in anchors(Path(page)), rule["alert"]


def test_rules_read_metrics_that_there_are() -> None:
    known = set(re.findall(r"^\| `(\w+)`", reference.metrics(), re.MULTILINE))
    named = {name for rule in rules() for name in re.findall(r"(?:frazil|kafka_connector)_\w+", rule["expr"])}
    assert named
    assert named - known == set()


def test_metrics_follow_the_conventions_of_prometheus() -> None:
    done = promtool("check", "metrics", text=reference.exposition())
    complaints = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("kafka_connect_")]
    assert complaints == []  # but for names of Kafka Connect
