"""Who may ask: the browser that was given the token, of this machine, from the page itself.

A cookie of 127.0.0.1 goes to every port of it, so also to a server of somebody else: it is bound to a path that nobody
else can guess, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = "127.0.0.1"
_MOST = 64_000  # bytes of what is asked

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# The cookie would not go with a redirect of who comes from elsewhere; with a page that loads the next, it does.
_WELCOME = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>duckanon</title>
<meta http-equiv="refresh" content="0; url=./"></head><body><a href="./">explore</a></body></html>
"""
_REFUSED = b"refused: open the address that duckanon explore has printed\n"


class Guard:
    """Stands before an application: what it lets through comes from the page that was opened with the token."""

    def __init__(self, app: App, port: int) -> None:
        self._app = app
        self._host = f"{LOOPBACK}:{port}"
        self._token, self._key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.room = secrets.token_urlsafe(12)

    @property
    def origin(self) -> str:
        return f"http://{self._host}"

    @property
    def address(self) -> str:
        """With the token: for the one who has started it, and nobody else."""
        return f"{self.origin}/{self.room}/?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        asked = _Asked(scope)
        if not self._may_enter(asked) or not (asked.query or self._is_known(asked)):
            await _answer(send, 403, _REFUSED, "text/plain")
        elif asked.query:
            await self._welcome(asked, send)
        elif (body := await _body(asked, receive)) is None:
            await _answer(send, 413, b"refused: too much is asked at once\n", "text/plain")
        else:
            scope = {**scope, "path": f"/{asked.rest}", "raw_path": f"/{asked.rest}".encode(), "root_path": ""}
            await self._app(scope, _given(body), _with_headers(send))

    def _may_enter(self, asked: _Asked) -> bool:
        """By where it comes from: this Host, this path and, if there is an Origin, the page's own. What changes
        something is sent by the page's script, and as JSON."""
        host, origin, site = asked.only("host"), asked.only("origin"), asked.only("sec-fetch-site")
        if host != self._host or not _same(asked.room, self.room):
            return False
        if asked.method == "POST":
            return origin == self.origin and asked.only("content-type") == "application/json" and not asked.query
        own = origin in ("", self.origin) and (site in ("", "same-origin", "none") or bool(asked.query))
        return asked.method == "GET" and own

    async def _welcome(self, asked: _Asked, send: Send) -> None:
        """The token is changed for the cookie, and leaves the address."""
        if asked.rest or not _same(asked.token, self._token):
            await _answer(send, 403, b"refused: this is not the token\n", "text/plain")
            return
        cookie = f"{_cookie(self.room)}={self._key}; Path=/{self.room}/; HttpOnly; SameSite=Strict"
        await _answer(send, 200, _WELCOME, "text/html", {"set-cookie": cookie})

    def _is_known(self, asked: _Asked) -> bool:
        return _same(asked.cookie(_cookie(self.room)), self._key)


def _cookie(room: str) -> str:
    return f"duckanon-{room}"


class _Asked:
    """A request, as far as the guard looks at it."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"]
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        _, _, path = scope["path"].partition("/")
        self.room, slash, self.rest = path.partition("/")
        self.room = self.room if slash else ""
        self.query: str = scope["query_string"].decode("latin-1")

    def only(self, name: str) -> str:
        """The value of a header; none is empty, and several are something that nobody may be."""
        found = [value.decode("latin-1") for key, value in self._headers if key == name.encode()]
        return found[0] if len(found) == 1 else "several" if found else ""

    @property
    def token(self) -> str:
        name, _, value = self.query.partition("=")
        return value if name == "token" else ""

    def cookie(self, name: str) -> str:
        """Among those of whatever else runs on this machine, which may be written anyhow."""
        pairs = (part.strip().partition("=") for part in self.only("cookie").split(";"))
        return next((value for key, _, value in pairs if key == name), "")


def _same(one: str, other: str) -> bool:
    """In a time that tells nothing."""
    return secrets.compare_digest(one.encode(), other.encode())


async def _body(asked: _Asked, receive: Receive) -> bytes | None:
    """What is sent, if it is not too much; what is said of its length is not believed."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > _MOST:
            return None
    return body


def _given(body: bytes) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})

    return receive


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name, value) for name, value in message["headers"] if name.decode().lower() not in _HEADERS]
            message = {**message, "headers": [*own, *_encoded(_HEADERS)]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, body: bytes, kind: str, more: dict[str, str] | None = None) -> None:
    headers = {"content-type": f"{kind}; charset=utf-8", "content-length": str(len(body)), **(more or {})}
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
