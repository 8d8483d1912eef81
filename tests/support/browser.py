"""A real browser, and a server of ours in a thread: for what only a reader of the page can tell."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

from duckanon.exploration.guard import Guard
from tests.support.needs import chromium

_GRAVE = ("serious", "critical")
_PATIENCE = 30_000  # milliseconds


@contextmanager
def browser() -> Iterator[Browser]:
    """The Chromium of the system. As root it starts only without its sandbox."""
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium(), args=[*options, "--disable-gpu"])
        try:
            yield started
        finally:
            started.close()


@contextmanager
def served(guard: Guard, place: socket.socket) -> Iterator[None]:
    """Answers while it is needed."""
    server = uvicorn.Server(uvicorn.Config(guard, log_config=None, lifespan="off", ws="none", server_header=False))
    place.listen()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)


def faults(page: Page) -> list[dict[str, Any]]:
    """What axe-core finds that keeps somebody from using the page. It is not loaded by the page, which would not let
    it in, but put into it from outside."""
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = json.loads(page.evaluate("async () => JSON.stringify((await axe.run()).violations)"))
    return [
        {"rule": fault["id"], "at": [node["html"][:200] for node in fault["nodes"]]}
        for fault in found
        if fault["impact"] in _GRAVE
    ]


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    wider: int = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    return wider
