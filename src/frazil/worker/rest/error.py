"""The body of every error (connect-rest.md 4.1)."""

from __future__ import annotations

from starlette.responses import JSONResponse


def error_response(status: int, message: str) -> JSONResponse:
    """`{error_code, message}`."""
    return JSONResponse({"error_code": status, "message": message}, status_code=status)
