from __future__ import annotations

from frazil.pipeline.report import BatchReport
from frazil.worker.watch.active_topics import ActiveTopics


def test_topics_of_committed_batches_until_reset() -> None:
    topics = ActiveTopics()
    for topic in ("b", "a"):
        topics.observe(
            BatchReport(
                "c",
                1,
                1,
                0,
                0,
                1,
                10,
                duration_s=0.1,
                write_s=0.1,
                commit_s=0.1,
                end_offsets={(topic, 0): 1, (topic, 1): 5},
            )
        )
    assert topics.of("c") == ["a", "b"]
    assert topics.of("other") == []
    topics.reset("c")
    topics.reset("other")
    assert topics.of("c") == []
