"""Connectors that name no access keys."""

from __future__ import annotations

import pytest

from tests.harness import Pipe, Worker, event
from tests.waits import eventually

pytestmark = pytest.mark.spark


def without_keys(pipe: Pipe) -> dict[str, str]:
    """No access keys, and no region but that of the signature."""
    left_out = ("access-key-id", "secret-access-key", "client.region")
    return {key: value for key, value in pipe.config().items() if not key.endswith(left_out)}


def test_a_connector_on_the_workers_own_catalog_needs_no_keys(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(1), event(2)])
    worker.client.put_config(pipe.connector, without_keys(pipe))

    eventually(lambda: pipe.ids() == [1, 2])

    assert not any("secret" in key for key in worker.client.config(pipe.connector))


def test_a_connector_on_another_catalog_is_told_which_keys_to_add(worker: Worker, pipe: Pipe) -> None:
    elsewhere = {"iceberg.catalog.uri": "http://127.0.0.1:9/catalog"}
    worker.client.put_config(pipe.connector, without_keys(pipe) | elsewhere)

    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    trace = worker.trace(pipe.connector)
    assert trace.startswith(
        "frazil.errors.ConfigError: the connector has no access keys for http://127.0.0.1:9/catalog"
    )
    assert "iceberg.catalog.rest.access-key-id" in trace.splitlines()[0]


@pytest.mark.parametrize("part", ["rest", "s3"])
def test_keys_that_are_refused_make_the_connector_fail(worker: Worker, pipe: Pipe, part: str) -> None:
    pipe.send([event(1)])
    worker.client.put_config(pipe.connector, pipe.config() | {f"iceberg.catalog.{part}.secret-access-key": "mistaken"})

    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    trace = worker.trace(pipe.connector)
    assert trace.startswith("frazil.errors.ConfigError: the ")
    assert "access keys" in trace.splitlines()[0]
    assert "mistaken" not in trace
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: pipe.ids() == [1])
