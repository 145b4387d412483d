"""One change of a table, whatever its attempts come to."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    CommitStateUnknownException,
    ServerError,
    TooManyRequestsError,
)
from pyiceberg.table import Table
from requests.exceptions import ConnectTimeout, ReadTimeout

from frazil.connectors.iceberg.table import attempts
from frazil.connectors.iceberg.table.attempts import apply
from frazil.errors import (
    CommitConflict,
    CommitStateUnknown,
    ConfigError,
    NotFound,
    ServiceUnavailable,
    TerminalError,
)
from tests.connectors.iceberg.driver import SIMPLE
from tests.connectors.iceberg.memory import MemoryCatalog


class Change:
    """A change whose attempts raise these errors, one each; it is made by the first without one."""

    def __init__(self, folder: Path, *errors: Exception) -> None:
        self.catalog = MemoryCatalog(folder, {"ns.t": SIMPLE})
        self.errors = list(errors)
        self.loads: list[Exception | None] = []
        self.made = self.asked = 0

    def load(self) -> Table:
        error = self.loads.pop(0) if self.loads else None
        if error is not None:
            raise error
        return self.catalog.load_table("ns.t")

    def attempt(self, table: Table) -> None:
        assert table.properties["commit.retry.num-retries"] == "0"
        if self.errors:
            raise self.errors.pop(0)
        self.made += 1

    def arrived(self, table: Table) -> bool:
        self.asked += 1
        return False

    def apply(self, arrived: Callable[[Table], bool] | None = None) -> None:
        apply(self.load, self.catalog.load_table("ns.t"), "main", self.attempt, arrived or self.arrived)

    def by_others(self) -> None:
        """A commit of another writer, which moves the head of main."""
        self.catalog.load_table("ns.t").append(pa.table({"id": [1], "text": ["x"]}))


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(attempts, "_LONGEST_WAIT_S", 0.0)


def test_what_fails_for_the_moment_is_tried_again_when_it_has_not_arrived(tmp_path: Path) -> None:
    change = Change(tmp_path, CommitFailedException("x"), ServerError("x"), OSError("connection reset"))
    change.loads = [None, ServiceUnavailable("away"), None]
    change.apply()
    assert (change.made, change.asked) == (1, 3)


def test_what_has_arrived_is_not_made_again(tmp_path: Path) -> None:
    change = Change(tmp_path, ServerError("x"))
    change.apply(lambda table: True)
    assert change.made == 0


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (CommitFailedException("x"), CommitConflict, "was changed by others 8 times"),
        (TooManyRequestsError("x"), ServiceUnavailable, r"failed 8 times during a commit to ns\.t"),
        (OSError("the store is away"), ServiceUnavailable, r"failed 8 times during a commit to ns\.t"),
        (ConnectTimeout("x"), ServiceUnavailable, r"failed 8 times during a commit to ns\.t"),
        (ServerError("x"), CommitStateUnknown, "the catalog did not confirm a commit"),
        (CommitStateUnknownException("x"), CommitStateUnknown, "the catalog did not confirm a commit"),
        (ReadTimeout("x"), CommitStateUnknown, "the catalog did not confirm a commit"),
    ],
)
def test_attempts_end(tmp_path: Path, error: Exception, kind: type[Exception], told: str) -> None:
    change = Change(tmp_path, *[error] * 9)
    with pytest.raises(kind, match=told):
        change.apply()
    assert (change.errors, change.asked) == ([error], 8)


def test_nobody_knows_what_became_of_an_attempt_when_the_table_cannot_be_read(tmp_path: Path) -> None:
    change = Change(tmp_path, *[ServerError("x")] * 9)
    change.loads = [ServiceUnavailable("away")] * 8
    with pytest.raises(CommitStateUnknown, match="the catalog did not confirm a commit"):
        change.apply()
    assert (len(change.errors), change.asked) == (8, 0), "nothing is tried again before the table was looked at"


def test_a_store_that_refuses_access_is_a_matter_of_configuration(tmp_path: Path) -> None:
    change = Change(tmp_path, PermissionError(errno.EACCES, "AWS Error ACCESS_DENIED during PutObject operation"))
    with pytest.raises(ConfigError, match="the object store refused a commit to ns.t"):
        change.apply()


def test_what_the_catalog_refuses_for_good_is_raised_unless_the_table_has_changed(tmp_path: Path) -> None:
    change = Change(tmp_path, BadRequestError("no such field"))
    with pytest.raises(BadRequestError, match="no such field"):
        change.apply()
    change = Change(tmp_path, BadRequestError("no such snapshot"))
    refused = change.errors

    def attempt(table: Table) -> None:
        if refused:
            time.sleep(0.002)  # a catalog notes changes by the millisecond
            change.catalog.load_table("ns.t").transaction().set_properties({"a": "b"}).commit_transaction()
            raise refused.pop()
        change.made += 1

    change.attempt = attempt  # type: ignore[method-assign]
    change.apply()
    assert change.made == 1
    change = Change(tmp_path, BadRequestError("x"))
    change.loads = [NotFound("table ns.t does not exist")]
    with pytest.raises(NotFound):
        change.apply()


def test_manifests_that_an_attempt_has_left_are_deleted_when_it_is_certain_that_nothing_needs_them(
    tmp_path: Path,
) -> None:
    change = Change(tmp_path)
    left, kept = tmp_path / "left.avro", tmp_path / "kept.avro"
    answers = iter([False, True])
    files = iter([left, kept])

    def attempt(table: Table) -> None:
        file = next(files)
        file.write_bytes(b"x")
        table.io.delete(file.as_uri())
        assert file.exists(), "the answer may be that to a second request"
        raise CommitFailedException("x")

    change.attempt = attempt  # type: ignore[method-assign]
    change.apply(lambda table: next(answers))
    assert (left.exists(), kept.exists()) == (False, True)


def test_a_request_without_an_answer_may_be_applied_as_long_as_the_head_is_the_one_it_was_for(tmp_path: Path) -> None:
    answered: list[Exception] = [CommitFailedException("x")] * 8
    change = Change(tmp_path, ReadTimeout("x"), *answered)
    with pytest.raises(CommitStateUnknown):
        change.apply()
    change = Change(tmp_path, ReadTimeout("x"), *answered)

    def moved(table: Table) -> bool:
        if len(change.errors) == 5:
            change.by_others()
        return False

    with pytest.raises(CommitConflict):
        change.apply(moved)


@pytest.mark.parametrize(
    "last",
    [PermissionError(errno.EACCES, "AWS Error ACCESS_DENIED during PutObject"), BadRequestError("no field")],
)
def test_what_is_refused_after_a_request_without_an_answer_is_not_said_to_be_nothing(
    tmp_path: Path, last: Exception
) -> None:
    change = Change(tmp_path, ReadTimeout("x"), *[last] * 8)
    with pytest.raises(CommitStateUnknown):
        change.apply()


def test_what_a_request_without_an_answer_needs_stays(tmp_path: Path) -> None:
    change = Change(tmp_path)
    manifest = tmp_path / "manifest.avro"
    manifest.write_bytes(b"x")
    errors: list[Exception] = [ReadTimeout("x"), CommitFailedException("x"), CommitFailedException("x")]

    def attempt(table: Table) -> None:
        table.io.delete(manifest.as_uri())
        if errors:
            raise errors.pop(0)

    def arrived(table: Table) -> bool:
        assert manifest.exists()
        return False

    change.attempt = attempt  # type: ignore[method-assign]
    change.apply(arrived)
    assert not manifest.exists(), "the next one went through, so the first one cannot any more"


def test_a_table_that_is_dropped_and_made_again_gets_nothing_of_the_old_one(tmp_path: Path) -> None:
    change = Change(tmp_path, CommitFailedException("the uuid is another one"))

    def again() -> Table:
        change.catalog.drop_table("ns.t")
        return change.catalog.create_table("ns.t", SIMPLE)

    change.load = again  # type: ignore[method-assign]
    with pytest.raises(TerminalError, match=r"table ns\.t was dropped and made again while rows for it were written"):
        change.apply()
    assert (change.made, change.asked) == (0, 0)
