"""Keys of a connector with a statement about functions of the worker's own Python."""

from collections.abc import Iterator, Sequence

from frazil.connectors.sql.row_function import PYTHON, PYTHON_FUNCTIONS, is_function, is_name, problem_of_module
from frazil.declare.definition import Key, Parsed, invalid_value
from frazil.declare.placeholders import has_placeholder

PYTHON_KEYS = (
    Key(
        PYTHON,
        "STRING",
        "Function that gets the rows of the statement as a DataFrame of Spark and gives others, as module:function. "
        "The module is one that FRAZIL_PYTHON_MODULES of the worker names. Each row keeps its column _frazil.",
        default="",
    ),
    Key(
        PYTHON_FUNCTIONS,
        "LIST",
        "Functions that the statement may call beside Spark's, each as name=module:function: Arrow UDFs of PySpark "
        "(arrow_udf), which get columns and give one. The modules are those that FRAZIL_PYTHON_MODULES of the worker "
        "names.",
        default="",
    ),
)


def functions_of(parsed: Parsed) -> dict[str, str]:
    """Places of the functions that a statement may call, by their names there."""
    pairs = (text.partition("=") for text in parsed.items(PYTHON_FUNCTIONS))
    return {name.strip().lower(): place.strip() for name, _, place in pairs}


def check_python(parsed: Parsed, *, has_state: bool) -> None:
    """Check the keys by themselves and the statement; errors go into `parsed`."""
    for key, text, _, reason in _named(parsed):
        if has_state:
            reason = "It is for statements without state"
        if reason is not None:
            parsed.fail(key, invalid_value(key, text, reason))


def check_modules(parsed: Parsed, allowed: Sequence[str]) -> None:
    """Check the functions by the modules that are allowed; errors go into `parsed`."""
    for key, text, place, malformed in _named(parsed):
        reason = None if malformed or has_placeholder(place) else problem_of_module(place, allowed)
        if reason is not None:
            parsed.fail(key, invalid_value(key, text, reason))


def _named(parsed: Parsed) -> Iterator[tuple[str, str, str, str | None]]:
    """Give each function: key, text, place, and what is wrong with its form."""
    whole = parsed.text(PYTHON).strip()
    if whole:
        yield PYTHON, whole, whole, None if _is_place(whole) else "It is written module:function"
    for name, place in functions_of(parsed).items():
        sound = is_function(name) and _is_place(place)
        reason = "Each is written name=module:function, and no function of Spark is named so"
        yield PYTHON_FUNCTIONS, f"{name}={place}", place, None if sound else reason


def _is_place(text: str) -> bool:
    """Whether a text names a function, or will."""
    return is_name(text) or has_placeholder(text)
