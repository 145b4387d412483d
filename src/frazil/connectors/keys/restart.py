"""Keys for how a connector is started again by itself when a part that it needs does not answer."""

from collections.abc import Mapping
from dataclasses import dataclass

from frazil.declare.definition import Key, parse_value
from frazil.declare.validators import at_least

_ATTEMPTS = "frazil.restart.attempts"
_WAIT, _LONGEST_WAIT = "frazil.restart.backoff.ms", "frazil.restart.backoff.max.ms"
WAIT_OF_S3_SINK = "retry.backoff.ms"
_SHORTEST_MS = 100

RESTART_KEYS: tuple[Key, ...] = (
    Key(
        _ATTEMPTS,
        "INT",
        "How often in a row the connector is started again by itself when broker, store or catalog do not answer, "
        "before it is FAILED. -1 is until they answer, 0 never.",
        default=-1,
        importance="LOW",
        validator=at_least(-1),
    ),
    Key(
        _WAIT,
        "LONG",
        "Milliseconds before the first of these starts; they double with each.",
        default=1_000,
        importance="LOW",
        validator=at_least(_SHORTEST_MS),
    ),
    Key(
        _LONGEST_WAIT,
        "LONG",
        "Most milliseconds between two of these starts.",
        default=60_000,
        importance="LOW",
        validator=at_least(_SHORTEST_MS),
    ),
)


@dataclass(frozen=True)
class Restarts:
    """Restart settings of a connector; None where it has none. `attempts` -1 is without end, waits are milliseconds."""

    attempts: int | None = None
    wait_ms: int | None = None
    longest_wait_ms: int | None = None


def restarts(config: Mapping[str, str]) -> Restarts:
    """Read the settings of a resolved configuration, without values that cannot be used, from a placeholder then.

    The first wait may have the name that it has in the S3 sink, where it may be shorter than a start takes.
    """
    of_s3 = config.get(WAIT_OF_S3_SINK, "").strip()
    known = {_WAIT: str(max(int(of_s3), _SHORTEST_MS)), **config} if of_s3.isdecimal() else config
    return Restarts(*(_usable(key, known[key.name]) if key.name in known else None for key in RESTART_KEYS))


def _usable(key: Key, text: str) -> int | None:
    try:
        value = parse_value(key.type, text)
    except ValueError:
        return None
    refused = key.validator is not None and key.validator(value) is not None
    return value if isinstance(value, int) and not refused else None
