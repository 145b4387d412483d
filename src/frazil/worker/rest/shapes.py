"""JSON shapes of connectors, tasks and statuses."""

from __future__ import annotations

from frazil.connectors.keys.versions import VERSION
from frazil.worker.lifecycle.status import ConnectorInfo, ConnectorStatus, TaskStatus


def info_json(info: ConnectorInfo) -> dict[str, object]:
    """Configuration, tasks and type of a connector."""
    return {
        "name": info.name,
        "config": dict(info.config),
        "tasks": [{"connector": info.name, "task": number} for number in range(info.tasks)],
        "type": info.type,
    }


def status_json(status: ConnectorStatus) -> dict[str, object]:
    """Status of a connector with its tasks; all values inside `connector` are strings."""
    connector = {"state": status.state, "worker_id": status.worker_id, "version": VERSION}
    return {
        "name": status.name,
        "connector": {**connector, "trace": status.trace} if status.trace else connector,
        "tasks": [task_json(task) for task in status.tasks],
        "type": status.type,
    }


def task_json(task: TaskStatus) -> dict[str, object]:
    """Status of one task."""
    body: dict[str, object] = {
        "id": task.id,
        "state": task.state,
        "worker_id": task.worker_id,
        "version": VERSION,
    }
    return {**body, "trace": task.trace} if task.trace else body
