from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.sql.statements import split
from frazil.sql.translation.grammar import check
from tests.sql.corpus import statements
from tests.sql.seeds import STATEMENTS


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("SELECT * FROM t TABLESAMPLE BERNOULLI (10)", "SAMPLE in"),
        ("SELECT * EXCEPT (a) FROM t", "EXCEPT in"),
        ("SELECT a BETWEEN SYMMETRIC 2 AND 1 FROM t", "SYMMETRIC in"),
        ("SELECT a FROM t FETCH FIRST 3 ROWS WITH TIES", "WITH TIES in"),
        ("SELECT sum(a) OVER (ORDER BY a ROWS UNBOUNDED PRECEDING EXCLUDE TIES) FROM t", "EXCLUDE in"),
        ("WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n", "RECURSIVE in"),
        ("SELECT listagg(a, ',') WITHIN GROUP (ORDER BY a) FROM t", "this use of WITHINGROUP"),
        ("SELECT transform(a, x -> x + 1) FROM t", "this use of LAMBDA"),
        ("SELECT * FROM a NATURAL JOIN b", "METHOD in"),
        ("SELECT * FROM a, LATERAL (SELECT 1)", "this use of LATERAL"),
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
