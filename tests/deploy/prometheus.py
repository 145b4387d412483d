"""A real Prometheus that scrapes a worker, and the queries of our dashboards."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml
from scripts.dashboards import DASHBOARDS

from frazil.stack.ports import unused
from tests.programs import program
from tests.waits import PATIENCE_S, eventually

QUERIES = {
    f"{dashboard.name}: {panel.title}: {legend}": (legend, expression)
    for dashboard in DASHBOARDS
    for panel in dashboard.panels
    for legend, expression in panel.queries.items()
}
"""The legends and expressions of all panels, by their place."""
OF_SOURCES = {
    place for place, (_, expression) in QUERIES.items() if place.startswith("sources: ") or "debezium" in expression
}
"""Those of source connectors, which their runtime tells."""


@dataclass(frozen=True)
class Prometheus:
    """A running one."""

    client: httpx.Client

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression of a panel gives now, for all connectors, with rates over 10 s."""
        plain = re.sub(r"\$(connector|name)\b", ".*", expression.replace("$__rate_interval", "10s"))
        answer = self.client.get("/api/v1/query", params={"query": plain})
        assert answer.status_code == 200, answer.text
        series: list[dict[str, Any]] = answer.json()["data"]["result"]
        return [one for one in series if one["value"][1] != "NaN"]

    def unanswered(self, places: Iterable[str]) -> set[str]:
        """Those of the panels that have no data, or no value of a label that their legend has."""
        return {place for place in places if not self._answers(*QUERIES[place])}

    def _answers(self, legend: str, expression: str) -> bool:
        return bool(self.ask(expression)) and set(re.findall(r"{{(\w+)}}", legend)) <= self.labels(expression)

    def labels(self, name: str) -> set[str]:
        """Labels of a metric."""
        return set().union(*(one["metric"] for one in self.ask(name))) - {"__name__"}


@contextmanager
def prometheus(folder: Path, target: str, path: str, rules: Path) -> Iterator[Prometheus]:
    """Scrapes a target each second."""
    (port,) = unused(1)
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [
            {"job_name": "frazil", "metrics_path": path, "static_configs": [{"targets": [target]}]},
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    command = [
        program("prometheus", "prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:

            def is_ready() -> bool:
                assert process.poll() is None, (folder / "prometheus.log").read_text()
                try:
                    return client.get("/-/ready").status_code == 200
                except httpx.ConnectError:
                    return False

            eventually(is_ready)
            yield Prometheus(client)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def chosen(query: str) -> tuple[str, str]:
    """Metric and label of a variable's query."""
    found = re.fullmatch(r"label_values\((\w+), (\w+)\)", query)
    assert found is not None
    return found[1], found[2]
