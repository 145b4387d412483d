"""Remedies: commands that change a table so that it takes what it has refused."""

import re
import shlex

_TAKES = re.compile(r"frazil\.schema\.path\.(.{1,500}?)=(.{1,500}?) takes such values too")
_REFUSED_BY = re.compile(r" for type (\w+)\b")
_REQUIRED = re.compile(r"the required value is (null|missing)\b")
_WIDENED = {("int", "long"), ("float", "double")}
"""Types that a column can get without the table being made anew."""


def remedy(path: str, reason: str, table: str) -> str:
    """The command for a column that has refused a value, by what a dead letter tells; empty when none helps."""
    if not table or not path:
        return ""
    if _REQUIRED.match(reason):
        return _command("alter", table, "--optional", path)
    takes = _TAKES.search(reason)
    if takes is None:
        return ""
    wanted, type_ = takes.groups()
    refused_by = _REFUSED_BY.search(reason)
    if refused_by is not None and (refused_by[1], type_) in _WIDENED:
        return _command("alter", table, "--widen", f"{wanted}={type_}")
    return _command("remake", table, "-s", f"frazil.schema.path.{wanted}={type_}")


def _command(verb: str, table: str, option: str, value: str) -> str:
    return shlex.join(["frazil", "tables", verb, table, option, value])
