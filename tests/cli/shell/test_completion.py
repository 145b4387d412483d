from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from frazil.cli.shell.commands import completions
from frazil.cli.shell.completion import SqlCompleter
from frazil.errors import QueryError, ServiceUnavailable
from frazil.sql.names import Names
from frazil.sql.result import Result
from frazil.sql.show import show
from frazil.sql.statements import split
from tests.sql.catalogs import LOG_TABLES, MetadataCatalog


class Asked:
    """Answers SHOW statements from the log tables' schemas, and counts them."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.gone = False

    def __call__(self, sql: str) -> Result:
        self.statements.append(sql)
        if self.gone:
            raise ServiceUnavailable("gone")
        [statement] = split(sql)
        return show(statement, Names(MetadataCatalog(LOG_TABLES), "s3://kafkawarehouse", "streaming"))


def offered(text: str, asked: Asked | None = None) -> list[str]:
    """What Tab offers where `|` is in a text, else at its end."""
    before, _, after = text.partition("|")
    completer = SqlCompleter(asked or Asked(), "streaming", dict(completions()))
    found = completer.get_completions(Document(before + after, len(before)), CompleteEvent(completion_requested=True))
    return [completion.text for completion in found]


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("SELECT * FROM ", ["apilogs", "errorlogs", "auditlogs", "streaming"]),
        ("SELECT * FROM err", ["errorlogs"]),
        ("SELECT * FROM streaming.a", ["apilogs", "auditlogs"]),
        ('SELECT * FROM "apilogs$s', ['"apilogs$snapshots"']),
        ("SELECT buc| FROM apilogs", ["bucket"]),
        ("SELECT ca| FROM apilogs", ['"callInfo"', "cardinality("]),
        ('SELECT "ca| FROM apilogs', ['"callInfo"']),
        ('SELECT "callInfo".h| FROM apilogs', ['"httpStatusCode"']),
        ("SELECT callInfo.r| FROM apilogs", ["rx", '"requestReadTime"', '"requestID"']),
        ("SELECT a.buc| FROM apilogs a", ["bucket"]),
        ("SELECT a.callInfo.t| FROM apilogs AS a", ["tx", '"txHeaders"']),
        ("SELECT e.mess| FROM apilogs a JOIN errorlogs e ON true", ["message"]),
        ("sel", ["select"]),
        ("SEL", ["SELECT"]),
        ("SELECT approx_d", ["approx_distinct("]),
        ("DESCRIBE au", ["auditlogs"]),
        ("\\", ["\\d", "\\x", "\\q"]),
        ("\\d a", ["apilogs", "auditlogs"]),
        ("\\format p", ["parquet"]),
    ],
)
def test_what_is_offered(text: str, some: list[str]) -> None:
    found = offered(text)
    assert set(some) <= set(found), found
    assert len(found) == len(set(found))


@pytest.mark.parametrize("text", ["SELECT nosuch.", "SELECT nosuch.x", "SELECT bucket.x| FROM apilogs", "\\o x", "'"])
def test_where_nothing_fits_nothing_is_offered(text: str) -> None:
    assert offered(text) == []


def test_columns_of_other_tables_are_not_offered() -> None:
    assert "category" not in offered("SELECT cat| FROM apilogs")
    assert "category" in offered("SELECT cat| FROM auditlogs")


def test_names_are_asked_for_once_and_again_after_they_were_forgotten() -> None:
    asked = Asked()
    completer = SqlCompleter(asked, "streaming", {})
    for _ in range(2):
        list(completer.get_completions(Document("SELECT b FROM apilogs", 8), CompleteEvent()))
    assert asked.statements == ['SHOW COLUMNS FROM "apilogs"']
    completer.forget()
    list(completer.get_completions(Document("SELECT b FROM apilogs", 8), CompleteEvent()))
    assert len(asked.statements) == 2


def test_a_catalog_that_is_gone_offers_no_names_and_is_asked_again() -> None:
    asked = Asked()
    asked.gone = True
    completer = SqlCompleter(asked, "streaming", {})
    document = Document("SELECT * FROM ")
    assert [c.text for c in completer.get_completions(document, CompleteEvent())] == ["streaming"]
    asked.gone = False
    assert "apilogs" in [c.text for c in completer.get_completions(document, CompleteEvent())]
    with pytest.raises(QueryError):
        asked("SHOW COLUMNS FROM nosuch")
