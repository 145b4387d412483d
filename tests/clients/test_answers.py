from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from frazil.clients.answers import whole_answer
from tests import web

PIECE = b" " * 1000


class Slow(web.Handler):
    def do_GET(self) -> None:
        body = gzip.compress(PIECE * 10)
        self.send_response(302 if self.path == "/moved" else 200)
        self.send_header("Location", "/elsewhere")
        if self.path == "/packed":
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # of a client that has seen enough
            if self.path == "/packed":
                self.wfile.write(body)
            while self.path in ("/endless", "/drip"):
                self.wfile.write(PIECE if self.path == "/endless" else b" ")
                time.sleep(0.05 if self.path == "/drip" else 0)


@pytest.fixture
def url() -> Iterator[str]:
    with web.served(Slow) as url:
        yield url


def test_an_answer_is_as_it_came(url: str) -> None:
    with httpx.Client() as http:
        answer = whole_answer(http, "GET", f"{url}/packed", 10_000)
        assert (answer.status_code, answer.content, str(answer.url)) == (200, PIECE * 10, f"{url}/packed")
        assert whole_answer(http, "GET", f"{url}/moved", 10).is_redirect


@pytest.mark.parametrize("path", ["endless", "packed"])
def test_an_answer_that_is_too_large_is_not_read_to_its_end(url: str, path: str) -> None:
    with httpx.Client() as http, pytest.raises(httpx.ReadError, match="its answer has more than 9,999 bytes"):
        whole_answer(http, "GET", f"{url}/{path}", 9_999)


def test_an_answer_that_comes_byte_by_byte_has_the_time_of_the_whole(url: str) -> None:
    with httpx.Client(timeout=0.3) as http, pytest.raises(httpx.ReadTimeout, match="is not there after 0.3 s"):
        whole_answer(http, "GET", f"{url}/drip", 10_000)
