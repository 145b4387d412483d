"""Headers of messages."""

import logging
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
