"""Sends requests on to the leader of the group or the owner of a connector: one hop, and never in a circle."""

import logging
import time
from collections.abc import Callable
from typing import Any, Literal, Protocol

import httpx
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from frazil.errors import Rebalancing
from frazil.worker.lifecycle.herder import CONFLICT
from frazil.worker.rest.paths import sent_path
from frazil.worker.storage.configs import NO_LEADER
from frazil.worker.storage.session import ALGORITHM, SessionKeys

logger = logging.getLogger(__name__)

OtherWorker = Literal["leader", "owner"]
"""The worker of the group that writes configurations, or the one that runs the connector."""

HOP, _TO = "frazil-forwarded-by", "frazil-forwarded-to"
_SIGNATURE, _ALGORITHM = "x-connect-authorization", "x-connect-request-signature-algorithm"
_FORGED = "Internal request contained invalid signature."
_AT = "frazil-config-offset"
_READ_S = 5.0
_ASK_S = 0.1
_ANSWER_S, _TELL_S, _CONNECT_S = 95.0, 10.0, 5.0
"""Seconds for the answer to a change, which clients wait for as long, to a question, and for a connection."""
_LIST_S = 3.0
# Of one connection only (RFC 9110, 7.6.1), or made anew by the client of this hop.
_OWN = {
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "content-encoding",
    "accept-encoding",
    "x-connect-authorization",
    "x-connect-request-signature-algorithm",
}


class Group(Protocol):
    """The group, as far as forwarding needs it."""

    @property
    def leads(self) -> bool:
        """Whether this worker writes configurations."""
        ...

    def runs(self, name: str) -> bool:
        """Whether this worker runs a connector."""
        ...

    def leader_url(self) -> str | None:
        """URL of the leader; None while the group rebalances."""
        ...

    def url_of(self, name: str) -> str | None:
        """URL of the worker that runs a connector; None while the group rebalances."""
        ...

    @property
    def position(self) -> int:
        """Offset behind the last configuration that this worker has read."""
        ...

    def read_until(self, position: int, timeout: float) -> bool:
        """Whether this worker has read up to that offset within `timeout` seconds."""
        ...

    @property
    def session(self) -> SessionKeys:
        """Keys for signatures."""
        ...


class Forwarder:
    """Gets the answers of other workers of the group."""

    def __init__(
        self,
        group: Group,
        worker_id: str,
        make_client: Callable[[], httpx.Client] | None = None,
        patience_s: float = 5.0,
    ) -> None:
        """`make_client` makes the HTTP client for requests to other workers. A group that rebalances is waited for, for
        `patience_s` seconds at most."""
        self._group = group
        self._patience_s = patience_s
        self._worker_id = worker_id
        make = make_client or (lambda: httpx.Client(trust_env=False))
        self._http = make()

    def close(self) -> None:
        """Close the connections to the other workers."""
        self._http.close()

    def is_here(self, place: OtherWorker, name: str | None) -> bool:
        """Whether this worker is the leader, or the owner of connector `name`."""
        return self._group.leads if place == "leader" else name is None or self._group.runs(name)

    def check(self, request: Request, body: bytes) -> None:
        """Check a request that another worker has sent on; those of clients pass.

        Raises HTTPException 403 when no worker of the group has signed it, Rebalancing when it is for the leader, which
        this one is not.
        """
        if not {HOP, _TO}.isdisjoint(request.headers.keys()):
            query: bytes = request.scope.get("query_string", b"")
            target = sent_path(request.scope) + b"?" + query
            message = _message(request.method, target, request.headers.get(_TO, ""), body)
            if not self._group.session.is_signed(message, request.headers.get(_SIGNATURE, "")):
                raise HTTPException(403, _FORGED)
        if sent_to(request) == "leader" and not self._group.leads:
            raise Rebalancing(CONFLICT)

    def mark(self, response: Response) -> None:
        """Add a header that tells the worker that has sent the request on up to which offset it has to read."""
        response.headers[_AT] = str(self._group.position)

    def send(self, request: Request, place: OtherWorker, name: str | None, body: bytes) -> Response:
        """The answer of the other worker; what that one has changed, this one has read when this returns.

        Raises Rebalancing with Connect's text when it is not settled which one that is, when it does not answer, and
        for a request that was sent on already.
        """
        if HOP in request.headers:
            raise Rebalancing(CONFLICT)
        target = sent_path(request.scope).decode("latin-1")
        headers = [(key, value) for key, value in request.headers.raw if key.decode().lower() not in _OWN]
        give_up = time.monotonic() + self._patience_s
        while True:
            url = self._settled_url(None if place == "leader" else name, give_up)
            answer = self._ask(request, place, f"{url.rstrip('/')}{target}", headers, body)
            if answer is not None and not _refused(answer):
                break
            if time.monotonic() >= give_up:
                raise Rebalancing(CONFLICT)
            time.sleep(_ASK_S)
        if answer.headers.get(_AT, "").isdecimal():
            self._group.read_until(int(answer.headers[_AT]), _READ_S)
        kept = {key: value for key, value in answer.headers.items() if key.lower() not in _OWN}
        return Response(answer.content, status_code=answer.status_code, headers=kept)

    def all_of_leader(self, request: Request) -> dict[str, Any] | None:
        """All connectors with `info` and `status` by name, as the leader tells whoever has sent `request`; None when
        it does not within 3 s."""
        url = self._group.leader_url()
        if url is None:
            return None
        kept = {name: request.headers[name] for name in ("authorization", "host") if name in request.headers}
        target = httpx.URL(f"{url.rstrip('/')}/connectors?expand=info&expand=status")
        try:
            headers = {**kept, **self._own_headers("GET", target, "leader", b"")}
            answer = self._http.get(target, headers=headers, timeout=_LIST_S)
            found = answer.json() if answer.is_success else None
        except (httpx.HTTPError, ValueError, Rebalancing) as error:
            logger.warning("the worker at %s: %s to a list of connectors", httpx.URL(url).netloc.decode(), error)
            return None
        return found if isinstance(found, dict) else None

    def _own_headers(self, method: str, url: httpx.URL, place: OtherWorker, body: bytes) -> dict[str, str]:
        """Headers with which a request is sent on; raises Rebalancing while the group has no key for its signature.

        Each has a connection of its own: one that was kept might be closed by the other worker at this very moment.
        """
        signature = self._group.session.sign(_message(method, url.raw_path, place, body))
        if signature is None:
            raise Rebalancing(NO_LEADER)
        own = {HOP: self._worker_id, _TO: place, "connection": "close"}
        return {**own, _SIGNATURE: signature, _ALGORITHM: ALGORITHM}

    def _ask(
        self, request: Request, place: OtherWorker, target: str, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> httpx.Response | None:
        """Send the request; None when there is no answer and nothing was changed: no connection, or a question."""
        url = httpx.URL(target, query=request.scope.get("query_string", b""))
        asks = request.method in ("GET", "HEAD")
        own = self._own_headers(request.method, url, place, body)
        headers = [*headers, *((key.encode(), value.encode()) for key, value in own.items())]
        timeout = httpx.Timeout(_TELL_S if asks else _ANSWER_S, connect=_CONNECT_S)
        try:
            return self._http.request(request.method, url, headers=headers, content=body, timeout=timeout)
        except httpx.HTTPError as error:
            logger.warning("the worker at %s: %s to %s", url.netloc.decode(), type(error).__name__, request.method)
            if asks or isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                return None
            raise Rebalancing(CONFLICT) from None

    def _settled_url(self, name: str | None, give_up: float) -> str:
        """URL of the worker of a connector, or without a name that of the leader."""
        while True:
            url = self._group.leader_url() if name is None else self._group.url_of(name)
            if url is not None:
                return url
            if time.monotonic() >= give_up:
                raise Rebalancing(NO_LEADER)
            time.sleep(_ASK_S)


def sent_to(request: Request) -> str | None:
    """`leader` or `owner`, when another worker has sent the request on to it; None when a client has sent it."""
    return request.headers.get(_TO)


def _refused(answer: httpx.Response) -> bool:
    """Whether the other worker has refused because it is not the right one either, or does not know the key yet."""
    texts = {httpx.codes.CONFLICT: CONFLICT, httpx.codes.FORBIDDEN: _FORGED}
    return answer.status_code in texts and answer.json().get("message") == texts[httpx.codes(answer.status_code)]


def _message(method: str, target: bytes, place: str, body: bytes) -> bytes:
    """Bytes that the signature of a request is of; `target` is path and query."""
    path, _, query = target.partition(b"?")
    return b"\n".join((method.encode(), path, query, place.encode(), body))
