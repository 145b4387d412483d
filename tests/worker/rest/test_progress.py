from __future__ import annotations

import httpx

from frazil.pipeline.report import BatchReport
from tests.worker.rest.conftest import Groups
from tests.worker.rest.requests import assert_error, create


def test_topics_until_reset_or_delete(client: httpx.Client, groups: Groups) -> None:
    create(client)
    report = BatchReport("c", 1, 1, 0, 0, 1, 1, duration_s=1, write_s=1, commit_s=1, end_offsets={("t", 0): 1})
    groups.topics.observe(report)
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": ["t"]}}
    assert client.get("/connectors/x/topics").json() == {"x": {"topics": []}}
    assert client.put("/connectors/c/topics/reset").status_code == 202
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": []}}
    groups.topics.observe(report)
    client.delete("/connectors/c")
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": []}}


def test_offsets_are_those_of_the_consumer_group(client: httpx.Client, groups: Groups) -> None:
    create(client)
    create(client, "d", consumer__override__group__id="own")
    groups.offsets = {"connect-c": {("t", 1): 7, ("t", 0): 3}, "own": {("u", 0): 1}}
    assert client.get("/connectors/c/offsets").json() == {
        "offsets": [
            {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 3}},
            {"partition": {"kafka_topic": "t", "kafka_partition": 1}, "offset": {"kafka_offset": 7}},
        ]
    }
    assert client.get("/connectors/d/offsets").json()["offsets"][0]["partition"]["kafka_topic"] == "u"
    assert_error(client.get("/connectors/x/offsets"), 404, "Connector x not found")
