"""Addresses of pages."""

from __future__ import annotations

from frazil.console.links import connector_link, table_link


def test_names_of_any_characters_have_an_address() -> None:
    assert connector_link("a/b c?%") == "/ui/connectors/a%2Fb%20c%3F%25"
    assert connector_link("..") == "/ui/connectors/%2E%2E"


def test_the_last_part_of_an_identifier_is_the_table() -> None:
    assert table_link("a.b.orders") == "/ui/tables/a.b/orders"
