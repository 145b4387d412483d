from __future__ import annotations

import pytest

from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.objects import ObjectStore
from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.connectors.objects.stored_positions import State, StoredPositions, positions_object
from frazil.declare.providers import ConfigProviders, EnvironmentProvider
from frazil.errors import ServiceUnavailable
from frazil.stack.local import LocalStack
from frazil.worker.watch.positions import ConnectorPositions
from tests.connectors.samples import MINIMAL_S3_SINK, MINIMAL_SINK
from tests.isolation import isolated_settings

PROVIDERS = ConfigProviders({"env": EnvironmentProvider({"GROUP": "mine", "PORT": "9", "HOST": "127.0.0.1"})})


def test_errors_hide_what_providers_gave(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = isolated_settings(tmp_path_factory.mktemp("home"))
    config = {**MINIMAL_SINK, "iceberg.catalog.uri": "http://${env:HOST}:${env:PORT}"}
    with pytest.raises(ServiceUnavailable) as raised:
        ConnectorPositions(settings, PROVIDERS).alter("c", config, None)
    assert "http://[hidden]:9" in str(raised.value)
    assert "127.0.0.1" not in str(raised.value)


@pytest.mark.stack
@pytest.mark.parametrize(
    ("format_", "changes", "left"),
    [
        ("io.confluent.connect.s3.format.json.JsonFormat", None, {}),
        ("io.confluent.connect.s3.format.json.JsonFormat", {("altered", 0): 0}, {"altered": "now", "other": "2"}),
        ("io.confluent.connect.s3.format.json.JsonFormat", {("altered", 0): None}, {"other": "2"}),
        ("frazil.DeltaFormat", None, {"altered": "1", "other": "2"}),
    ],
)
def test_objects_belong_to_the_topics_of_an_altered_position(
    stack: LocalStack, format_: str, changes: dict[tuple[str, int], int | None] | None, left: dict[str, str]
) -> None:
    settings = stack.settings
    kafka_topics.ensure_topics(settings.bootstrap_servers, {"altered": (1, {})})
    config = MINIMAL_S3_SINK | {
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "topics": "altered",
        "format.class": format_,
        "s3.bucket.name": "altered",
        "store.url": settings.s3_endpoint,
        "aws.access.key.id": settings.access_key,
        "aws.secret.access.key": settings.secret_key,
    }
    parsed = object_sink_config(config)
    store = ObjectStore(parsed.store)
    store.create()
    stored = StoredPositions(positions_object(parsed.layout, "c"), store, "c")
    stored.load()
    stored.keep(State(topics={"altered": "1", "other": "2"}))
    ConnectorPositions(settings, PROVIDERS).alter("c", config, changes)
    now = kafka_topics.topic_ids(settings.bootstrap_servers, ["altered"])["altered"]
    assert stored.load().topics == {topic: now if id_ == "now" else id_ for topic, id_ in left.items()}
