"""Headers of messages."""

import logging
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Message

logger = logging.getLogger(__name__)

Headers = tuple[tuple[str, bytes | None], ...]


def headers_of(message: Message) -> Headers:
    """Names and values; none where a name is not UTF-8, which confluent-kafka cannot read."""
    return all_headers([message])[0]


def all_headers(messages: Sequence[Message]) -> list[Headers]:
    """Names and values of each message, as `headers_of` gives them."""
    # Not `message.headers()`: once that is hot, Python 3.11 does not look whether the call left an error behind, which
    # then comes up anywhere.
    found: list[Any] = []
    waiting = iter(messages)
    while len(found) < len(messages):
        try:
            found.extend(map(Message.headers, waiting))
        except SystemError:
            message = messages[len(found)]
            message.set_headers([])  # what it has now must not be looked at
            found.append(None)
            logger.warning(
                "%s-%s, offset %s: the name of a header is not UTF-8; the record is taken without its headers",
                message.topic(),
                message.partition(),
                message.offset(),
            )
    return [tuple(each) if each else () for each in found]
