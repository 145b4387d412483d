"""Methods, content negotiation, bodies and error forms."""

from __future__ import annotations

import errno
import re
import socket
from urllib.parse import unquote

import httpx
import pytest

from frazil.errors import ServiceUnavailable
from frazil.worker.lifecycle.herder import Herder
from tests.waits import eventually
from tests.worker.rest.requests import assert_error, create, sink

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("path", ["/nope", "/connectors/c/tasks-config", "/connectors/c/tasks/x/status", "/metrics"])
def test_unknown_paths(client: httpx.Client, path: str) -> None:
    assert_error(client.get(path), 404, "HTTP 404 Not Found")


def test_wrong_methods(client: httpx.Client) -> None:
    assert_error(client.delete("/connectors"), 405, "HTTP 405 Method Not Allowed")
    assert_error(client.get("/connectors/c/restart"), 405, "HTTP 405 Method Not Allowed")
    assert_error(client.request("DISPATCH", "/connectors"), 405, "HTTP 405 Method Not Allowed")


@pytest.mark.parametrize("accept", ["text/html", "application/xml, text/*", "application/json;q=0"])
def test_not_acceptable_comes_before_not_found_of_a_connector(client: httpx.Client, accept: str) -> None:
    assert_error(client.get("/connectors/x", headers={"accept": accept}), 406, "HTTP 406 Not Acceptable")
    assert_error(client.get("/nope", headers={"accept": accept}), 404, "HTTP 404 Not Found")


def test_the_root_takes_browsers_that_want_html_alone(client: httpx.Client) -> None:
    answer = client.get("/", headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json"), "there is no console here"
    assert_error(client.get("/", headers={"accept": "image/png"}), 406, "HTTP 406 Not Acceptable")


@pytest.mark.parametrize("accept", ["*/*", "application/*", "text/html, APPLICATION/JSON;q=0.1", ""])
def test_acceptable(client: httpx.Client, accept: str) -> None:
    assert client.get("/connectors", headers={"accept": accept}).status_code == 200


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_needs_the_json_media_type(client: httpx.Client, content_type: str | None) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    response = client.put("/connectors/c/config", content=b"{}", headers=headers)
    assert_error(response, 415, "HTTP 415 Unsupported Media Type")


def test_the_media_type_may_have_parameters_and_any_case(client: httpx.Client) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    response = client.put("/connectors/c/config", content=b"{}", headers=headers)
    assert_error(response, 400, "Connector config {name} contains no connector type")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The request has no body; send a JSON object."),
        (b"null", "The request body is missing or not a JSON object; send an object of keys and values."),
        (b"[1]", "The request body is missing or not a JSON object; send an object of keys and values."),
        (b'{"a": "top-secret', "The request body is not JSON: Unterminated string starting at at line 1, column 7."),
        (b'{"a": NaN}', "The request body is not JSON: NaN is no JSON value."),
        (b'{"a": "\xff"}', "The request body is not JSON: byte 7 is not UTF-8."),
        (b"[" * 200_000, "The request body is not JSON that can be a configuration: it is nested too deeply."),
        (b'{"a": {"b": 1}}', "The value of a is an object; send it as a string."),
        (
            b'{"name": "a", "config": {"b": "1"}}',
            "The request body has the keys under config, as POST /connectors takes them; send what is in config by "
            "itself.",
        ),
        (b'{"a": "\\ud800"}', "The value of a has a lone surrogate, which is not Unicode text."),
        (b'{"\\ud800": "a"}', "The request body has a lone surrogate, which is not Unicode text."),
    ],
)
def test_malformed_bodies(client: httpx.Client, body: bytes, message: str) -> None:
    assert_error(client.put("/connectors/c/config", content=body, headers=JSON), 400, message)


def test_a_body_of_more_than_a_mebibyte_is_refused(client: httpx.Client) -> None:
    body = b'{"a": "' + b"x" * (1 << 20) + b'"}'
    message = "The request body is larger than 1048576 bytes; nothing was changed."
    assert_error(client.put("/connectors/c/config", content=body, headers=JSON), 413, message)
    chunks = iter([body[:1000], body[1000:]])
    assert_error(client.put("/connectors/c/config", content=chunks, headers=JSON), 413, message)


def test_the_body_of_a_get_is_not_read(client: httpx.Client) -> None:
    response = client.request("GET", "/connectors", content=b"{", headers=JSON)
    assert (response.status_code, response.json()) == (200, [])
    for content in (b"{", b""):
        response = client.request("GET", "/connectors", content=content, headers={"content-type": "text/plain"})
        assert_error(response, 415, "HTTP 415 Unsupported Media Type")


def test_head_and_options(client: httpx.Client) -> None:
    head = client.head("/connectors")
    assert (head.status_code, head.content, head.headers["content-type"]) == (200, b"", "application/json")
    assert client.head("/connectors/x").status_code == 404
    options = client.options("/connectors", headers={"accept": "text/plain"})
    assert (options.status_code, options.text) == (200, "GET,HEAD,OPTIONS,POST")
    assert options.headers["allow"] == "GET,HEAD,OPTIONS,POST"
    assert client.options("/connectors", headers={"accept": "application/json"}).content == b""


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (b"//connectors", "Ambiguous URI empty segment"),
        (b"/connectors//status", "Ambiguous URI empty segment"),
        (b"/connectors/%ff", "The path has an escape that is not UTF-8"),
        (b"/connectors/a%00", "The path has an escaped NUL"),
    ],
)
def test_paths_that_are_refused(client: httpx.Client, path: bytes, message: str) -> None:
    with socket.create_connection((client.base_url.host, client.base_url.port or 0), 5) as connection:
        connection.sendall(b"GET " + path + b" HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert message.encode() in answer


def test_faults_of_the_worker_are_json_without_details(
    client: httpx.Client, herder: Herder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> list[str]:
        raise ZeroDivisionError("top-secret")

    monkeypatch.setattr(herder, "connectors", broken)
    response = client.get("/connectors")
    assert_error(response, 500, "Internal error of the worker (ZeroDivisionError); its log has the details.")
    eventually(lambda: "ZeroDivisionError" in caplog.text)


@pytest.mark.parametrize(
    ("file", "place"), [("/home/worker/x.json", "for /home/worker/x.json"), (None, "in the folder of the worker")]
)
def test_a_full_disk_is_told(
    client: httpx.Client, herder: Herder, monkeypatch: pytest.MonkeyPatch, file: str | None, place: str
) -> None:
    def full() -> list[str]:
        raise OSError(errno.ENOSPC, "No space left on device", file)

    monkeypatch.setattr(herder, "connectors", full)
    told = f"No space is left {place}. Free some, look what the connector is by now, and send the request again."
    assert_error(client.get("/connectors"), 500, told)

    def refused() -> list[str]:
        raise PermissionError(errno.EACCES, "top-secret")

    monkeypatch.setattr(herder, "connectors", refused)
    text = "Internal error of the worker (PermissionError); its log has the details."
    assert_error(client.get("/connectors"), 500, text)


def test_a_client_that_goes_in_the_midst_of_its_request_fills_no_log(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    head = (
        b"POST /connectors HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    )
    url = client.base_url
    for _ in range(3):
        with socket.create_connection((url.host, url.port or 0)) as connection:
            connection.sendall(head)
    eventually(lambda: client.get("/connectors").status_code == 200)
    assert "ClientDisconnect" not in caplog.text


def test_a_service_that_does_not_answer(
    client: httpx.Client, herder: Herder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    create(client)

    def broken(name: str) -> None:
        raise ServiceUnavailable("The broker at 127.0.0.1:9092 does not answer")

    monkeypatch.setattr(herder, "info", broken)
    assert_error(client.get("/connectors/c/offsets"), 500, "The broker at 127.0.0.1:9092 does not answer")
    assert "does not answer" in caplog.text


PLUGIN = "/connector-plugins/IcebergSinkConnector/config/validate"
MISSPELT = "iceberg.tabels is not a key of this connector and has no effect; did you mean iceberg.tables?"


def warnings(answer: httpx.Response) -> list[str]:
    return [unquote(text) for text in re.findall(r'299 frazil "([^"]*)"', answer.headers.get("warning", ""))]


def test_a_misspelt_key_is_told_by_each_answer_about_the_configuration(client: httpx.Client) -> None:
    config = sink("c", **{"iceberg__tabels": "a.b", 'ü"x': "1"})
    answers = [
        client.put(PLUGIN, json=config),
        client.post("/connectors", json={"name": "c", "config": config}),
        client.put("/connectors/c/config", json=config),
        client.patch("/connectors/c/config", json={"tasks.max": "2"}),
        client.get("/connectors/c"),
    ]
    for answer in answers:
        assert answer.status_code in (200, 201)
        assert MISSPELT in warnings(answer)
        assert 'ü"x is not a key of this connector and has no effect' in warnings(answer)


def test_a_right_configuration_has_none_and_many_are_bounded(client: httpx.Client) -> None:
    assert warnings(client.put(PLUGIN, json=sink("c"))) == []
    config = sink("c", **{f"{'x' * 3000}{number}": "1" for number in range(200)})
    answer = client.put("/connectors/c/config", json=config)
    assert answer.status_code == 201
    assert len(warnings(answer)) == 20
    assert len(answer.headers["warning"]) < 16_000
