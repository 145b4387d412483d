"""Questions by name."""

from frazil.errors import UsageError
from frazil.minio.questions import access, administration, objects, traffic, trouble
from frazil.minio.questions.aggregated import AGGREGATED
from frazil.minio.questions.question import Question

QUESTIONS: dict[str, Question] = {
    question.name: question
    for question in (
        *objects.QUESTIONS,
        *access.QUESTIONS,
        *administration.QUESTIONS,
        *traffic.QUESTIONS,
        *trouble.QUESTIONS,
    )
}

EVERY: dict[str, Question] = {**QUESTIONS, **AGGREGATED}
"""All questions, also those to tables that are not always there."""

VIEWS: dict[str, Question] = {question.view: question for question in QUESTIONS.values()}


def find(name: str) -> Question:
    """The question of a name, written with `-` or `_` and in any case. Raises UsageError when there is none."""
    question = EVERY.get(name.lower().replace("_", "-"))
    if question is None:
        raise UsageError(f"there is no question {name}; there are {', '.join(EVERY)}")
    return question
