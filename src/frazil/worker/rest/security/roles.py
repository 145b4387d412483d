"""Roles of users of the REST API: what each may ask for."""

from __future__ import annotations

import re
from enum import StrEnum


class Role(StrEnum):
    """A reader looks, an operator pauses and restarts as well, an admin does everything."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"

    def may(self, method: str, path: str) -> bool:
        """Whether users of the role may make such a request."""
        if self is Role.ADMIN or method in _LOOKING:
            return True
        allowed = _CHECKS if self is Role.READER else _CHECKS + _OPERATIONS
        return any(method == one and pattern.fullmatch(path.rstrip("/")) for one, pattern in allowed)


_LOOKING = ("GET", "HEAD", "OPTIONS")
_CHECKS = (
    ("PUT", re.compile(r"/connector-plugins/[^/]+/config/validate")),
    ("POST", re.compile(r"/ui/sql/answer")),  # which reads only
)
_OPERATIONS = (
    ("PUT", re.compile(r"/connectors/[^/]+/(pause|resume|stop|topics/reset)")),
    ("POST", re.compile(r"/connectors/[^/]+/(tasks/[^/]+/)?restart")),
    ("PUT", re.compile(r"/admin/loggers/[^/]+")),
)
