"""Logins, TLS, CORS, headers and listeners of the REST API, over real HTTP."""

from __future__ import annotations

import base64
import logging
from pathlib import Path

import httpx
import pytest

from frazil.clients.connect import ConnectClient
from frazil.environment.access import ConnectAccess
from frazil.errors import ConfigError, ServiceUnavailable, TerminalError
from frazil.worker.rest.security.policy import RestPolicy
from frazil.worker.rest.security.users import USERS_FILE, hashed
from tests.tls import PASSWORD, Authority
from tests.worker.rest.security.serving import Serve

ROLES = {"reader": " reader", "operator": " operator", "admin": " admin", "ann": ""}


def test_a_user_is_asked_for(serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "users.properties"
    file.write_text(f"ops={hashed('top-secret')}\n")
    url, _ = serve({USERS_FILE: str(file)})
    refused = httpx.get(f"{url}/connectors")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Basic")
    assert refused.json() == {"error_code": 401, "message": "User cannot access the resource."}
    assert httpx.get(f"{url}/health").status_code == 200
    for path in ("/", "/connectors/x/config", "/admin/loggers", "/openapi.json", "/no/such/path", "/health/x"):
        assert httpx.get(url + path).status_code == 401, path
    for header in ("Bearer x", "Basic", "Basic %%%", "Basic " + base64.b64encode(b"ops").decode()):
        assert httpx.get(f"{url}/connectors", headers={"authorization": header}).status_code == 401
    assert caplog.records == []
    assert httpx.get(f"{url}/connectors", auth=("ops", "wrong-secret")).status_code == 401
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "login refused: user 'ops' from 127.0.0.1, GET /connectors" in record.getMessage()
    assert "secret" not in caplog.text
    with ConnectClient(ConnectAccess(url, "ops", "top-secret")) as client:
        assert client.connectors() == []
    for access, message in (
        (ConnectAccess(url), "it asks for a user"),
        (
            ConnectAccess(url, "ops", "wrong-secret"),
            "user ops was refused; correct KAFKA_CONNECT_USER and KAFKA_CONNECT_PASSWORD",
        ),
        (ConnectAccess(url, "ops", "wrong-secret", source="context x"), "user ops was refused; correct context x"),
    ):
        with ConnectClient(access) as client, pytest.raises(TerminalError) as error:
            client.connectors()
        assert message in str(error.value)
        assert "secret" not in str(error.value)


def test_a_role_says_what_a_user_may_ask_for(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "users.properties"
    lines = [f"{name}={hashed(f'{name}-secret')}{role}" for name, role in ROLES.items()]
    file.write_text("\n".join(lines))
    url, _ = serve({USERS_FILE: str(file)})
    requests = {
        ("GET", "/connectors"): "reader operator admin ann",
        ("PUT", "/connector-plugins/IcebergSink/config/validate"): "reader operator admin ann",
        ("PUT", "/connectors/x/pause"): "operator admin ann",
        ("PUT", "/connectors/x/stop/"): "operator admin ann",
        ("POST", "/connectors/x/restart?includeTasks=true"): "operator admin ann",
        ("POST", "/connectors/x/tasks/0/restart"): "operator admin ann",
        ("PUT", "/connectors/x/topics/reset"): "operator admin ann",
        ("POST", "/connectors"): "admin ann",
        ("PUT", "/connectors/x/config"): "admin ann",
        ("PUT", "/connectors/x%2Fpause/config"): "admin ann",
        ("PATCH", "/connectors/x/config"): "admin ann",
        ("PATCH", "/connectors/x/offsets"): "admin ann",
        ("DELETE", "/connectors/x/offsets"): "admin ann",
        ("DELETE", "/connectors/x"): "admin ann",
    }
    for (method, path), allowed in requests.items():
        for name in ROLES:
            answer = httpx.request(method, url + path, auth=(name, f"{name}-secret"), json={})
            assert (answer.status_code != 403) == (name in allowed.split()), (method, path, name, answer.text)
    answer = httpx.put(f"{url}/connectors/x/pause", auth=("reader", "reader-secret"))
    told = "User reader has the role reader, which may not PUT /connectors/x/pause."
    assert answer.json() == {"error_code": 403, "message": told}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


def test_tls(serve: Serve, authority: Authority) -> None:
    keys = {"ssl.keystore.location": str(authority.jks(authority.server, "s")), "ssl.keystore.password": PASSWORD}
    url, _ = serve({f"listeners.https.{key}": value for key, value in keys.items()}, "https://127.0.0.1:{0}")
    with ConnectClient(ConnectAccess(url, ca_file=authority.ca_file)) as client:
        assert client.root()["kafka_cluster_id"] == "cluster-1"
    with (
        ConnectClient(ConnectAccess(url)) as client,
        pytest.raises(
            ServiceUnavailable, match="CERTIFICATE_VERIFY_FAILED.*name a PEM file .* with KAFKA_CONNECT_CA_FILE"
        ),
    ):
        client.root()
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(url.replace("https", "http"))


def test_mutual_tls(serve: Serve, authority: Authority) -> None:
    keys = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.pem(authority.server, "s")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.ca_file),
        "ssl.client.auth": "required",
        "ssl.enabled.protocols": "TLSv1.2",
    }
    url, _ = serve(keys, "https://127.0.0.1:{0}")
    own = authority.pem(authority.client, "c")
    with ConnectClient(ConnectAccess(url, ca_file=authority.ca_file, cert_file=own)) as client:
        assert client.connectors() == []
    with ConnectClient(ConnectAccess(url, ca_file=authority.ca_file)) as client, pytest.raises(ServiceUnavailable):
        client.connectors()


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, "ssl.keystore.location is not set; a listener with https needs a certificate"),
        ({"listeners.https.ssl.client.auth": "none"}, "listeners.https.ssl.keystore.location is not set"),
        ({"ssl.client.auth": "perhaps"}, "ssl.client.auth is perhaps"),
        ({"ssl.client.auth": "required"}, "ssl.truststore.location is not set; ssl.client.auth=required needs it"),
        ({"ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols has SSLv3"),
    ],
)
def test_keys_of_tls_that_are_wrong(
    serve: Serve, authority: Authority, properties: dict[str, str], message: str
) -> None:
    store = {"ssl.keystore.location": str(authority.pem(authority.server, "s")), "ssl.keystore.type": "PEM"}
    with pytest.raises(ConfigError) as error:
        serve({**(store if "ssl." in next(iter(properties), "")[:4] else {}), **properties}, "https://127.0.0.1:{0}")
    assert message in str(error.value)


def test_admin_routes_on_an_address_of_their_own(serve: Serve) -> None:
    public, admin = serve({"admin.listeners": "http://127.0.0.1:{1}"})
    assert httpx.get(f"{public}/admin/loggers").status_code == 404
    assert httpx.get(f"{admin}/admin/loggers").status_code == 200
    assert httpx.get(f"{admin}/connectors").status_code == 404
    public, _ = serve({"admin.listeners": ""})
    assert httpx.get(f"{public}/admin/loggers").status_code == 404


def test_origins_and_headers(serve: Serve) -> None:
    url, _ = serve(
        {
            "access.control.allow.origin": "https://ui.example",
            "access.control.allow.methods": "GET,PUT",
            "response.http.headers.config": '"add Cache-Control: no-cache, no-store", set X-Frame-Options:DENY, '
            "setDate Expires",
        }
    )
    preflight = {"origin": "https://ui.example", "access-control-request-method": "PUT"}
    answer = httpx.options(f"{url}/connectors", headers=preflight)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-methods"] == "GET, PUT"
    answer = httpx.get(f"{url}/connectors/missing", headers={"origin": "https://ui.example"})
    assert answer.status_code == 404
    assert answer.headers["access-control-allow-origin"] == "https://ui.example"
    assert answer.headers["cache-control"] == "no-cache, no-store"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["expires"].endswith("GMT")
    other = httpx.get(f"{url}/connectors", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    "text", ["X-A: b", "drop X-A: b", "add X-A", "add X A: b", "set X-A: \x7f", "set X-A: \n", "add : b"]
)
def test_rules_for_headers_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match=r"response\.http\.headers\.config"):
        RestPolicy.load({"response.http.headers.config": text}, {})


def test_an_open_listener_without_users_is_told(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    serve({}, "http://0.0.0.0:{0}")
    assert "is open to the network and asks for no user" in caplog.text
