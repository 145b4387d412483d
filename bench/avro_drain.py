"""Avro from a registry beside JSON, and beside Kafka Connect with Apicurio's converter: the same orders into tables."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Literal, get_args

from bench.avro import SCHEMA, as_avro, as_json, orders
from bench.drain import summarise, wait_for_rows
from bench.environment import Show, running, with_home
from bench.load import fill
from bench.peer import peer_service
from bench.results import Drain
from bench.sampling import TreeSampler
from bench.sql import orders_table
from bench.systems import FRAZIL, PEER_1, Connector, System, control_topic
from bench.tables import WatchedTable
from frazil.clients.connect import ConnectClient
from frazil.clients.registry.access import RegistryAccess
from frazil.clients.registry.client import RegistryClient
from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.jars import AVRO_CONVERTER

Way = Literal["frazil-avro", "peer-avro", "frazil-json"]
WAYS: tuple[Way, ...] = get_args(Way)
SYSTEMS: dict[Way, System] = {
    "frazil-avro": replace(FRAZIL, title="frazil, Avro"),
    "peer-avro": replace(
        PEER_1,
        title="Kafka Connect, 1 task, Avro",
        worker=lambda settings: peer_service(settings, converters=(AVRO_CONVERTER,)),
    ),
    "frazil-json": replace(FRAZIL, title="frazil, the same records as JSON"),
}
_TOPICS = {"avro": "bench-orders-avro", "json": "bench-orders-json"}
_SLOWEST_RATE = 1_000


def fill_topics(settings: Settings, count: int, show: Show) -> None:
    """Put the orders into a topic as Avro, with their schema in the registry, and into another as JSON."""
    with_schema = RegistryClient(RegistryAccess((settings.registry_url,)))
    number = with_schema.register(f"{_TOPICS['avro']}-value", json.dumps(SCHEMA))
    fill(settings, _TOPICS["avro"], as_avro(orders(count), number), count, show)
    fill(settings, _TOPICS["json"], map(as_json, orders(count)), count, show)


def measure(settings: Settings, way: Way, records: int, run: str, show: Show) -> Drain:
    """Store the records one way. Raises FrazilError when it fails or does not finish in time."""
    system = SYSTEMS[way]
    table = WatchedTable(orders_table(settings, run.replace("-", "_")))
    service = system.worker(with_home(settings, settings.home / "workers" / run))
    config = sink_config(settings, way, table.identifier, run)
    with (
        running(service, show) as process,
        ConnectClient(settings.connect_url) as client,
        TreeSampler(process) as sampler,
    ):
        connector = Connector(client, settings, run)
        begin = time.time()
        connector.deploy(config)
        wait_for_rows(connector, table, records, records / _SLOWEST_RATE + 120, show)
        sampler.take()
    return replace(summarise(system, records, begin, table, sampler), rows=table.count())


def sink_config(settings: Settings, way: Way, table: str, run: str) -> dict[str, str]:
    """The connector of one way; those for Avro differ in what `System.overrides` has."""
    converter = {
        "value.converter": "io.apicurio.registry.utils.converter.AvroConverter",
        "value.converter.apicurio.registry.url": f"http://{LOOPBACK}:{settings.registry_port}/apis/registry/v2",
        "value.converter.apicurio.registry.id-handler": "io.apicurio.registry.serde.Legacy4ByteIdHandler",
    }
    plain = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    return {
        "connector.class": "IcebergSink",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "topics": _TOPICS["json" if way == "frazil-json" else "avro"],
        "iceberg.tables": table,
        "iceberg.control.topic": control_topic(run),
        "iceberg.control.commit.interval-ms": "10000",
        "iceberg.control.commit.timeout-ms": "60000",
        **{f"iceberg.catalog.{name}": text for name, text in settings.catalog_properties().items()},
        **(plain if way == "frazil-json" else converter),
        **dict(SYSTEMS[way].overrides),
    }
