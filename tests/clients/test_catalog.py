from __future__ import annotations

import pytest
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    ForbiddenError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    UnauthorizedError,
)
from requests.exceptions import ConnectionError, ReadTimeout, RequestException

from frazil.clients.catalog import catalog_error, connect
from frazil.errors import ConfigError, ServiceUnavailable


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionError(), ServiceUnavailable),
        (ReadTimeout(), ServiceUnavailable),
        (ServerError("500"), ServiceUnavailable),
        (ServiceUnavailableError("503"), ServiceUnavailable),
        (TooManyRequestsError("429"), ServiceUnavailable),
        (AuthorizationExpiredError("419"), ServiceUnavailable),
        (ForbiddenError("403"), ConfigError),
        (UnauthorizedError("401"), ConfigError),
        (RESTError("no such warehouse"), ConfigError),
    ],
)
def test_what_passes_and_what_does_not(error: RequestException | RESTError, kind: type[Exception]) -> None:
    made = catalog_error("http://127.0.0.1:1", "table a.b", error)
    assert type(made) is kind
    assert "http://127.0.0.1:1" in str(made)
    assert "table a.b" in str(made)


@pytest.mark.parametrize("uri", ["127.0.0.1:8181", "htp://127.0.0.1:8181", "http://[::1"])
def test_a_uri_that_cannot_be_asked(uri: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be asked: .* Correct iceberg\.catalog\.uri or ICEBERG_CATALOG_URI"):
        connect({"type": "rest", "uri": uri, "warehouse": "w"})
