from __future__ import annotations

import httpx

from frazil.pipeline.report import BatchReport
from frazil.worker.watch.active_topics import ActiveTopics
from tests.worker.rest.requests import assert_error, create


def test_topics_until_reset_or_delete(client: httpx.Client, topics: ActiveTopics) -> None:
    create(client)
    report = BatchReport("c", 1, 1, 0, 0, 1, 1, duration_s=1, write_s=1, commit_s=1, end_offsets={("t", 0): 1})
    topics.observe(report)
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": ["t"]}}
    assert client.get("/connectors/x/topics").json() == {"x": {"topics": []}}
    assert client.put("/connectors/c/topics/reset").status_code == 202
    assert client.put("/connectors/x/topics/reset").status_code == 202
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": []}}
    topics.observe(report)
    client.delete("/connectors/c")
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": []}}


def test_tracking_that_is_off_is_refused(client: httpx.Client, topics: ActiveTopics) -> None:
    topics.resettable = False
    assert client.get("/connectors/c/topics").status_code == 200
    assert_error(client.put("/connectors/c/topics/reset"), 403, "Topic tracking reset is disabled.")
    topics.enabled = False
    assert_error(client.get("/connectors/c/topics"), 403, "Topic tracking is disabled.")
    assert_error(client.put("/connectors/c/topics/reset"), 403, "Topic tracking is disabled.")
