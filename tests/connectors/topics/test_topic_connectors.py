"""The connectors that entries of a topics file become."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.connectors.topics.topic_connectors import ENTRY_KEY, topic_connectors
from frazil.environment.settings import Settings
from frazil.errors import ConfigError


def made(folder: Path, text: str, **env: str) -> dict[str, dict[str, str]]:
    (folder / "topics.yaml").write_text(text)
    return topic_connectors(folder / "topics.yaml", Settings(env))


def test_a_usual_entry(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("{}")
    text = """\
connector:
  topics:
    users:
      topic-name: user-events
      schema-file: schema.json
      destination:
        bucket: lake
        prefix: events/user
        partition-columns: [region, year, month, day]
      processing: {batch-size: 2000, flush-interval: 30, max-retries: 5}
"""
    config = made(tmp_path, text)["users"]
    assert (config["name"], config[ENTRY_KEY]) == ("users", "users")
    sink = object_sink_config(config)
    assert (sink.topics, sink.store.bucket, sink.store.retries) == (("user-events",), "lake", 5)
    assert (sink.layout.topics_dir, sink.layout.topic_folder) == ("events/user", False)
    assert (sink.rotation.flush_size, sink.rotation.schedule_ms) == (2000, 30_000)
    assert (sink.partitioning.kind, sink.partitioning.fields) == ("Column", ("region", "year", "month", "day"))
    assert (sink.partitioning.extractor, sink.partitioning.zone) == ("Record", "UTC")
    assert (sink.errors_tolerance, sink.dead_letter_topic, sink.dead_letter_headers) == ("all", None, True)
    assert sink.json_schema is not None
    assert (sink.json_schema.file, sink.json_schema.compatibility) == (tmp_path / "schema.json", "BACKWARD")


def test_the_example_of_the_pages() -> None:
    (config,) = topic_connectors(Path("docs/examples/topics.yaml"), Settings({})).values()
    assert object_sink_config(config).store.endpoint == "http://127.0.0.1:9000"


def test_what_the_environment_says(tmp_path: Path) -> None:
    text = "connector: {topics: {a: {topic-name: t}}}"
    config = made(tmp_path, text)["a"]
    assert (config["s3.bucket.name"], config["s3.region"]) == ("test-data-lake", "us-east-1")
    assert (config["store.url"], config["flush.size"]) == ("http://127.0.0.1:9000", "1000")
    assert config["rotate.schedule.interval.ms"] == "60000"
    env = {"S3_BUCKET_NAME": "b", "S3_REGION": "eu-west-1", "S3_ENDPOINT_URL": "http://minio:9000/"}
    config = made(tmp_path, text, BATCH_SIZE="5000", FLUSH_INTERVAL="30", **env)["a"]
    assert (config["s3.bucket.name"], config["s3.region"]) == ("b", "eu-west-1")
    assert (config["store.url"], config["flush.size"]) == ("http://minio:9000", "5000")
    assert config["rotate.schedule.interval.ms"] == "30000"
    assert made(tmp_path, text, AWS_REGION="us-west-1")["a"]["s3.region"] == "us-west-1"
    with pytest.raises(ConfigError, match="BATCH_SIZE=x: expected a whole number"):
        made(tmp_path, text, BATCH_SIZE="x")


def test_keys_of_the_connector_win_and_a_wrong_one_names_its_entry(tmp_path: Path) -> None:
    text = "connector:\n  topics:\n    a:\n      topic-name: t\n      connector-config: {flush.size: %s}\n"
    assert made(tmp_path, text % "7")["a"]["flush.size"] == "7"
    with pytest.raises(
        ConfigError, match=r"topics.yaml:4 connector.topics.a: (?s:.*)Invalid value x for .* flush.size"
    ):
        made(tmp_path, text % "x")


@pytest.mark.parametrize("other", ["{prefix: '/'}", "{bucket: test-data-lake}"])
def test_entries_that_would_store_the_same_objects(tmp_path: Path, other: str) -> None:
    text = f"connector:\n  topics:\n    a: {{topic-name: t}}\n    b: {{topic-name: t, destination: {other}}}\n"
    with pytest.raises(ConfigError, match=r"topics.yaml:4 connector.topics.b: topic, bucket and prefix are those of"):
        made(tmp_path, text)
