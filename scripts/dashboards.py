"""Makes the dashboards of Grafana from tables of panels; `make docs` writes them to `deploy/grafana/dashboards/`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "deploy" / "grafana" / "dashboards"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}

_COLUMNS, _WIDTH, _HEIGHT = 2, 12, 8


@dataclass(frozen=True)
class Panel:
    """A panel; `queries` are expressions by legend, `unit` is Grafana's name of one."""

    title: str
    unit: str
    queries: dict[str, str]
    kind: str = "timeseries"


@dataclass(frozen=True)
class Dashboard:
    """A dashboard; `variables` are labels that one chooses by, with a metric that has all of their values."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    variables: dict[str, str]


CONNECTOR = {"connector": "frazil_connector_state"}
_C = '{connector=~"$connector"}'
_N = '{name=~"$name"}'


def _rate(metric: str, by: str = "connector") -> str:
    return f"sum by ({by}) (rate({metric}{_C}[$__rate_interval]))"


def _mean(histogram: str) -> str:
    return f"{_rate(histogram + '_sum')} / {_rate(histogram + '_count')}"


def _quantile(histogram: str) -> str:
    return f"histogram_quantile(0.95, sum by (connector, le) (rate({histogram}_bucket{_C}[$__rate_interval])))"


LAG = Panel("Records that wait", "short", {"{{connector}}": f"sum by (connector) (frazil_consumer_lag_records{_C})"})
WAIT = Panel("For how long they wait", "s", {"{{connector}}": f"max by (connector) (frazil_consumer_lag_seconds{_C})"})
STORED = Panel("Records stored", "cps", {"{{connector}}": _rate("frazil_records_stored_total")})
LETTERS = Panel("Dead letters", "cps", {"{{connector}}": _rate("kafka_connector_dlq_messages_total")})
SINCE = Panel(
    "Since the last commit",
    "s",
    {"{{connector}}": f"time() - max by (connector) (frazil_last_commit_timestamp_seconds{_C})"},
)
BATCH = Panel("Batch, 95 of 100", "s", {"{{connector}}": _quantile("frazil_batch_duration_seconds")})
AGE = Panel(
    "Age of the newest record",
    "s",
    {"{{connector}} {{table}}": (f"time() - max by (connector, table) (frazil_newest_record_timestamp_seconds{_C})")},
)


def _changes(of: str) -> Panel:
    """Changes in the database by what they are; `of` chooses source connectors."""
    return Panel(
        "Changes seen",
        "cps",
        {
            f"{{{{name}}}} {what}": "sum by (name) "
            f"(rate(debezium_metrics_TotalNumberOf{kind}EventsSeen{of}[$__rate_interval]))"
            for kind, what in (("Create", "inserts"), ("Update", "updates"), ("Delete", "deletes"))
        },
    )


DASHBOARDS = (
    Dashboard(
        "overview",
        "frazil: overview",
        (
            Panel("Connectors by state", "short", {"{{state}}": "sum by (state) (frazil_connector_state)"}, "stat"),
            Panel(
                "Firing alerts",
                "short",
                {"alerts": 'count(ALERTS{alertname=~"Frazil.*",alertstate="firing"}) or vector(0)'},
                "stat",
            ),
            LAG,
            WAIT,
            STORED,
            LETTERS,
            SINCE,
            Panel("Starts after failures", "short", {"{{connector}}": _rate("frazil_connector_restarts_total")}),
        ),
        CONNECTOR,
    ),
    Dashboard(
        "connector",
        "frazil: connector",
        (
            Panel("State", "short", {"{{connector}} {{state}}": f"frazil_connector_state{_C} == 1"}, "stat"),
            Panel(
                "Records that wait, by partition",
                "short",
                {"{{topic}}-{{partition}}": f"frazil_consumer_lag_records{_C}"},
            ),
            STORED,
            Panel(
                "Records stored by topic",
                "cps",
                {"{{topic}}": _rate("kafka_connector_topic_records_processed_total", "topic")},
            ),
            Panel("Records without a row", "cps", {"{{reason}}": _rate("frazil_records_skipped_total", "reason")}),
            Panel(
                "Dead letters by topic",
                "cps",
                {"{{topic}}": _rate("kafka_connector_topic_records_failed_total", "topic")},
            ),
            BATCH,
            Panel(
                "Where the time of a batch goes",
                "s",
                {
                    "batch": _mean("frazil_batch_duration_seconds"),
                    "files": _mean("kafka_connector_s3_write_duration_seconds"),
                    "commit": _mean("frazil_commit_duration_seconds"),
                },
            ),
            Panel("Commits", "cps", {"{{connector}}": _rate("frazil_commits_total")}),
            Panel(
                "Events in an hour",
                "short",
                {"{{connector}} {{event}}": f"sum by (connector, event) (increase(frazil_events_total{_C}[1h]))"},
            ),
            Panel("Bytes written", "Bps", {"{{connector}}": _rate("frazil_bytes_written_total")}),
        ),
        CONNECTOR,
    ),
    Dashboard(
        "tables",
        "frazil: tables",
        (
            AGE,
            Panel("Files written", "cps", {"{{connector}}": _rate("kafka_connector_s3_writes_total")}),
            Panel(
                "Bytes of a file",
                "bytes",
                {
                    "{{connector}}": " / ".join(
                        map(_rate, ("frazil_bytes_written_total", "kafka_connector_s3_writes_total"))
                    )
                },
            ),
            Panel("Commit, 95 of 100", "s", {"{{connector}}": _quantile("frazil_commit_duration_seconds")}),
            Panel(
                "Maintenance runs in a day",
                "short",
                {"{{table}} {{result}}": f"sum by (table, result) (increase(frazil_maintenance_runs_total{_C}[1d]))"},
            ),
            Panel(
                "Since the last maintenance",
                "s",
                {"{{table}}": f"time() - max by (table) (frazil_maintenance_last_run_timestamp_seconds{_C})"},
            ),
            Panel(
                "Bytes freed in a day",
                "bytes",
                {"{{table}}": f"sum by (table) (increase(frazil_maintenance_freed_bytes_total{_C}[1d]))"},
            ),
            Panel(
                "Time in maintenance",
                "s",
                {"{{table}}": f"sum by (table) (increase(frazil_maintenance_seconds_total{_C}[1d]))"},
            ),
        ),
        CONNECTOR,
    ),
    Dashboard(
        "objects",
        "frazil: object sinks",
        (
            Panel(
                "Circuit breakers",
                "short",
                {"{{connector}} {{state}}": f"frazil_circuit_breaker_state{_C} == 1"},
                "stat",
            ),
            Panel("Objects stored", "cps", {"{{connector}}": _rate("frazil_object_write_duration_seconds_count")}),
            Panel("An object, 95 of 100", "s", {"{{connector}}": _quantile("frazil_object_write_duration_seconds")}),
            Panel("An object, on average", "s", {"{{connector}}": _mean("frazil_object_write_duration_seconds")}),
            Panel("Bytes written", "Bps", {"{{connector}}": _rate("frazil_bytes_written_total")}),
            Panel(
                "Not valid by the schema",
                "cps",
                {"{{connector}}": _rate("kafka_connector_schema_validation_failures_total")},
            ),
        ),
        {"connector": "frazil_circuit_breaker_state"},
    ),
    Dashboard(
        "cdc",
        "frazil: tables that follow a database",
        (
            AGE,
            WAIT,
            _changes(""),
            Panel("Changes stored", "cps", {"{{connector}}": _rate("frazil_records_stored_total")}),
            Panel(
                "Events that came again, and tombstones",
                "cps",
                {"{{connector}} {{reason}}": _rate("frazil_records_skipped_total", "connector, reason")},
            ),
            BATCH,
            LETTERS,
        ),
        CONNECTOR,
    ),
    Dashboard(
        "sources",
        "frazil: source connectors",
        (
            Panel("Reads the database", "bool", {"{{name}} {{context}}": f"debezium_metrics_Connected{_N}"}, "stat"),
            Panel("Behind the database", "ms", {"{{name}}": f"debezium_metrics_MilliSecondsBehindSource{_N} >= 0"}),
            Panel("Log kept for the slot", "bytes", {"{{connector}} {{slot}}": "frazil_source_slot_kept_bytes"}),
            _changes(_N),
            Panel(
                "Records produced",
                "cps",
                {
                    "{{connector}}": "sum by (connector) "
                    "(rate(kafka_connect_source_task_metrics_source_record_write_total[$__rate_interval]))"
                },
            ),
            Panel(
                "Room in the queue", "short", {"{{name}} {{context}}": f"debezium_metrics_QueueRemainingCapacity{_N}"}
            ),
            Panel(
                "Tables of the snapshot that remain",
                "short",
                {"{{name}}": 'debezium_metrics_RemainingTableCount{name=~"$name",context="snapshot"}'},
            ),
            Panel("Rows of the snapshot", "short", {"{{name}} {{table}}": f"debezium_metrics_RowsScanned{_N}"}),
        ),
        {"name": "debezium_metrics_Connected"},
    ),
    Dashboard(
        "worker",
        "frazil: workers",
        (
            Panel("Memory", "bytes", {"{{instance}} {{process}}": "frazil_process_resident_memory_bytes"}),
            Panel("Open files and connections", "short", {"{{instance}} {{process}}": "frazil_process_open_fds"}),
            Panel(
                "Room on the disk", "percentunit", {"{{instance}}": "frazil_disk_free_bytes / frazil_disk_size_bytes"}
            ),
            Panel("Threads", "short", {"{{instance}} {{process}}": "frazil_process_threads"}),
            Panel(
                "Processor of the worker's own process",
                "percentunit",
                {"{{instance}}": "rate(process_cpu_seconds_total[$__rate_interval])"},
            ),
            Panel(
                "Connectors",
                "short",
                {"{{instance}}": "kafka_connect_connect_worker_metrics_connector_count"},
            ),
            Panel(
                "Calls of the catalog, registry and store, 95 of 100",
                "s",
                {
                    "{{service}} {{result}}": "histogram_quantile(0.95, sum by (service, result, le) "
                    "(rate(frazil_call_duration_seconds_bucket[$__rate_interval])))"
                },
            ),
            Panel(
                "Calls of the catalog, registry and store",
                "ops",
                {
                    "{{service}} {{result}}": "sum by (service, result) "
                    "(rate(frazil_call_duration_seconds_count[$__rate_interval]))"
                },
            ),
            Panel("Since its start", "s", {"{{instance}}": "time() - process_start_time_seconds"}),
            Panel("Kafka tells the lag", "bool", {"{{instance}}": "frazil_consumer_lag_known"}, "stat"),
        ),
        {},
    ),
)


def files() -> dict[Path, str]:
    """Text of every dashboard by its path."""
    made = {FOLDER / f"{dashboard.name}.json": _document(dashboard) for dashboard in DASHBOARDS}
    return {path: json.dumps(document, indent=1) + "\n" for path, document in made.items()}


def _document(dashboard: Dashboard) -> dict[str, Any]:
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "uid": f"frazil-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["frazil"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source, *(_variable(*pair) for pair in dashboard.variables.items())]},
        "links": [{"type": "dashboards", "tags": ["frazil"], "title": "frazil", "asDropdown": True, "keepTime": True}],
        "panels": [_panel(number, panel) for number, panel in enumerate(dashboard.panels)],
    }


def _variable(label: str, metric: str) -> dict[str, Any]:
    query = f"label_values({metric}, {label})"
    return {
        "name": label,
        "label": label.title(),
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "values"},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    row, column = divmod(number, _COLUMNS)
    return {
        "id": number + 1,
        "type": panel.kind,
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": {"h": _HEIGHT, "w": _WIDTH, "x": column * _WIDTH, "y": row * _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": letter, "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            for letter, (legend, expression) in zip(ascii_uppercase, panel.queries.items(), strict=False)
        ],
    }


def main() -> None:
    """Write the dashboards."""
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
