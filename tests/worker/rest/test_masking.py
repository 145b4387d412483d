"""Secrets in answers of a worker that hides them, and configurations that come back with the masks."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.worker.rest.requests import create, sink
from tests.worker.watch.positions import KeptPositions

SECRETS = {
    "iceberg__catalog__s3__secret-access-key": "s3cr3t-key",
    "iceberg__catalog__uri": "http://me:s3cr3t-login@127.0.0.1:1/",
    "iceberg__catalog__header__Authorization": "Bearer s3cr3t-bearer",
    "consumer__override__sasl__jaas__config": 'x.Module required username="u" password="s3cr3t-jaas";',
    "iceberg__catalog__token": "${env:TOKEN}",
}


@pytest.fixture
def masking(herder: Herder) -> Iterator[httpx.Client]:
    info = WorkerInfo("cluster-1", KeptPositions(), ActiveTopics(), Loggers())
    server = serve(rest_app(herder, info, masks=True), "127.0.0.1", 0, "KAFKA_CONNECT_PORT")
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        yield client
    server.stop()


def test_no_answer_has_a_secret(masking: httpx.Client) -> None:
    config = sink("c", **SECRETS)
    answers = [
        masking.post("/connectors", json={"name": "c", "config": config}),
        masking.put("/connectors/c/config", json=config),
        masking.patch("/connectors/c/config", json={"tasks.max": "2"}),
        masking.put("/connector-plugins/IcebergSinkConnector/config/validate", json=config),
        *(
            masking.get(path)
            for path in ("/connectors?expand=info", "/connectors/c", "/connectors/c/config", "/connectors/c/tasks")
        ),
    ]
    assert [answer.status_code for answer in answers] == [201, *[200] * 7]
    assert "s3cr3t" not in "".join(answer.text for answer in answers)
    shown = masking.get("/connectors/c/config").json()
    assert shown["iceberg.catalog.s3.secret-access-key"] == "[hidden]"
    assert shown["iceberg.catalog.uri"] == "http://me:[hidden]@127.0.0.1:1/"
    assert shown["iceberg.catalog.token"] == "${env:TOKEN}"
    assert shown["topics"] == config["topics"]


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_masks_that_come_back_keep_what_is_stored(masking: httpx.Client, herder: Herder, method: str) -> None:
    create(masking, **SECRETS)
    before = dict(herder.info("c").config)
    shown = masking.get("/connectors/c/config").json()
    shown["iceberg.catalog.s3.secret-access-key"] = "a-new-one"
    assert masking.request(method, "/connectors/c/config", json=shown).status_code == 200
    assert herder.info("c").config == {**before, "iceberg.catalog.s3.secret-access-key": "a-new-one"}


def test_masks_of_nothing_that_is_stored_are_refused(masking: httpx.Client) -> None:
    hidden = sink("c", **{"iceberg__catalog__s3__secret-access-key": "[hidden]"})
    answers = [
        masking.post("/connectors", json={"name": "c", "config": hidden}),
        masking.put("/connectors/c/config", json=hidden),
    ]
    create(masking)
    answers.append(masking.patch("/connectors/c/config", json={"iceberg.catalog.uri": "http://me:[hidden]@other/"}))
    for answer in answers:
        assert answer.status_code == 400
        assert "Nothing was changed; send the value itself." in answer.json()["message"]


def test_without_the_key_everything_is_as_it_was_sent(client: httpx.Client) -> None:
    config = sink("c", **{"iceberg__catalog__s3__secret-access-key": "[hidden]", "iceberg__catalog__token": "s3cr3t"})
    assert client.put("/connectors/c/config", json=config).status_code == 201
    assert client.get("/connectors/c/config").json() == config
