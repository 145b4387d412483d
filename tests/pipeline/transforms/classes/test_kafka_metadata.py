from __future__ import annotations

from tests.pipeline.transforms.chains import ICEBERG, after, applied, chain, text


def test_coordinates_and_a_constant_become_fields() -> None:
    name = ICEBERG + "KafkaMetadataTransform"

    assert after((name, {}), b'{"a":1}') == (
        b'{"a":1,"_kafka_metadata_topic":"t","_kafka_metadata_partition":3,"_kafka_metadata_offset":42,'
        b'"_kafka_metadata_timestamp":1700000000123}'
    )
    keys = {"nested": "true", "field_name": "m", "external_field": "cluster,c1"}
    assert after((name, keys), b'{"a":1}') == (
        b'{"a":1,"m":{"topic":"t","partition":3,"offset":42,"timestamp":1700000000123,"cluster":"c1"}}'
    )
    assert after((name, {"external_field": "cluster,c1"}), b"{}", topic="u") == (
        b'{"_kafka_metadata_topic":"u","_kafka_metadata_partition":3,"_kafka_metadata_offset":42,'
        b'"_kafka_metadata_timestamp":1700000000123,"_kafka_metadata_cluster":"c1"}'
    )


def test_two_of_them_do_not_disturb_each_other() -> None:
    name = ICEBERG + "KafkaMetadataTransform"
    both = chain((name, {"field_name": "a", "nested": "true"}), (name, {"field_name": "b"}))

    made = applied(both, b"{}")

    assert made is not None
    assert text(made.value) == (
        b'{"a":{"topic":"t","partition":3,"offset":42,"timestamp":1700000000123},'
        b'"b_topic":"t","b_partition":3,"b_offset":42,"b_timestamp":1700000000123}'
    )
