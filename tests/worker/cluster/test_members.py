from __future__ import annotations

from frazil.worker.cluster.members import slots_of


def test_partitions_of_an_assignment() -> None:
    # version 1, one topic "offs" with the partitions 2 and 7, no user data
    assignment = bytes.fromhex("0001 00000001 0004 6f666673 00000002 00000002 00000007 ffffffff")
    assert slots_of(assignment) == [2, 7]
    two = bytes.fromhex("0003 00000002 0001 61 00000001 00000000 0001 62 00000001 00000005 00000000")
    assert slots_of(two) == [0, 5]


def test_a_member_without_partitions() -> None:
    assert slots_of(b"") == []
    assert slots_of(bytes.fromhex("0001 00000000 ffffffff")) == []
