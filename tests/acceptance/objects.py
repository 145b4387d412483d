"""A topic, a bucket's folder and the object sink between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import boto3

from frazil.clients.kafka import topics as kafka_topics
from frazil.environment.settings import Settings
from tests.connectors.samples import MINIMAL_S3_SINK
from tests.harness import MAX_MESSAGE, send

BUCKET = "objects"


@dataclass
class ObjectPipe:
    """Objects of topic `name` are below `topics/<name>/` in the bucket of the tests."""

    settings: Settings
    name: str

    @property
    def connector(self) -> str:
        return f"s3-{self.name}"

    def store(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=self.settings.s3_endpoint,
            region_name=self.settings.region,
            aws_access_key_id=self.settings.access_key,
            aws_secret_access_key=self.settings.secret_key,
        )

    def create(self, partitions: int = 2) -> ObjectPipe:
        kafka_topics.ensure_topics(
            self.settings.bootstrap_servers, {self.name: (partitions, {**MAX_MESSAGE, "retention.ms": "-1"})}
        )
        store = self.store()
        if BUCKET not in [bucket["Name"] for bucket in store.list_buckets()["Buckets"]]:
            store.create_bucket(Bucket=BUCKET)
        return self

    def config(self, **more: str) -> dict[str, str]:
        """The smallest configuration; `more` with `__` for dots."""
        base = {
            **MINIMAL_S3_SINK,
            "topics": self.name,
            "name": self.connector,
            "s3.bucket.name": BUCKET,
            "store.url": self.settings.s3_endpoint,
            "flush.size": "10",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
        return base | {name.replace("__", "."): value for name, value in more.items()}

    def send(self, records: Iterable[bytes | None], **message: Any) -> None:
        send(self.settings.bootstrap_servers, self.name, records, **message)

    def objects(self) -> dict[str, bytes]:
        """All objects by the part of their names behind the topic's folder."""
        store, prefix = self.store(), f"topics/{self.name}/"
        found: dict[str, bytes] = {}
        for page in store.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix):
            for each in page.get("Contents", ()):
                body = store.get_object(Bucket=BUCKET, Key=each["Key"])["Body"].read()
                found[each["Key"].removeprefix(prefix)] = body
        return found

    def names(self) -> list[str]:
        """Names of all objects, without the topic's folder."""
        prefix = f"topics/{self.name}/"
        pages = self.store().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [each["Key"].removeprefix(prefix) for page in pages for each in page.get("Contents", ())]

    def lines(self, partition: int | None = None) -> list[bytes]:
        """Lines of all objects, or of those of a Kafka partition in the order of their offsets."""
        found = {name.rpartition("/")[2]: data for name, data in self.objects().items()}
        chosen = sorted(name for name in found if partition is None or name.split("+")[1] == str(partition))
        return [line for name in chosen for line in found[name].splitlines()]
