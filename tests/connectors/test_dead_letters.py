"""What a connector tells when a bad record stops it."""

from __future__ import annotations

from frazil.connectors.iceberg.batch import bad_record_message
from frazil.pipeline.letters.deadletter import DeadLetter


def letter(partition: int, offset: int) -> DeadLetter:
    return DeadLetter("orders", partition, offset, 5, None, b"{", (), "", "the value is not JSON")


def test_the_way_behind_the_first_bad_record_of_each_partition_is_told() -> None:
    text = bad_record_message([letter(1, 9), letter(0, 500), letter(1, 7)], "my-orders")
    assert (
        "To leave out what is named here and nothing else: `stop connector my-orders`, `offsets set my-orders "
        "orders:1=8 orders:0=501` (with --dry-run it shows what that does), `resume connector my-orders`."
    ) in text
    assert "orders-1@9" not in text
