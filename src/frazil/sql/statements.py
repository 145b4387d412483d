"""SQL text to single reading statements, before anything is looked up or run."""

import logging
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError

from frazil.errors import QueryError
from frazil.sql.translation.dialect import TrinoAsWritten
from frazil.text.near import did_you_mean
from frazil.text.sql_slips import misspelled

READING = ("SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "(")
# First words of statements that Trino or another engine knows and this one does not answer.
_OTHERS = frozenset(
    {
        "ALTER", "ANALYZE", "ATTACH", "BEGIN", "CALL", "COMMENT", "COMMIT", "COPY", "CREATE", "DEALLOCATE",
        "DELETE", "DENY", "DETACH", "DROP", "EXECUTE", "EXPLAIN", "EXPORT", "GRANT", "IMPORT", "INSERT",
        "INSTALL", "LOAD", "MERGE", "PRAGMA", "PREPARE", "REFRESH", "REPLACE", "RESET", "REVOKE", "ROLLBACK",
        "SET", "START", "TRUNCATE", "UPDATE", "USE", "VACUUM",
    }
)  # fmt: skip
_DIALECT = TrinoAsWritten()
_WRITING_NODES = (exp.DDL, exp.DML, exp.Command, exp.Into, exp.Lock, exp.Placeholder, exp.Parameter)

# sqlglot warns on standard error about what it cannot parse; here it is an error of its own.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Statement:
    """Statement as it was written, without the semicolon."""

    text: str
    tokens: tuple[Token, ...]
    source: str

    @property
    def keyword(self) -> str:
        """First word, in upper case."""
        return self._first.upper()

    @property
    def rest(self) -> str:
        """Text behind the first word."""
        return self.text[len(self._first) :]

    def words(self) -> list[Token]:
        """Tokens of `rest`; sqlglot reads the rest of a SHOW as one piece. Raises QueryError."""
        return tokenize(self.rest)

    @property
    def _first(self) -> str:
        """sqlglot makes one token of some pairs of words, such as DESCRIBE INPUT."""
        return (self.tokens[0].text.split() or [""])[0]

    def parse(self) -> exp.Expr:
        """Syntax tree in Trino's dialect.

        Raises QueryError with line and column (1-based, of the whole text) for what is not Trino SQL, and for a
        statement that would change something.
        """
        try:
            tree = _DIALECT.parser().parse(list(self.tokens), self.source)[0]
        except ParseError as error:
            raise QueryError(_where(error) + misspelled(error, self.tokens)) from None
        except RecursionError:
            raise QueryError("the statement is nested too deeply; split it into WITH parts") from None
        if tree is None:
            raise QueryError("there is no SQL statement")
        for node in tree.walk():
            if isinstance(node, _WRITING_NODES):
                raise QueryError(f"{type(node).__name__.upper()} is refused inside a statement that reads")
        return tree


def split(sql: str) -> list[Statement]:
    """Statements of a text, separated by `;`, each checked to be one that reads.

    Raises QueryError when the text holds no statement, cannot be split into tokens, or holds a statement that would
    write, change settings or attach something; nothing has run then.
    """
    statements = pieces(sql)
    for statement in statements:
        if statement.keyword not in READING:
            raise refused(
                statement, "only statements that read are answered: SELECT, WITH, VALUES, TABLE, SHOW and DESCRIBE"
            )
    return statements


def pieces(sql: str) -> list[Statement]:
    """Statements of a text, separated by `;`, whatever they do. Raises QueryError when the text holds none, or cannot
    be split into tokens."""
    if not _is_unicode(sql):
        raise QueryError("the statement holds bytes that are not UTF-8 text; nothing was run")
    groups: list[list[Token]] = [[]]
    for token in tokenize(sql):
        if token.token_type == TokenType.SEMICOLON:
            groups.append([])
        else:
            groups[-1].append(token)
    statements = [Statement(sql[group[0].start : group[-1].end + 1], tuple(group), sql) for group in groups if group]
    if not statements:
        raise QueryError("there is no SQL statement")
    return statements


def refused(statement: Statement, why: str) -> QueryError:
    """The error for a statement that is not run; a first word that begins no statement is a slip of the pen."""
    first = statement.tokens[0]
    where = f"line {first.line}, column {_column(first)}"
    if statement.keyword in _OTHERS:
        return QueryError(f"{where}: {statement.keyword} is refused; {why}. Nothing was run")
    meant = did_you_mean(statement.keyword, (*READING, *_OTHERS))
    meant = meant or ". A statement begins with SELECT, WITH, SHOW or DESCRIBE"
    return QueryError(f"{where}: syntax error at or near {first.text[:40]!r}{meant}")


def _is_unicode(text: str) -> bool:
    """Whether the text is Unicode: half a surrogate is not, as which a byte comes that is not UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def ends_statement(sql: str) -> bool:
    """Whether the text ends, but for comments, in the `;` of a statement; no when a quote is still open."""
    try:
        tokens = tokenize(sql)
    except QueryError:
        return False
    return bool(tokens) and tokens[-1].token_type == TokenType.SEMICOLON


def _column(token: Token) -> int:
    # sqlglot gives the column of a token's last character
    return max(1, token.col - (token.end - token.start))


def _where(error: ParseError) -> str:
    if not error.errors:
        return f"the statement is not Trino SQL: {error}"
    first = error.errors[0]
    near = first.get("highlight") or ""
    column = max(1, (first.get("col") or 1) - max(0, len(near) - 1))
    what = str(first.get("description") or "syntax error").rstrip(".")
    if "<class" in what:
        what = "an argument is missing or misplaced"
    return f"line {first.get('line')}, column {column}: {what}" + (f" at or near {near!r}" if near else "")


def tokenize(sql: str) -> list[Token]:
    """Tokens of Trino SQL without comments. Raises QueryError when a quote or a comment is not closed."""
    try:
        return _DIALECT.tokenize(sql)
    except TokenError as error:
        cause = str(error.__cause__ or error).splitlines()[0]
        raise QueryError(f"a quote or a comment is not closed ({cause})") from None
