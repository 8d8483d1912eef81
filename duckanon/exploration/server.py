"""The local server: a page and a few questions, behind a guard. It listens to this machine only."""

from __future__ import annotations

import errno
import json
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import Any

from duckanon.comparison import Grid
from duckanon.engine.optional import needed
from duckanon.errors import DuckanonError, Fault, UsageError, said_of
from duckanon.exploration.exploring import Exploration
from duckanon.exploration.guard import LOOPBACK, Guard
from duckanon.exploration.page import Page, Told
from duckanon.exploration.saving import policy_text, save
from duckanon.exploration.setting import Setting, read_setting
from duckanon.policy.overrides import values

_BY = "duckanon explore"
_GIVEN_UP_AFTER = 1  # seconds that what is being answered may take when the server ends
_MOST_AT_ONCE = 64  # connections


def must_be_there() -> None:
    """Say which extra to install before any work is done."""
    needed("pages", "starlette", "uvicorn", "jinja2", "altair", "vl_convert", by=_BY)


@contextmanager
def reserved(port: int) -> Iterator[socket.socket]:
    """A port of this machine's own, 0: any. It is taken before anything is counted."""
    # Of a socket that does not name TCP, asyncio lets the last packet of every answer wait for 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind((LOOPBACK, port))
        except OSError as error:
            what = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be taken: {error.strerror}"
            raise UsageError([Fault(f"--port {port}", what, "choose another, or leave it out")]) from None
        yield place


def port_of(place: socket.socket) -> int:
    port: int = place.getsockname()[1]
    return port


def guarded(exploration: Exploration, policy: Path, command: Callable[[Path], str], port: int) -> Guard:
    """The application, and who stands before it. `command`: how a saved policy is run."""
    from anyio.to_thread import run_sync
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    asked = Asked(exploration, policy, command)

    def page(request: Request) -> Response:
        return HTMLResponse(asked.page.whole())

    def style(request: Request) -> Response:
        return Response(asked.page.style(), media_type="text/css")

    def script(request: Request) -> Response:
        return Response(asked.page.script(), media_type="text/javascript")

    def answering(answer: Callable[[Any], Told]) -> Any:
        async def answered(request: Request) -> Response:
            # What takes long does not keep the server from ending.
            status, told = await run_sync(_told, answer, await request.body(), abandon_on_cancel=True)
            return JSONResponse(told, status)

        return answered

    routes = [Route("/", page), Route("/explore.css", style), Route("/explore.js", script)]
    routes += [Route(f"/{name}", answering(answer), methods=["POST"]) for name, answer in asked.answers.items()]
    return Guard(Starlette(routes=routes), port)


def _told(answer: Callable[[Any], Told], body: bytes) -> tuple[int, Told]:
    """An answer, or what is wrong: never with a value of a row."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return 400, {"error": "this is not what the page sends"}
    try:
        return 200, answer(asked)
    except DuckanonError as error:
        return 400, {"error": _plain(said_of(error))}
    except KeyboardInterrupt:  # the statement was ended, with all else
        return 503, {"error": "closed"}
    except Exception as error:
        return 500, {"error": said_of(error)}


def _plain(text: str) -> str:
    """What was sent may be half of a sign, which nobody can send back."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Asked:
    """What the page asks, by name."""

    def __init__(self, exploration: Exploration, policy: Path, command: Callable[[Path], str]) -> None:
        self.exploration, self.policy, self.command = exploration, policy, command
        self.page = Page(exploration, policy.name)
        self.answers: dict[str, Callable[[Any], Told]] = {
            "figures": lambda asked: self.page.figures(self._setting(asked)),
            "more": lambda asked: self.page.more(self._setting(asked)),
            "search": lambda asked: self.page.found(exploration.search(self._setting(asked))),
            "compare": self._compare,
            "compared": lambda asked: self.page.compared(exploration.compared()),
            "stop": self._stop,
            "save": self._save,
        }

    def _setting(self, asked: Any) -> Setting:
        return read_setting(asked, self.exploration.fields, self.exploration.census)

    def _compare(self, asked: Any) -> Told:
        setting = self._setting(asked)
        words = {name: _text(asked, name) for name in ("k", "suppression", "methods")}
        grid = Grid(*(values(name, text) for name, text in words.items()))
        self.exploration.compare(setting, grid)
        return self.page.compared(self.exploration.compared())

    def _stop(self, asked: Any) -> Told:
        self.exploration.stop()
        return {}

    def _save(self, asked: Any) -> Told:
        explored = self.exploration
        pinned = asked.get("pinned") is True if isinstance(asked, dict) else False
        text = policy_text(self._setting(asked), explored.policy, explored.fields, explored.census, pinned)
        path = save(text, _text(asked, "name"), self.policy)
        return {"path": str(path), "command": self.command(path)}


def _text(asked: Any, name: str) -> str:
    text = asked.get(name) if isinstance(asked, dict) else None
    if not isinstance(text, str):
        raise UsageError([Fault(name, "must be a text")])
    return text


# -- the server itself ----------------------------------------------------------------------------


def serve(guard: Guard, place: socket.socket) -> None:
    """Answer until Ctrl-C. Nothing of what is asked goes to a log: an address has the token in it."""
    import uvicorn

    config = uvicorn.Config(
        guard,
        access_log=False,
        log_config=None,
        log_level="critical",
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_AT_ONCE,
        timeout_graceful_shutdown=_GIVEN_UP_AFTER,
    )
    uvicorn.Server(config).run(sockets=[place])


@contextmanager
def opened_in_browser(address: str) -> Iterator[None]:
    """Through a file that only its owner can read: the arguments of a program, a browser too, can be seen by all."""
    with tempfile.TemporaryDirectory(prefix="duckanon-") as folder:
        page = Path(folder, "explore.html")
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">', "utf-8")
        with suppress(webbrowser.Error):
            browser = webbrowser.get()
            if type(browser) is not webbrowser.GenericBrowser:  # one in the terminal would keep us waiting
                browser.open(page.as_uri())
        yield
