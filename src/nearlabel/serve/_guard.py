"""What every request passes first: size, speed, type, host and token; and problems as answers (RFC 9457)."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.requests import ClientDisconnect

from nearlabel.serve._shapes import VERSION
from nearlabel.serve._workbench import PAGE

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OPEN = ("/health", "/ready", *PAGE)  # without a token: they have nothing of the model
_GONE = 499  # in the log: the client went away before its body was whole
_BODIES = {"application/json", "text/csv"}


class Limits(NamedTuple):
    """Limits of a request; a larger one is refused with a reason.

    Parameters
    ----------
    body : int, default=16 MiB
        Bytes of the body.
    rows : int, default=10000
    seconds : float, default=60
        For the body to arrive, and then until the answer.
    """

    body: int = 2**24
    rows: int = 10_000
    seconds: float = 60.0


def problem(status: int, detail: str) -> tuple[int, bytes]:
    """Return a status and the JSON of a problem."""
    title = HTTPStatus(status).phrase
    return status, json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail}).encode()


class Guard:
    """Answers requests that no model may see, and passes the others on, their bodies bounded.

    Without a token only the names of this machine are served, so that a page of another site can neither send requests
    (their content type needs a permission, which is not given) nor reach the service under a name of its own.
    """

    def __init__(
        self,
        app: App,
        *,
        token: str,
        limits: Limits,
        seen: Callable[[str, str, int, float], None],
        failed: Callable[[str, Exception], str],
    ) -> None:
        self._app, self._token, self._limits, self._seen, self._failed = app, token, limits, seen, failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check and pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, begin = 0, time.perf_counter()

        async def marked(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(one for one in _HEADERS if one[0] not in own)]
            await send(message)

        headers = {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await _send(marked, *refused)
            self._seen(scope["method"], "refused", status, 0.0)
            return
        try:
            await self._app(scope, self._bounded(receive), marked)
        except ClientDisconnect:
            status = _GONE
        except Exception as error:  # noqa: BLE001 - the server would log its message, which may have contents of rows
            detail = self._failed(_route_of(scope), error)
            if not status:
                await _send(marked, *problem(500, detail))
        finally:
            self._seen(scope["method"], _route_of(scope), status, time.perf_counter() - begin)

    def _bounded(self, receive: Receive) -> Receive:
        """Return how to receive a body that neither gets too long nor takes too long."""
        left, limits = self._limits.body, self._limits
        end: float | None = asyncio.get_running_loop().time() + limits.seconds

        async def bounded() -> MutableMapping[str, Any]:
            nonlocal left, end
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                raise BodyTooSlowError(f"the body must arrive within {limits.seconds:g} seconds, got less.") from None
            left -= len(message.get("body", b""))
            if left < 0:
                raise BodyTooLargeError(f"the body must have at most {limits.body} bytes, got more.")
            if not message.get("more_body"):
                end = None
            return message

        return bounded

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, bytes] | None:
        if self._token:
            given = _token_in(headers.get("authorization", ""))
            if scope["path"] not in _OPEN and not hmac.compare_digest(given.encode(), self._token.encode()):
                return problem(
                    401, "Authorization must be 'Bearer' and the token of the service, or 'Basic' with it as password."
                )
        elif _name_of(headers.get("host", "")) not in LOOPBACK:
            return problem(403, f"Host must be a name of this machine without a token, one of {', '.join(LOOPBACK)}.")
        if scope["method"] in ("POST", "PUT", "PATCH"):
            length = headers.get("content-length", "0")
            if length.isdecimal() and int(length) > self._limits.body:
                return problem(413, f"the body must have at most {self._limits.body} bytes, got {length}.")
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in _BODIES:
                return problem(415, f"Content-Type must be one of {', '.join(sorted(_BODIES))}, got {kind!r}.")
        return None


class BodyTooLargeError(ValueError):
    """The body is longer than allowed, whatever its header declares."""


class BodyTooSlowError(Exception):
    """The body does not arrive in time."""


_HEADERS = [
    (b"nearlabel-api", VERSION.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),  # pages have their own
]


def _token_in(authorization: str) -> str:
    """Return the token of a header: after 'Bearer', or the password of 'Basic', which annotation tools send."""
    scheme, _, given = authorization.partition(" ")
    if scheme != "Basic":
        return given if scheme == "Bearer" else ""
    try:
        return b64decode(given, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _name_of(host: str) -> str:
    """Return the name in a Host header, without the port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _route_of(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", "none")


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/problem+json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
