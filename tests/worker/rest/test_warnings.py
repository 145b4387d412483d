"""Warnings in the header of answers."""

from __future__ import annotations

import re
from urllib.parse import unquote

import httpx

from tests.worker.rest.requests import sink

PLUGIN = "/connector-plugins/IcebergSinkConnector/config/validate"
MISSPELT = "iceberg.tabels is not a key of this connector and has no effect; did you mean iceberg.tables?"


def warnings(answer: httpx.Response) -> list[str]:
    return [unquote(text) for text in re.findall(r'299 frazil "([^"]*)"', answer.headers.get("warning", ""))]


def test_a_misspelt_key_is_told_by_each_answer_about_the_configuration(client: httpx.Client) -> None:
    config = sink("c", **{"iceberg__tabels": "a.b", 'ü"x': "1"})
    answers = [
        client.put(PLUGIN, json=config),
        client.post("/connectors", json={"name": "c", "config": config}),
        client.put("/connectors/c/config", json=config),
        client.patch("/connectors/c/config", json={"tasks.max": "2"}),
        client.get("/connectors/c"),
    ]
    for answer in answers:
        assert answer.status_code in (200, 201)
        assert MISSPELT in warnings(answer)
        assert 'ü"x is not a key of this connector and has no effect' in warnings(answer)


def test_a_right_configuration_has_none_and_many_are_bounded(client: httpx.Client) -> None:
    assert warnings(client.put(PLUGIN, json=sink("c"))) == []
    config = sink("c", **{f"{'x' * 3000}{number}": "1" for number in range(200)})
    answer = client.put("/connectors/c/config", json=config)
    assert answer.status_code == 201
    assert len(warnings(answer)) == 20
    assert len(answer.headers["warning"]) < 16_000
