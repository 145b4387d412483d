"""The verb `status`: services, connectors with tasks and lag, last commit of each table."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from frazil.cli.stack import services
from frazil.clients import kafka
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.config.framework import group_id
from frazil.config.settings import Settings
from frazil.errors import FrazilError
from frazil.stack.service import Status


class Output(StrEnum):
    """How status is printed."""

    TABLE = "table"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command()(status)


def status(
    output: Annotated[Output, typer.Option("--output", "-o", help="For people or for programs.")] = Output.TABLE,
) -> None:
    """Show services, connectors, lag and last commits; exit code 1 when something is down."""
    settings = Settings.load()
    found = {"services": _services(settings), **_connectors(settings)}
    if output is Output.JSON:
        typer.echo(json.dumps(found, indent=2))
    else:
        _print(found)
    if not _all_up(found):
        raise typer.Exit(1)


def _services(settings: Settings) -> list[dict[str, Any]]:
    own = {service.name: service for service in services(settings)}
    addresses = {
        "seaweedfs": settings.s3_endpoint,
        "kafka": settings.bootstrap_servers,
        "worker": settings.connect_url,
    }
    rows = []
    for name, address in addresses.items():
        if name in own:
            state = own[name].state()
            rows.append(
                {
                    "name": name,
                    "address": address,
                    "state": state.status.value,
                    "pid": state.pid,
                    "reason": state.reason,
                }
            )
        else:
            rows.append({"name": name, "address": address, "state": "external", "pid": None, "reason": ""})
    return rows


def _connectors(settings: Settings) -> dict[str, Any]:
    """Connectors and tables, or the reason why they are not known."""
    result: dict[str, Any] = {"connectors": [], "tables": [], "errors": []}
    tables: dict[str, None] = {}
    try:
        with ConnectClient(settings.connect_url) as client:
            for name in client.connectors():
                config, state = client.config(name), client.status(name)
                result["connectors"].append(
                    {
                        "name": name,
                        "state": state["connector"]["state"],
                        "tasks": [task["state"] for task in state["tasks"]],
                        "lag": _lag(settings, name, config, result["errors"]),
                        "trace": state["connector"].get("trace", "").partition("\n")[0],
                    }
                )
                tables |= dict.fromkeys(t.strip() for t in config.get("iceberg.tables", "").split(",") if t.strip())
    except FrazilError as error:
        result["errors"].append(str(error))
    if tables:
        result["tables"] = _tables(settings, list(tables), result["errors"])
    return result


def _lag(settings: Settings, name: str, config: dict[str, str], errors: list[str]) -> int | None:
    topics = [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()]
    if not topics:
        return None
    try:
        return sum(kafka.lag(settings.bootstrap_servers, topics, group_id(name, config)).values())
    except FrazilError as error:
        errors.append(str(error))
        return None


def _tables(settings: Settings, names: list[str], errors: list[str]) -> list[dict[str, Any]]:
    from pyiceberg.exceptions import RESTError
    from requests.exceptions import RequestException

    rows = []
    try:
        catalog = connect(settings.catalog_properties())
        for name in names:
            snapshot = catalog.load_table(name).current_snapshot()
            summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
            rows.append(
                {
                    "name": name,
                    "rows": int(summary.get("total-records", 0)),
                    "snapshot": snapshot.snapshot_id if snapshot else None,
                    "last_commit": _time(snapshot.timestamp_ms) if snapshot else None,
                }
            )
    except (FrazilError, RESTError, RequestException) as error:
        errors.append(f"tables: {error}")
    return rows


def _time(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="seconds")


def _all_up(found: dict[str, Any]) -> bool:
    running = (Status.RUNNING.value, "external")
    return (
        not found["errors"]
        and all(service["state"] in running for service in found["services"])
        and all(c["state"] != "FAILED" and "FAILED" not in c["tasks"] for c in found["connectors"])
    )


def _print(found: dict[str, Any]) -> None:
    console = Console()
    parts = Table("service", "state", "address", "pid", box=None, pad_edge=False)
    for row in found["services"]:
        state = f"{row['state']} ({row['reason']})" if row["reason"] else row["state"]
        parts.add_row(row["name"], state, row["address"], str(row["pid"] or ""))
    console.print(parts)
    if found["connectors"]:
        connectors = Table("connector", "state", "tasks", "lag", box=None, pad_edge=False)
        for row in found["connectors"]:
            lag = "?" if row["lag"] is None else f"{row['lag']:,}"
            connectors.add_row(row["name"], row["state"], " ".join(row["tasks"]) or "-", lag)
        console.print()
        console.print(connectors)
    if found["tables"]:
        tables = Table("table", "rows", "last commit", "snapshot", box=None, pad_edge=False)
        for row in found["tables"]:
            tables.add_row(row["name"], f"{row['rows']:,}", row["last_commit"] or "never", str(row["snapshot"] or "-"))
        console.print()
        console.print(tables)
    for row in found["connectors"]:
        if row["trace"]:
            console.print(f"\n{row['name']}: {row['trace']}", markup=False, highlight=False)
    for error in found["errors"]:
        console.print(f"\n{error}", markup=False, highlight=False, style="red")
