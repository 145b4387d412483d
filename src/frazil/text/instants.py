"""Instants that others have chosen, in epoch milliseconds: any whole number, also beyond every calendar."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(epoch_ms: int) -> datetime | None:
    """Give the time in UTC; None outside of the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(milliseconds=epoch_ms)
    except OverflowError:
        return None


def shown(epoch_ms: int) -> str:
    """Write the time in ISO 8601, in whole seconds of UTC; outside of the years 1 to 9999 the number with its unit."""
    moment = instant(epoch_ms)
    return f"{epoch_ms} ms" if moment is None else moment.isoformat(timespec="seconds")
