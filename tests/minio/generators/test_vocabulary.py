from __future__ import annotations

from frazil.minio.generators import vocabulary as words


def test_enumerations_are_complete() -> None:
    assert len(set(words.CATEGORIES)) == 20
    assert len(set(words.ACTIONS)) == 14
    assert len(words.DETAILS) == 18
    assert len(set(words.ORIGINS)) == 8
    assert {call.type for call in words.CALLS} == {"object", "bucket", "admin", "auth", "table"}


def test_every_category_has_an_arm_and_every_arm_a_category() -> None:
    assert set(words.ARMS) == set(words.CATEGORIES)
    assert {arm for arms in words.ARMS.values() for arm in arms} == set(words.DETAILS)


def test_a_quota_can_exceed_a_long() -> None:
    quota = words.DETAILS["bucketQuota"]["quotaSize"]
    assert isinstance(quota, int)
    assert quota > 2**63
