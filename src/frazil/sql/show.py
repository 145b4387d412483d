"""SHOW and DESCRIBE, with the columns and type names that Trino answers with."""

from __future__ import annotations

import re

from sqlglot import Token, TokenType

from frazil.errors import QueryError
from frazil.sql.names import Names, Source
from frazil.sql.result import Result
from frazil.sql.statements import Statement
from frazil.sql.translation.types import from_arrow_field, from_iceberg
from frazil.sql.translation.value import OTHER_ENGINE
from frazil.sql.view import View

_KNOWN = "SHOW CATALOGS, SHOW SCHEMAS, SHOW TABLES, SHOW COLUMNS and DESCRIBE"


def shows(statement: Statement) -> bool:
    """Whether a statement asks about names instead of rows."""
    return statement.keyword in ("SHOW", "DESCRIBE", "DESC")


def show(statement: Statement, names: Names) -> Result:
    """Answer a SHOW or DESCRIBE statement.

    Raises QueryError for a form that is not known (it lists the ones that are) and for a name that does not exist.
    """
    words = _Words(statement)
    if statement.keyword != "SHOW":
        return _columns(names, words.name(), words)
    subject = words.word()
    if subject == "CATALOGS":
        return _list("Catalog", [names.catalog_name], words)
    if subject == "SCHEMAS":
        if words.skip("FROM", "IN"):
            names.check_catalog(words.name(longest=1)[0])
        return _list("Schema", names.schemas(), words)
    if subject == "TABLES":
        schema = [names.default_schema]
        if words.skip("FROM", "IN"):
            schema = words.name(longest=2)
        if len(schema) == 2:
            names.check_catalog(schema[0])
        namespace = names.namespace(schema[-1])
        return _list("Table", sorted({*names.tables(namespace), *names.views(namespace)}), words)
    if subject == "COLUMNS":
        if not words.skip("FROM", "IN"):
            raise QueryError("SHOW COLUMNS needs FROM and a table")
        return _columns(names, words.name(), words)
    raise QueryError(f"the embedded engine does not answer SHOW {subject}; {OTHER_ENGINE}, or use {_KNOWN}")


def _columns(names: Names, parts: list[str], words: _Words) -> Result:
    own = names.in_default_schema(parts) and not names.exists(parts)
    view = names.own_views.get(parts[-1].lower()) if own else None
    described = _described(names.source(parts)) if view is None else _described_view(view)
    like = words.like()
    rows = [row for row in described if like is None or like.fullmatch(row[0])]
    return Result(("Column", "Type", "Extra", "Comment"), rows, types=("varchar",) * 4)


def _described_view(view: View) -> list[tuple[str, str, str, str]]:
    return [(field.name, str(from_iceberg(field.field_type)), "", "") for field in view.schema.fields]


def _described(source: Source) -> list[tuple[str, str, str, str]]:
    if source.metadata is None:
        return [(f.name, str(from_iceberg(f.field_type)), "", f.doc or "") for f in source.table.schema().fields]
    from frazil.sql.metadata import metadata_table

    schema = metadata_table(source.table, source.metadata).schema
    return [(column.name, str(from_arrow_field(column)), "", "") for column in schema]


def _list(column: str, values: list[str], words: _Words) -> Result:
    like = words.like()
    rows = [(value,) for value in values if like is None or like.fullmatch(value)]
    return Result((column,), rows, types=("varchar",))


class _Words:
    """The words of a statement after the first, taken one after the other."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._tokens = statement.words()

    def word(self) -> str:
        return self._next("a word").text.upper()

    def skip(self, *words: str) -> bool:
        """Take the next word if it is one of these."""
        if self._tokens and self._tokens[0].text.upper() in words and not _quoted(self._tokens[0]):
            self._tokens.pop(0)
            return True
        return False

    def name(self, longest: int = 4) -> list[str]:
        """Take a name of at most `longest` parts."""
        parts = [self._part()]
        while self._tokens and self._tokens[0].token_type == TokenType.DOT:
            self._tokens.pop(0)
            parts.append(self._part())
        if len(parts) > longest:
            raise QueryError(f"{'.'.join(parts)} has too many parts: {self._statement.text}")
        return parts

    def like(self) -> re.Pattern[str] | None:
        """Take LIKE 'pattern' [ESCAPE 'c'] and the end of the statement."""
        pattern = escape = None
        if self.skip("LIKE"):
            pattern = self._text()
            if self.skip("ESCAPE"):
                escape = self._text()
        if self._tokens:
            raise QueryError(f"{self._tokens[0].text!r} is not understood here; there are {_KNOWN}")
        return None if pattern is None else re.compile(_like_to_regex(pattern, escape), re.DOTALL)

    def _part(self) -> str:
        token = self._next("a name")
        if token.token_type in (TokenType.STRING, TokenType.DOT, TokenType.NUMBER):
            raise QueryError(f"expected a name, found {token.text!r}: {self._statement.text}")
        return token.text

    def _text(self) -> str:
        token = self._next("a text in single quotes")
        if token.token_type != TokenType.STRING:
            raise QueryError(f"expected a text in single quotes, found {token.text!r}")
        return token.text

    def _next(self, wanted: str) -> Token:
        if not self._tokens:
            raise QueryError(f"{self._statement.text} ends where {wanted} is expected; there are {_KNOWN}")
        return self._tokens.pop(0)


def _quoted(token: Token) -> bool:
    return token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)


def _like_to_regex(pattern: str, escape: str | None) -> str:
    if escape is not None and len(escape) != 1:
        raise QueryError(f"ESCAPE needs one character, not {escape!r}")
    result, rest = "", iter(pattern)
    for character in rest:
        if character == escape:
            following = next(rest, "")
            if following not in ("%", "_", escape):
                raise QueryError(f"ESCAPE {escape!r} must be followed by %, _ or itself in {pattern!r}")
            result += re.escape(following)
        else:
            result += {"%": ".*", "_": "."}.get(character, re.escape(character))
    return result
