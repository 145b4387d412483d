"""Statements that both engines answer alike, the answers that Trino 476 gave, and statements that only Trino answers.

A `.sql` file has statements after a comment with their name; those that only Trino answers are in `refused.sql`. What a
name beginning with `live:` answers is new in each run, so it is only compared between the engines. `RECORD_CORPUS=1`
makes the tests with Trino write `answers.json`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from frazil.sql.result import Result
from frazil.sql.value_text import json_value

_FOLDER = Path(__file__).parent
_ANSWERS = _FOLDER / "answers.json"
_REFUSED = _FOLDER / "refused.sql"
RECORDING = os.environ.get("RECORD_CORPUS") == "1"


def statements() -> dict[str, str]:
    """Every statement that both engines answer, by its name."""
    return _named(path for path in sorted(_FOLDER.glob("*.sql")) if path != _REFUSED)


def refused() -> dict[str, str]:
    """Every statement that the embedded engine has to refuse, by its name."""
    return _named([_REFUSED])


def _named(paths: Iterable[Path]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in paths:
        for part in re.split(r"^-- (?=.+$)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            name, _, sql = part.partition("\n")
            assert name not in found, f"{name} is there twice"
            found[name] = sql.strip().removesuffix(";")
    return found


def answers() -> dict[str, Any]:
    """What Trino answered, by the name of the statement."""
    return json.loads(_ANSWERS.read_text(encoding="utf-8")) if _ANSWERS.exists() else {}


def record(found: dict[str, Any]) -> None:
    """Keep what Trino answered."""
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name], ensure_ascii=False)}" for name in sorted(found))
    _ANSWERS.write_text("{\n" + text + "\n}\n", encoding="utf-8")


def comparable(sql: str, result: Result) -> dict[str, Any]:
    """An answer as JSON: names in lower case, types, values with their types; sorted where the statement does not."""
    rows = [[_value(value) for value in row] for row in result.rows]
    if re.match("DESCRIBE|SHOW COLUMNS", sql):
        rows = [[name.lower(), *rest] for name, *rest in rows]
    if not re.search(r"ORDER BY(?!.*OVER)[^()]*$", sql.split(" OVER ")[-1], re.IGNORECASE | re.DOTALL):
        rows.sort(key=lambda row: json.dumps(row, sort_keys=True))
    types = [re.sub(r"(varchar|char)\(\d+\)", r"\1", kind).replace(" ", "").lower() for kind in result.types]
    return {"columns": [name.lower() for name in result.columns], "types": types, "rows": rows}


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return {"map": sorted(([str(_value(key)), _value(item)] for key, item in value.items()), key=lambda p: p[0])}
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, float):
        return {"double": repr(value)}
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.isoformat()
    return json_value(value)
