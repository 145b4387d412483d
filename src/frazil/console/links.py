"""Addresses of pages, for names of any characters."""

from __future__ import annotations

from urllib.parse import quote


def segment(name: str) -> str:
    """A name as one segment of a path; "." and ".." would be folders."""
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")


def connector_link(name: str) -> str:
    """Address of a connector's page."""
    return f"/ui/connectors/{segment(name)}"


def table_link(identifier: str) -> str:
    """Address of a table's page, given as `namespace.table`; the namespace may have dots."""
    namespace, _, table = identifier.rpartition(".")
    return f"/ui/tables/{segment(namespace)}/{segment(table)}"
