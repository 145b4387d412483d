"""Every error that the REST API answers with: one table of statuses, one form of the body."""

import errno
import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from frazil.errors import AlreadyExists, ConfigError, Fenced, FrazilError, NotFound, Rebalancing

logger = logging.getLogger(__name__)

_FULL = (errno.ENOSPC, errno.EDQUOT)

STATUSES: Mapping[type[FrazilError], int] = {
    ConfigError: 400,
    NotFound: 404,
    AlreadyExists: 409,
    Rebalancing: 409,
    Fenced: 409,
    FrazilError: 500,
}
"""Status by type of error, the first that fits. As in Kafka Connect, a service that does not answer is a 500."""

_REASONS = {
    404: "HTTP 404 Not Found",
    405: "HTTP 405 Method Not Allowed",
    406: "HTTP 406 Not Acceptable",
    415: "HTTP 415 Unsupported Media Type",
}


def error_response(status: int, message: str) -> JSONResponse:
    """`{error_code, message}`."""
    return JSONResponse({"error_code": status, "message": message}, status_code=status)


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer what HTTP itself refuses, an error of `STATUSES` with its own text, or a fault of the worker without
    details. A 500 is logged: a fault by the server, with its trace."""
    if isinstance(error, HTTPException):
        return error_response(error.status_code, _REASONS.get(error.status_code, error.detail))
    if not isinstance(error, FrazilError):
        return error_response(500, f"Internal error of the worker ({type(error).__name__}); its log has the details.")
    status = next(code for kind, code in STATUSES.items() if isinstance(error, kind))
    if status == 500:
        logger.error("%s %s failed: %s", request.method, request.url.path, error)
    return error_response(status, str(error))


async def _answer_system_error(request: Request, error: Exception) -> Response:
    """Tell of a full disk, whose log may have no room for more; what else the system refuses is a fault."""
    if not isinstance(error, OSError) or error.errno not in _FULL:
        raise error
    where = f" for {error.filename}" if error.filename else " in the folder of the worker"
    message = f"No space is left{where}. Free some, look what the connector is by now, and send the request again."
    logger.error("%s %s failed: %s", request.method, request.url.path, message)
    return error_response(500, message)


async def _answer_nobody(request: Request, error: Exception) -> Response:
    """Give what nobody reads: the client has gone in the midst of its request."""
    return error_response(400, "The request ended before its body did.")


ERROR_HANDLERS = {
    **dict.fromkeys((HTTPException, FrazilError, Exception), answer_error),
    OSError: _answer_system_error,
    ClientDisconnect: _answer_nobody,
}
"""Handlers of the application's errors."""
