"""Generates MinIO log records like the real ones, as JSON."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from frazil.minio.generators.odd import OddRecords
from frazil.minio.generators.templates import Template, templates
from frazil.minio.records.kinds import TableKind

SPAN = timedelta(minutes=10)
_SECOND = 1_000_000_000
_POOL = 4096


def records(
    kind: TableKind,
    count: int,
    seed: int | None = None,
    odd: float = 0.0,
    start: datetime | None = None,
    span: timedelta = SPAN,
    mix: Counter[str] | None = None,
) -> Iterator[bytes]:
    """Yield `count` records of one kind with increasing times.

    `odd` is the share (0 to 1) of records that a sink must not take as they are: broken, mistyped, legacy or with
    new fields. Times begin at `start` (default: `span` before now) and spread over `span`. `mix` counts what was made,
    by API name (api, error), category (audit) or oddity. The same seed and start give the same bytes.

    Raises ValueError for a count below zero or a share outside 0 to 1.
    """
    if count < 0 or not 0 <= odd <= 1:
        raise ValueError(f"count {count} must not be negative and odd {odd} must lie between 0 and 1")
    return _records(kind, count, random.Random(seed), odd, start or datetime.now(UTC) - span, span, mix)  # noqa: S311


def _records(
    kind: TableKind,
    count: int,
    rng: random.Random,
    odd: float,
    start: datetime,
    span: timedelta,
    mix: Counter[str] | None,
) -> Iterator[bytes]:
    pool = templates(kind, rng)
    timings = _timings(rng)
    oddities = OddRecords(kind, rng)
    clock = _Clock(start, max(1, int(span.total_seconds() * _SECOND) // max(1, count)))
    uniform, bits, choice = rng.random, rng.getrandbits, rng.choice
    for serial in range(count):
        template: Template = choice(pool)
        size = b"%d" % (1 + int(uniform() ** 4 * 8_388_608))
        slots = choice(timings)
        slots[b"time"] = clock.tick(uniform())
        slots[b"id"] = b"%016X" % bits(64)
        slots[b"sig"] = b"%064x" % bits(256)
        slots[b"rx"] = slots[b"tx"] = slots[b"length"] = size
        slots[b"serial"] = b"%d" % serial
        slots[b"exp"] = clock.session_end
        record = template.text % slots
        label = template.label
        if odd and uniform() < odd:
            label, record = oddities.make(record)
        if mix is not None:
            mix[label] += 1
        yield record


class _Clock:
    """Increasing instants as Go writes them: RFC 3339 in UTC, nanoseconds without trailing zeros."""

    def __init__(self, start: datetime, step_ns: int) -> None:
        self._next = int(start.timestamp()) * _SECOND + start.microsecond * 1000
        self._step = step_ns
        self._second = -1
        self._prefix = b""
        self.session_end = b""
        """Unix time of the full hour after the next one: when a session that is in use now may end."""

    def tick(self, jitter: float) -> bytes:
        """The next instant; `jitter` (0 to 1) places it within its step."""
        second, nanos = divmod(self._next + int(jitter * self._step), _SECOND)
        self._next += self._step
        if second != self._second:
            self._second = second
            self.session_end = b"%d" % ((second // 3600 + 2) * 3600)
            self._prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
        return b"%b%bZ" % (self._prefix, (b".%09d" % nanos).rstrip(b"0") if nanos else b"")


def _timings(rng: random.Random) -> list[dict[bytes, bytes]]:
    """Durations that fit together, as slots: first byte <= response, read and write within the request."""
    pool = []
    for _ in range(_POOL):
        read, first = int(rng.expovariate(1 / 40_000)), 80_000 + int(rng.expovariate(1 / 3_000_000))
        response = first + int(rng.expovariate(1 / 900_000))
        write = response - first
        pool.append(
            {
                b"ttfb": go_duration(first),
                b"read": go_duration(read),
                b"write": go_duration(write),
                b"request": go_duration(read + response),
                b"response": go_duration(response),
            }
        )
    return pool


def go_duration(nanos: int) -> bytes:
    """A duration below one minute as Go prints it: `1.5ms`, `207.1µs`, `13ns`, `0s`."""
    if nanos == 0:
        return b"0s"
    for unit, size in (("s", _SECOND), ("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
        if nanos >= size:
            whole, rest = divmod(nanos, size)
            fraction = f"{rest:0{len(str(size)) - 1}d}".rstrip("0") if size > 1 else ""
            return f"{whole}.{fraction}{unit}".encode() if fraction else f"{whole}{unit}".encode()
    raise ValueError(f"negative duration: {nanos} ns")
