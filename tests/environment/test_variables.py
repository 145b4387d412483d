from __future__ import annotations

import re
from pathlib import Path

import frazil
from frazil.environment.settings import Settings
from frazil.environment.variables import VARIABLES

_SOURCES = Path(frazil.__file__).parent
# A name that is assigned is meant for child processes.
_READ = re.compile(r"""\benv(?:iron)?(?:\.get\(\s*"([A-Z][A-Z0-9_]+)"|\["([A-Z][A-Z0-9_]+)"\](?!\s*=[^=]))""")
# Set by the start script, by the operating system, by the terminal, and by Spark in pods.
_NOT_OURS = {"FRAZIL_PROGRAM", "PATH", "COLUMNS", "SPARK_EXECUTOR_MEMORY"}


def sources() -> dict[Path, str]:
    """The program's text, without the declarations."""
    return {
        path: path.read_text() for path in _SOURCES.rglob("*.py") if path.name not in ("variable.py", "variables.py")
    }


def test_what_the_program_reads_is_declared() -> None:
    read = {name for text in sources().values() for names in _READ.findall(text) for name in names if name}
    assert {"TRINO_PASSWORD", "JAVA_HOME"} <= read
    assert read - _NOT_OURS <= VARIABLES.keys()


def test_what_is_declared_is_read() -> None:
    text = "\n".join(sources().values())
    fallbacks = {variable.fallback for variable in VARIABLES.values()}
    by_key = {name for name in VARIABLES if f'"{Settings.key_of(name)}"' in text}
    unread = {name for name in VARIABLES if f'"{name}"' not in text} - fallbacks - by_key
    assert unread == {variable.name for variable in VARIABLES.values() if variable.no_effect}


def test_a_variable_says_where_it_counts_or_why_it_does_not() -> None:
    for variable in VARIABLES.values():
        assert bool(variable.used_by) != bool(variable.no_effect), variable.name
        assert variable.fallback is None or variable.fallback in VARIABLES


def test_defaults_name_known_variables() -> None:
    named = {name for v in VARIABLES.values() for name in re.findall(r"<(\w+)>", v.default)}
    assert named - {"HOME"} <= VARIABLES.keys()
