"""Both engines give the same names, types, order and values."""

from __future__ import annotations

import pytest

from frazil.environment.settings import Settings
from frazil.errors import QueryError
from frazil.sql.trino import TrinoEngine
from tests.sql.catalogs import computed
from tests.sql.conftest import NAMESPACE, LogTables
from tests.sql.corpus import RECORDING, answers, comparable, record, refused, statements

STATEMENTS = statements()
REFUSED = refused()
RECORDED = answers()
STEADY = [name for name in STATEMENTS if not name.startswith("live:")]


def test_the_corpus_is_large_and_recorded() -> None:
    assert len(STATEMENTS) >= 60
    assert set(STEADY) == set(RECORDED)


@pytest.mark.stack
@pytest.mark.parametrize("name", STEADY)
def test_the_embedded_engine_answers_as_trino_did(log_tables: LogTables, name: str) -> None:
    [result] = log_tables.engine.run(STATEMENTS[name])
    assert comparable(STATEMENTS[name], result) == RECORDED[name]


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_trino_answers_is_refused(name: str) -> None:
    with pytest.raises(QueryError, match="the embedded engine does not|is not known here") as caught:
        computed(REFUSED[name])
    assert "ask Trino with --engine trino" in str(caught.value)


@pytest.fixture(scope="session")
def trino_engine(trino: Settings, log_tables: LogTables) -> TrinoEngine:
    return TrinoEngine(Settings({**trino.env, "NAMESPACE_NAME": NAMESPACE}))


@pytest.mark.stack
@pytest.mark.trino
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.faults if name in STEADY else ()) for name in STATEMENTS]
)
def test_both_engines_answer_alike(log_tables: LogTables, trino_engine: TrinoEngine, name: str) -> None:
    """Of recorded answers this only says whether Trino still gives them, which another release of it may change."""
    [wanted] = trino_engine.run(STATEMENTS[name])
    answer = comparable(STATEMENTS[name], wanted)
    if RECORDING and name in STEADY:
        RECORDED[name] = answer
        record({known: RECORDED[known] for known in STEADY if known in RECORDED})
    [found] = log_tables.engine.run(STATEMENTS[name])
    assert comparable(STATEMENTS[name], found) == answer
    assert name not in STEADY or RECORDED[name] == answer
