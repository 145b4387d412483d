"""Question: a name, a statement in Trino's dialect, and the parameters that it takes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from frazil.minio.questions.calls import RELATIONS

Value = str | int | datetime

_PLACEHOLDER = re.compile(r"(?<!:):([a-z_]+)\b")


@dataclass(frozen=True)
class Parameter:
    """Parameter `:name` of a question; `type` is the type of its value."""

    name: str
    type: type[Value]
    meaning: str


#: Every parameter of every question. A condition whose parameter has no value is left out of the statement.
PARAMETERS: dict[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        Parameter("since", datetime, "records from this time on"),
        Parameter("until", datetime, "records before this time"),
        Parameter("bucket", str, "records of this bucket"),
        Parameter("object", str, "records of this object, its whole key"),
        Parameter("user", str, "records of this user: user name, access key or name in a token"),
        Parameter("rows", int, "rows at most"),
    )
}


@dataclass(frozen=True)
class Question:
    """A question to the log tables.

    `sql` may read the tables `apilogs`, `errorlogs` and `auditlogs` and the relations of
    `frazil.minio.questions.calls`; a parameter is written `:since`. `columns` describes the columns of the answer in
    their order, `rows` is how many rows it has at most unless asked otherwise. `required` are parameters without which
    the question cannot be asked. `table` is the one of `init --with aggregates` that it reads in place of these.
    """

    name: str
    title: str
    answers: str
    columns: Mapping[str, str]
    sql: str
    rows: int = 20
    required: tuple[str, ...] = ()
    table: str = ""

    @property
    def view(self) -> str:
        """Name of the question in SQL."""
        return self.name.replace("-", "_")

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """Names of the relations that the statement reads, itself or through another one, in the order of RELATIONS."""
        named: list[str] = []
        text = self.sql
        for name, body in reversed(RELATIONS.items()):
            if re.search(rf"\b{name}\b", text):
                named.insert(0, name)
                text += body
        return tuple(named)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the question, in the order of PARAMETERS."""
        named = set(_PLACEHOLDER.findall(" ".join([self.sql, *(RELATIONS[name] for name in self.relations)])))
        return tuple(parameter for parameter in PARAMETERS.values() if parameter.name in named)
