from __future__ import annotations

import time
from dataclasses import replace

import pytest

from frazil.worker.storage.records import Malformed, parse_config, session_record
from frazil.worker.storage.session import SessionKeys


def test_a_key_is_due_at_first_and_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = SessionKeys()
    assert keys.is_due()
    assert keys.sign(b"m") is None
    keys.learn(keys.new())
    assert not keys.is_due()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3601)
    assert keys.is_due()


def test_a_signature_is_of_its_message_and_key() -> None:
    one, other = SessionKeys(), SessionKeys()
    key = SessionKeys.new()
    one.learn(key)
    other.learn(key)
    signature = one.sign(b"message")
    assert signature is not None
    assert other.is_signed(b"message", signature)
    assert not other.is_signed(b"another", signature)
    assert not SessionKeys().is_signed(b"message", signature)
    assert not other.is_signed(b"message", "ü")
    other.learn(SessionKeys.new())
    assert other.is_signed(b"message", signature)
    other.learn(SessionKeys.new())
    assert not other.is_signed(b"message", signature)


def test_a_key_of_another_algorithm_is_left_alone() -> None:
    keys = SessionKeys()
    keys.learn(replace(SessionKeys.new(), algorithm="HmacMD5"))
    assert keys.is_due()


def test_the_record_is_that_of_kafka_connect() -> None:
    key = SessionKeys.new()
    name, value = session_record(key)
    assert name == "session-key"
    assert parse_config(name, value) == key
    assert key.key.hex() not in repr(key)
    connects = b'{"key":"AQID","algorithm":"HmacSHA256","creation-timestamp":5}'
    found = parse_config(name, connects)
    assert found == replace(key, key=bytes([1, 2, 3]), created_ms=5)
    assert parse_config(name, None) is None
    for value in (b"{}", connects.replace(b"AQID", b"A"), connects.replace(b":5", b':"5"')):
        with pytest.raises(Malformed):
            parse_config(name, value)
