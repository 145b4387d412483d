from __future__ import annotations

import re

import pytest

from frazil.errors import UsageError
from frazil.minio.questions.catalog import QUESTIONS, VIEWS, find


def test_names_are_words_and_views_sql_names() -> None:
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in QUESTIONS)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in VIEWS)
    assert len(VIEWS) == len(QUESTIONS)


@pytest.mark.parametrize("written", ["who-deleted", "who_deleted", "WHO-Deleted"])
def test_a_question_is_found(written: str) -> None:
    assert find(written).name == "who-deleted"


def test_an_unknown_question_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no question nosuch; there are who-deleted, who-read"):
        find("nosuch")


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_described(name: str) -> None:
    question = QUESTIONS[name]
    assert question.title.endswith("?")
    assert question.answers.endswith(".")
    assert all(question.columns.values())
    assert set(question.required) <= {parameter.name for parameter in question.parameters}
