"""Headers of messages."""

import logging
from collections.abc import Sequence
from operator import methodcaller
from typing import Any

from confluent_kafka import Message

logger = logging.getLogger(__name__)

Headers = tuple[tuple[str, bytes | None], ...]

# Not `message.headers()`: once that is hot, Python 3.11 does not look whether the call left an error behind, which then
# comes up anywhere.
_headers = methodcaller("headers")


def headers_of(message: Message) -> Headers:
    """Names and values; none where a name is not UTF-8, which confluent-kafka cannot read."""
    try:
        found: Any = _headers(message)
    except SystemError:
        message.set_headers([])  # what it has now must not be looked at
        logger.warning(
            "%s-%s, offset %s: the name of a header is not UTF-8; the record is taken without its headers",
            message.topic(),
            message.partition(),
            message.offset(),
        )
        return ()
    return tuple(found) if found else ()


def all_headers(messages: Sequence[Message]) -> list[Headers]:
    """Names and values of each message, as `headers_of` gives them."""
    try:
        found = list(map(_headers, messages))
    except SystemError:
        return [headers_of(message) for message in messages]
    return [tuple(each) if each else () for each in found] if any(found) else [()] * len(found)
