from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.query.sql.grammar import check
from frazil.query.statements import split
from tests.query.corpus import statements
from tests.query.seeds import STATEMENTS


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("SELECT * FROM t TABLESAMPLE BERNOULLI (10)", "SAMPLE in"),
        ("SELECT * EXCEPT (a) FROM t", "EXCEPT in"),
        ("SELECT a BETWEEN SYMMETRIC 2 AND 1 FROM t", "SYMMETRIC in"),
        ("SELECT a FROM t FETCH FIRST 3 ROWS WITH TIES", "WITH TIES in"),
        ("SELECT sum(a) OVER (ORDER BY a ROWS UNBOUNDED PRECEDING EXCLUDE TIES) FROM t", "EXCLUDE in"),
        ("SELECT listagg(a, ',' ON OVERFLOW ERROR) WITHIN GROUP (ORDER BY a) FROM t", "ON OVERFLOW in"),
        ("SELECT * FROM a UNION BY NAME SELECT * FROM b", "BY NAME in"),
    ],
)
def test_parts_that_are_not_translated_are_refused(sql: str, part: str) -> None:
    [statement] = split(sql)
    with pytest.raises(QueryError, match=f"does not answer {part}"):
        check(statement.parse())


def test_the_corpus_and_the_seeds_pass() -> None:
    for sql in (*statements().values(), STATEMENTS):
        for statement in split(sql):
            if statement.keyword not in ("SHOW", "DESCRIBE"):
                check(statement.parse())
