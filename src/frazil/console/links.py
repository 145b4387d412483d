"""Addresses of pages, for names of any characters."""

from __future__ import annotations

from frazil.text.quoting import segment


def connector_link(name: str) -> str:
    """Address of a connector's page."""
    return f"/ui/connectors/{segment(name)}"


def table_link(identifier: str) -> str:
    """Address of a table's page, given as `namespace.table`; the namespace may have dots."""
    namespace, _, table = identifier.rpartition(".")
    return f"/ui/tables/{segment(namespace)}/{segment(table)}"
