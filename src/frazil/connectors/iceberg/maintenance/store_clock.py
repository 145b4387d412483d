"""The clock of the object store: the age of a file is told by the clock that has stamped it, not by this machine's."""

import time
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import requests
from pyiceberg.table import Table

from frazil.errors import ServiceUnavailable, TerminalError

_TIMEOUT_S = (10.0, 30.0)
_MOST_SKEW_MS = 300_000
_SECOND_MS = 1000
"""Precision of a date in a header."""
_S3 = frozenset({"s3", "s3a", "s3n"})


def now_ms(table: Table) -> int:
    """Ask the store of a table for the time, in epoch milliseconds; this machine's where it is none that tells.

    Raises TerminalError when the clocks are more than 5 minutes apart, ServiceUnavailable when the store does not
    answer.
    """
    here = round(time.time() * 1000)
    if urlsplit(table.location()).scheme not in _S3:
        return here
    endpoint = _endpoint(table.io.properties)
    try:
        answer = requests.head(endpoint, timeout=_TIMEOUT_S, allow_redirects=False)
    except requests.RequestException as error:
        raise ServiceUnavailable(
            f"the object store at {endpoint} does not tell the time ({type(error).__name__}); nothing was done. Run "
            "maintenance again when it answers."
        ) from error
    date = answer.headers.get("Date")
    if date is None:
        return here
    there = round(parsedate_to_datetime(date).timestamp() * 1000)
    if abs(there - here) > _MOST_SKEW_MS:
        ahead = "ahead of" if here > there else "behind"
        raise TerminalError(
            f"the clock of this machine is {abs(there - here) / 1000:,.0f} s {ahead} that of the object store at "
            f"{endpoint}, so that nobody knows what is old. Nothing was done to table {'.'.join(table.name())}; set "
            "the clocks (NTP)."
        )
    return here if there <= here < there + _SECOND_MS else there


def _endpoint(properties: dict[str, str]) -> str:
    own = properties.get("s3.endpoint")
    if own:
        return own if "://" in own else f"https://{own}"
    region = properties.get("s3.region") or properties.get("client.region")
    return f"https://s3.{region}.amazonaws.com" if region else "https://s3.amazonaws.com"
