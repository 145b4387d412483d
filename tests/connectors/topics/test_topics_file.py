"""Keys, defaults and errors of the file of YAML topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.connectors.topics.topics_file import DeltaOptions, TopicEntry, read_topics_file
from frazil.errors import ConfigError

USUAL = """\
connector:
  topics:
    user-events:
      topic-name: user-events
      schema-file: schemas/user-events-schema.json
      destination:
        bucket: production-data-lake
        prefix: events/user
        table-name: user_events
        partition-columns: ["year", "month", "day"]
      processing:
        batch-size: 2000
        flush-interval: 30
        max-retries: 5
"""


def read(folder: Path, text: str, **env: str) -> list[TopicEntry]:
    (folder / "schemas").mkdir(exist_ok=True)
    (folder / "schemas/user-events-schema.json").write_text("{}")
    file = folder / "topics.yaml"
    file.write_text(text)
    return read_topics_file(file, env)


def problem(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as error:
        read(folder, text)
    return str(error.value).replace(f"{folder}/", "")


def test_a_usual_file(tmp_path: Path) -> None:
    (entry,) = read(tmp_path, USUAL)
    assert entry == TopicEntry(
        id="user-events",
        where=f"{tmp_path}/topics.yaml:4 connector.topics.user-events",
        topic="user-events",
        schema_file=tmp_path / "schemas/user-events-schema.json",
        bucket="production-data-lake",
        prefix="events/user",
        table_name="user_events",
        partition_columns=("year", "month", "day"),
        batch_size=2000,
        flush_interval_s=30,
        max_retries=5,
    )


def test_the_other_spelling_and_defaults(tmp_path: Path) -> None:
    text = USUAL.replace("topic-name:", "kafka-topic:").replace("prefix: events/user", "path: /events/user/")
    (entry,) = read(tmp_path, text.split("      processing")[0])
    assert (entry.topic, entry.prefix) == ("user-events", "events/user")
    assert (entry.batch_size, entry.flush_interval_s, entry.max_retries) == (None, None, 3)


def test_delta_options(tmp_path: Path) -> None:
    text = "connector: {topics: {a: {topic-name: t, destination: {delta-config: %s}}}}"
    assert read(tmp_path, text % "")[0].delta == DeltaOptions()
    (entry,) = read(tmp_path, text % "{enable-optimize: no, checkpoint-interval: '5', vacuum-retention-hours: 0}")
    assert entry.delta == DeltaOptions(optimize=False, checkpoint_interval=5, vacuum_retention_hours=0)


def test_variables_of_the_environment(tmp_path: Path) -> None:
    text = "connector: {topics: {a: {topic-name: '${T}', destination: {bucket: '${B:lake}', prefix: '${env:p}'}}}}"
    (entry,) = read(tmp_path, text, T="events")
    assert (entry.topic, entry.bucket, entry.prefix) == ("events", "lake", "${env:p}")
    assert "topics.yaml:1 connector.topics.a.topic-name: variable T is not set" in problem(tmp_path, text)


def test_keys_of_the_connector_and_what_is_not_ours(tmp_path: Path) -> None:
    text = """\
spring: {application: {name: x}}
connector:
  health: {enabled: true}
  topics:
    a: &common
      topic-name: t
      connector-config:
        frazil.rotate.bytes: 1000
        errors.tolerance: none
    b:
      <<: *common
      topic-name: u
---
server: {port: 8081}
"""
    first, second = read(tmp_path, text)
    assert first.config == {"frazil.rotate.bytes": "1000", "errors.tolerance": "none"} == second.config
    assert (second.topic, second.where) == ("u", f"{tmp_path}/topics.yaml:11 connector.topics.b")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "topic-name: user-events",
            "topic: x",
            "topics.yaml:4 connector.topics.user-events.topic: there is no such key",
        ),
        ("batch-size: 2000", "batchsize: 1", "batchsize: there is no such key; did you mean batch-size?"),
        ("batch-size: 2000", "batch-size: many", "topics.yaml:12 connector.topics.user-events.processing.batch-size: "),
        ("flush-interval: 30", "flush-interval: 0", "expected a whole number of at least 1, it is '0'"),
        ("topic-name: user-events", "schema: x", "topics.yaml:4 connector.topics.user-events: topic-name is missing"),
        ("schemas/user", "schemas/no", "topics.yaml:5 connector.topics.user-events.schema-file: there is no file "),
        ("prefix: events/user", "prefix: a\n        path: b", "topics.yaml:8 connector.topics.user-events.destination"),
        ("prefix: events/user", "prefix: [a]", "destination.prefix: expected one value, it is a list"),
        ("bucket: production-data-lake", "bucket: a\n        bucket: b", "topics.yaml:8 connector.topics.user-events."),
        ('["year", "month", "day"]', "[day, day]", "partition-columns: a column is named twice"),
        ('["year", "month", "day"]', "[{}]", "partition-columns: expected texts, one of them is a mapping"),
        (
            "      processing:\n",
            "      processing: x\n      others:\n",
            "processing: expected keys and values, it is 'x'",
        ),
        ("  topics:", "  topics: [", "topics.yaml:4: "),
        ("connector:", "connectors:", "topics.yaml: there is no entry below connector.topics"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_key(tmp_path: Path, before: str, after: str, expected: str) -> None:
    found = problem(tmp_path, USUAL.replace(before, after))
    assert expected in found
    assert found.endswith("No connector was changed.")


@pytest.mark.parametrize("topic", ["..", "'a b'", "x" * 250])
def test_topics_that_kafka_cannot_have(tmp_path: Path, topic: str) -> None:
    found = problem(tmp_path, f"connector:\n  topics:\n    a: {{topic-name: {topic}}}\n")
    assert "topics.yaml:3 connector.topics.a.topic-name: Kafka's topics have names" in found


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_topics_file(tmp_path / "no.yaml", {})
    (tmp_path / "x.yaml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read_topics_file(tmp_path / "x.yaml", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\n  b: \0", "topics.yaml:2: character U+0000 cannot be in YAML."),
        ("a: " + "[" * 1500, "topics.yaml is nested too deeply."),
        ("a: &a [*a]\nconnector: *a", "topics.yaml:1 connector: expected keys and values, it is a list"),
        ("connector: {topics: {a: }}", "topics.yaml:1 connector.topics.a: topic-name is missing"),
        ("connector: {topics: {? [a] : b}}", "topics.yaml:1 connector.topics: a key is a text"),
        ("connector: !!python/object:os.system x", "expected keys and values, it is 'x'"),
        ("", "topics.yaml: there is no entry below connector.topics."),
    ],
)
def test_hostile_files(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in problem(tmp_path, text)
