"""A producer that Ctrl+C ends as it should, wherever it comes."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from confluent_kafka import KafkaException

from frazil.clients.kafka.offsets import end_offsets
from frazil.clients.kafka.producer import PolledProducer
from frazil.clients.kafka.topics import ensure_topics
from frazil.stack.local import LocalStack
from tests.waits import PATIENCE_S

_INTERRUPTED = """
import signal, sys, threading, time
from frazil.clients.kafka.producer import PolledProducer

signal.signal(signal.SIGINT, signal.default_int_handler)
threads = set()

def delivered(error, message):
    threads.add(threading.current_thread() is threading.main_thread())
    if len(seen) < 3:
        seen.append(message)
        signal.raise_signal(signal.SIGINT)

seen = []
try:
    with PolledProducer({"bootstrap.servers": sys.argv[1], "log_level": 0, "on_delivery": delivered}) as producer:
        for _ in range(1000):
            producer.produce("producer.interrupted", b"x")
        producer.wait(PATIENCE_S)
        time.sleep(10)
except KeyboardInterrupt:
    print("interrupted", threads)
"""


@pytest.mark.stack
def test_ctrl_c_while_deliveries_are_told(stack: LocalStack) -> None:
    """Raised in the callback by the signal, it would be lost there, or end the call without an exception."""
    ensure_topics(stack.settings.bootstrap_servers, {"producer.interrupted": (1, {})})
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, stack.settings.bootstrap_servers],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "interrupted {False}\n"), done.stderr


@pytest.mark.stack
def test_what_a_callback_raises_is_not_lost(stack: LocalStack) -> None:
    ensure_topics(stack.settings.bootstrap_servers, {"producer.raises": (1, {})})

    def delivered(error: object, message: object) -> None:
        raise ValueError("from the callback")

    config = {"bootstrap.servers": stack.settings.bootstrap_servers, "log_level": 0, "on_delivery": delivered}
    with pytest.raises(ValueError, match="from the callback"), PolledProducer(config) as producer:
        producer.produce("producer.raises", b"x")
        producer.produce("producer.raises", b"x")
        producer.wait(PATIENCE_S)
        time.sleep(0.5)
        producer.wait(PATIENCE_S)


@pytest.mark.stack
def test_what_is_left_is_dropped(stack: LocalStack) -> None:
    ensure_topics(stack.settings.bootstrap_servers, {"producer.dropped": (1, {})})
    config = {"bootstrap.servers": stack.settings.bootstrap_servers, "log_level": 0, "linger.ms": 60_000}
    with PolledProducer(config) as producer:
        producer.produce("producer.dropped", b"x")
        assert producer.wait(0.05) == 1
    assert sum(end_offsets(stack.settings.bootstrap_servers, ["producer.dropped"]).values()) == 0


def test_a_topic_of_a_broker_that_is_not_there() -> None:
    with (
        PolledProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}) as producer,
        pytest.raises(KafkaException),
    ):
        producer.topic("t", 0.2)
