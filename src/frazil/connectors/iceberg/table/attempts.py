"""Attempts to commit one change of a table once, and the remains of those that failed or went unanswered."""

import copy
import logging
import time
from collections.abc import Callable

from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
)
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.table import Table
from requests.exceptions import ConnectTimeout, RequestException

from frazil.clients.store import refuses
from frazil.errors import (
    CommitConflict,
    CommitStateUnknown,
    ConfigError,
    FrazilError,
    ServiceUnavailable,
    TerminalError,
)

logger = logging.getLogger(__name__)

_RETRIES = 8
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 10.0
NOT_CONFIRMED = (CommitStateUnknownException, ServerError, ServiceUnavailableError, TooManyRequestsError, OSError)
"""Errors of a catalog (also OSError, when it cannot be reached) or object store that failed for the moment."""


def apply(
    load: Callable[[], Table],
    table: Table,
    branch: str,
    attempt: Callable[[Table], None],
    arrived: Callable[[Table], bool],
) -> None:
    """Make one change to the table, whatever happens on the way; `attempt` commits it, without retries of its own.

    After an attempt that failed, or of which nobody knows, `arrived` gets the table as it is then, from `load`: it
    tells whether the change is in it, and raises when the change may not be made any more. A request without an answer
    may be applied later, as long as the branch has the head that it was made for. Raises NotFound when the table is
    gone, TerminalError when it is another one by now, ConfigError when the store refuses access, CommitConflict,
    ServiceUnavailable or CommitStateUnknown when the retries are used up; in all these cases except the last the change
    is not in the table, nor will it be.
    """
    spec_id, table_uuid = table.metadata.default_spec_id, table.metadata.table_uuid
    wait = _FIRST_WAIT_S
    problem: Exception | None = None
    unanswered: set[int | None] = set()
    """Heads of the branch for which requests may be under way."""
    left: list[str] = []
    for number in range(_RETRIES + 1):
        if number:
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT_S)
            try:
                table = load()
            except ServiceUnavailable as error:
                problem = error
                continue
            if table.metadata.table_uuid != table_uuid:
                raise _another(table) from problem
            if arrived(table):
                return
            unanswered &= {_head(table, branch)}
            if not unanswered:
                _remove(table.io, left)
        if number == _RETRIES:
            break
        try:
            attempt(_keeping(one_attempt(table, spec_id), left))
            _remove(table.io, left)
            return
        except CommitFailedException as error:
            problem = error
        except NOT_CONFIRMED as error:
            if _may_be_applied(error):
                unanswered.add(_head(table, branch))
            if isinstance(error, OSError) and refuses(error) and not unanswered:
                raise ConfigError(
                    f"the object store refused a commit to {_name(table)}: {error}. Nothing was committed. Check the "
                    "bucket and the access keys (iceberg.catalog.s3.*), then restart the connector."
                ) from error
            problem = error
        except RESTError as error:
            problem = error  # what made the catalog refuse it may be what has changed, such as a rollback
            if not unanswered and load().metadata.last_updated_ms == table.metadata.last_updated_ms:
                raise  # of a table that is gone `load` raises NotFound
    raise _given_up(_name(table), problem, unknown=bool(unanswered)) from problem


def _head(table: Table, branch: str) -> int | None:
    head = table.metadata.snapshot_by_name(branch)
    return None if head is None else head.snapshot_id


def _may_be_applied(error: Exception) -> bool:
    """Whether a request may have reached the catalog, which has not said what became of it."""
    if isinstance(error, OSError):  # else the files of the snapshot were not stored, and nothing was asked for
        return isinstance(error, RequestException) and not isinstance(error, ConnectTimeout)
    return not isinstance(error, TooManyRequestsError)


def one_attempt(table: Table, spec_id: int | None = None) -> Table:
    """A copy for one attempt to commit, of files of one partition spec where that is given.

    Its transactions fail on a conflict, since PyIceberg's own retries would not look at the floor again; and they
    write the files under the spec they were written for, even if the table has got another one since.
    """
    properties = {**table.metadata.properties, "commit.retry.num-retries": "0"}
    spec = {} if spec_id is None else {"default_spec_id": spec_id}
    return Table(
        table.name(),
        table.metadata.model_copy(update={"properties": properties} | spec),
        table.metadata_location,
        table.io,
        table.catalog,
        table.config,
    )


def _keeping(table: Table, left: list[str]) -> Table:
    """The copy of a table whose transactions delete nothing, and add to `left` what they would.

    PyIceberg deletes the manifests of an attempt that the catalog says it has refused. Where something between has sent
    the request twice, that is the answer to the second: the snapshot of the first needs them.
    """
    io = copy.copy(table.io)

    def delete(location: str | InputFile | OutputFile) -> None:
        left.append(location if isinstance(location, str) else location.location)

    io.delete = delete  # type: ignore[method-assign]
    table.io = io
    return table


def _remove(io: FileIO, left: list[str]) -> None:
    """Delete what attempts have left that are not in the table; it is no harm when that fails."""
    for location in left:
        try:
            io.delete(location)
        except Exception as error:  # of whatever kind the store's client raises
            logger.debug("%s is left until orphan files are removed: %s", location, error)
    left.clear()


def _another(table: Table) -> TerminalError:
    return TerminalError(
        f"table {_name(table)} was dropped and made again while rows for it were written: they belong to the table "
        "that is gone, and nothing was committed. Restart the connector to store what comes from its position on; "
        "reset its offsets first to store again what the old table had."
    )


def _name(table: Table) -> str:
    return ".".join(table.name())


def _given_up(name: str, problem: Exception | None, *, unknown: bool) -> FrazilError:
    reason = f"({type(problem).__name__}: {problem})"
    if unknown:
        return CommitStateUnknown(
            f"the catalog did not confirm a commit to {name} {reason}; the position in the table decides when the "
            "batch is read again"
        )
    if isinstance(problem, CommitFailedException):
        return CommitConflict(
            f"{name} was changed by others {_RETRIES} times during one commit; nothing was committed, the batch will "
            "be read again"
        )
    return ServiceUnavailable(
        f"catalog or object store failed {_RETRIES} times during a commit to {name} {reason}; nothing was committed, "
        "the batch will be read again"
    )
