from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.text.credentials import REDACTED, redact_bytes


@given(st.binary(max_size=50).filter(lambda data: b"X-Amz" not in data))
def test_bytes_without_secrets_stay_as_they_are(data: bytes) -> None:
    assert redact_bytes(data) == data


@pytest.mark.parametrize(
    "data",
    [
        b'{"Authorization": "s3cret", "a": "\xc3\xa4"}',
        b'x\xff{"cookie":["s3cret"]} trailing',
        b'{"token": "s3cret',
        b"GET /b?X-Amz-Signature=s3cret&a=\xff",
        b"",
    ],
)
def test_bytes_are_masked_whether_they_are_json_or_not(data: bytes) -> None:
    found = redact_bytes(data)
    assert b"s3cret" not in found
    assert found.count(REDACTED.encode()) == (b"s3cret" in data)
    assert (b"\xc3\xa4" in found, b"\xff" in found) == (b"\xc3\xa4" in data, b"\xff" in data)
