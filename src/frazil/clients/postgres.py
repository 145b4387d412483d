"""A connection to PostgreSQL, and what the server tells of a replication slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.environment.extras import extra
from frazil.errors import ConfigError, ServiceUnavailable

if TYPE_CHECKING:
    import psycopg

_SLOT = """
SELECT s.active, s.wal_status = 'lost', s.confirmed_flush_lsn::text,
       pg_wal_lsn_diff(log.now, s.confirmed_flush_lsn)::bigint, pg_wal_lsn_diff(log.now, s.restart_lsn)::bigint
FROM pg_replication_slots s,
     (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS now) log
WHERE s.slot_name = %s
"""


@dataclass(frozen=True)
class Slot:
    """A replication slot. `confirmed` is the place in the log up to which all has arrived, `behind_bytes` what was
    written since, `kept_bytes` what the server keeps for it; None where it has no place yet. `lost`: the server has
    removed what it would need."""

    active: bool
    lost: bool
    confirmed: str | None
    behind_bytes: int | None
    kept_bytes: int | None


def connect(access: Mapping[str, Any], timeout_s: int = 10) -> psycopg.Connection[Any]:
    """Connect. Raises ServiceUnavailable when the server does not answer or does not let the user in."""
    with extra("postgres"):
        import psycopg
    try:
        return psycopg.connect(**access, connect_timeout=timeout_s)
    except psycopg.Error as error:
        raise ServiceUnavailable(f"the database does not let us in: {_line(error)}") from None


@contextmanager
def database_errors(cure_of: Callable[[str], str] = lambda text: "") -> Iterator[None]:
    """Raise psycopg's errors as ServiceUnavailable or, where the database refuses, ConfigError with a cure."""
    with extra("postgres"):
        import psycopg
    try:
        yield
    except psycopg.OperationalError as error:
        raise ServiceUnavailable(f"the database failed: {_line(error)}") from None
    except psycopg.Error as error:
        cure = cure_of(str(error))
        raise ConfigError(f"the database refused: {_line(error)}{cure and '. '}{cure}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def replication_slot(access: Mapping[str, Any], name: str, timeout_s: int = 10) -> Slot | None:
    """Look at a slot; None when there is none of this name. Raises as `connect` does."""
    with closing(connect(access, timeout_s)) as connection:
        found = connection.execute(_SLOT, [name]).fetchone()
    return None if found is None else Slot(*found)
