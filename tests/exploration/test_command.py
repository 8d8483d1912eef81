"""`duckanon explore`: the server as a user starts and ends it, and what it saves."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from duckanon.exploration import Exploration
from duckanon.exploration.exploring import default_grid
from duckanon.exploration.server import reserved
from tests.support.command import Command
from tests.support.exploring import PORT, Shown, exploring, guarded_at, must_be_those_of
from tests.support.folder import Folder
from tests.support.page import Page
from tests.support.people import PEOPLE

ORIGIN = f"http://127.0.0.1:{PORT}"


class Browser:
    """What a page of people asks."""

    def __init__(self, exploration: Exploration, policy: Path) -> None:
        self.exploration = exploration
        guard = guarded_at(exploration, policy)
        self.client = TestClient(guard, base_url=ORIGIN, raise_server_exceptions=False)
        assert self.client.get(guard.address).status_code == 200
        self.path = f"/{guard.room}/"
        setting = exploration.setting
        self.set = {"levels": list(setting.levels), "texts": list(setting.texts), "method": setting.method}

    def get(self, name: str = "") -> str:
        answer = self.client.get(self.path + name)
        assert answer.status_code == 200
        return answer.text

    def ask(self, question: str, **more: Any) -> tuple[int, Any]:
        content = json.dumps(self.set | more)
        headers = {"content-type": "application/json", "origin": ORIGIN}
        answer = self.client.post(self.path + question, headers=headers, content=content)
        return answer.status_code, answer.json()


@pytest.fixture
def browser(people: Folder) -> Iterator[Browser]:
    policy = people.policy(PEOPLE, "people.toml")
    with exploring(policy) as exploration:
        yield Browser(exploration, policy)


def test_the_page_and_what_it_asks(people: Folder, browser: Browser, duckanon: Command) -> None:
    page = Page(browser.get())
    assert {"link", "script"} <= {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "style"]
    assert "://" not in page.source
    assert ".level" in browser.get("explore.js")
    assert "prefers-color-scheme" in browser.get("explore.css")
    code, told = browser.ask("figures", levels=[1, 2, 0])
    checked = duckanon("check", people.path / "people.toml", "--levels", "age=1,zip=2", "--json").json
    must_be_those_of(Shown(told).page, checked, told["holds"])
    assert Page(browser.get()).only("rows.suppressed") == checked["rows"]["suppressed"], "as it was set last"
    code, told = browser.ask("more")
    assert (code, "<svg" in told["sizes"], "<td>" in told["sample"]) == (200, True, True)
    code, told = browser.ask("search", method="datafly")
    assert (code, len(told["levels"])) == (200, 3)


def test_choices_are_compared_while_changes_are_answered(browser: Browser, duckanon: Command, people: Folder) -> None:
    grid = {"k": "2,3", "suppression": "0,0.1", "methods": "greedy,optimal"}
    code, told = browser.ask("compare", **grid)
    assert code == 200
    for levels in ([4, 3, 1], [2, 2, 1]):
        assert browser.ask("figures", levels=levels)[0] == 200
    while told["running"]:
        time.sleep(0.05)
        code, told = browser.ask("compared")
    assert told["said"] == "8 of 8 choices compared"
    page = Page(told["html"])
    words = duckanon("compare", people.path / "people.toml", "--k", "2,3", "--suppression", "0,0.1",
                     "--method", "greedy,optimal", "--json").json  # fmt: skip
    taken = [json.loads(str(a["data-take"])) for tag, a in page.tags if tag == "button"]
    known = [choice for choice in words["choices"] if choice["status"] == "holds"]
    assert [part["levels"] for part in taken] == [list(choice["levels"].values()) for choice in known]
    assert [part["texts"][0] for part in taken] == [str(choice["k"]) for choice in known]
    assert page.words.count("on the front") == sum(choice["front"] for choice in known) + 1
    points = {a["href"] for tag, a in page.tags if tag == "a"}
    assert points == {f"#{a['id']}" for tag, a in page.tags if tag == "button"}
    assert "://" not in page.source
    for odd in ("x", "3,,5", ""):
        assert browser.ask("compare", **grid | {"k": odd})[0] == 400
    assert browser.ask("compare", **grid | {"methods": "nonsense"})[0] == 400


def test_a_comparison_can_be_stopped(browser: Browser) -> None:
    browser.exploration.compare(browser.exploration.setting, default_grid(browser.exploration))
    assert browser.ask("stop") == (200, {})
    while browser.ask("compared")[1]["running"]:
        time.sleep(0.02)
    assert browser.ask("figures")[0] == 200


def test_many_at_once(browser: Browser) -> None:
    """There is one connection, and nobody else's answer is ever told."""
    alone = {level: browser.ask("figures", levels=[level, 2, 1])[1]["said"] for level in range(5)}
    browser.exploration._figures.clear()
    browser.ask("compare", k="2", suppression="0", methods="greedy")
    wrong = []

    def ask(level: int) -> None:
        for text in ("0.1", "0.10"):
            told = browser.ask("figures", levels=[level, 2, 1], texts=["3", text, "2"])[1]
            if told.get("said") != alone[level]:
                wrong.append(told)
            browser.ask("search")

    threads = [threading.Thread(target=ask, args=(level,)) for level in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 400),
        (b"[" * 50_000, 400),
        (b'{"levels": 1e999}', 400),
        (b"\xff", 400),
        (b'{"levels": ' + b"9" * 9000, 400),
    ],
)
def test_odd_questions(body: bytes, code: int, browser: Browser) -> None:
    headers = {"content-type": "application/json", "origin": ORIGIN}
    answer = browser.client.post(f"{browser.path}figures", headers=headers, content=body)
    assert answer.status_code == code
    assert "Traceback" not in answer.text


def test_what_goes_wrong_inside_shows_no_value(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("person 1 has flu")

    monkeypatch.setattr(browser.exploration, "figures", broken)
    assert browser.ask("figures") == (500, {"error": "unexpected RuntimeError"})


# -- what is saved --------------------------------------------------------------------------------


def test_what_is_saved_is_what_was_seen(people: Folder, browser: Browser, duckanon: Command) -> None:
    own = people.path / "people.toml"
    own.chmod(0o640)
    before = own.read_bytes(), people.database.read_bytes()
    code, told = browser.ask("save", name="new.toml", pinned=True, levels=[3, 3, 1], texts=["4", "0.05", "3"])
    path = people.path / "new.toml"
    assert (code, told) == (200, {"path": str(path), "command": f"duckanon run {path}"})
    assert path.stat().st_mode & 0o777 == 0o640
    assert (own.read_bytes(), people.database.read_bytes()) == before
    document = tomllib.loads(path.read_text("utf-8"))
    assert (document["privacy"], document["sensitive"]["disease"]["l"]) == ({"k": 4, "suppression": 0.05}, 3)
    shown = Shown(browser.ask("figures", levels=[3, 3, 1], texts=["4", "0.05", "3"])[1])
    assert shown.told["holds"]
    run = duckanon("run", path, "--dry-run", "--json").json
    assert run["levels"] == {"age": 3, "zip": 3, "sex": 1}
    must_be_those_of(shown.page, run, holds=True)
    code, told = browser.ask("save", name="free.toml", pinned=False, method="climb")
    document = tomllib.loads((people.path / "free.toml").read_text("utf-8"))
    assert document["search"] == {"method": "climb"}
    assert "at_least" not in document["quasi_identifiers"]["age"]
    assert browser.ask("save", name="local.toml", pinned=True, method="climb")[0] == 200
    assert "at_least" not in (people.path / "local.toml").read_text("utf-8")


NO_NAMES: list[Any] = [
    "people.toml", "there.toml", "link.toml", "dangling.toml", "folder.toml", "../x.toml", "a/b.toml", "/tmp/x.toml",
    "..\\x.toml", "x.toml\0", "x\0.toml", "x.toml\n", "x.csv", "x", "", ".toml", ".x.toml", "-x.toml", "..", 5, None,
    "x" * 96 + ".toml", "é" * 90 + "\x1b.toml", "\ud800.toml", "x\u202egnp.toml",
]  # fmt: skip


def test_nothing_is_overwritten_and_nothing_is_written_elsewhere(people: Folder, browser: Browser) -> None:
    own, there = people.path / "people.toml", people.path / "there.toml"
    there.write_text("mine", "utf-8")
    (people.path / "link.toml").symlink_to(there)
    (people.path / "dangling.toml").symlink_to(people.path.parent / "elsewhere.toml")
    (people.path / "folder.toml").mkdir()
    before = people.files(), os.listdir(people.path.parent), own.read_bytes(), there.read_bytes()
    for name in NO_NAMES:
        code, told = browser.ask("save", name=name)
        assert (code, bool(told["error"])) == (400, True), name
        assert (people.files(), os.listdir(people.path.parent), own.read_bytes(), there.read_bytes()) == before


def test_what_no_policy_can_ask_for_is_not_saved(people: Folder, browser: Browser) -> None:
    odd = {"method": "\ud800"}  # half of a sign
    for set_ in ({"texts": ["0", "0.1", "2"]}, {"method": "alpha_l_diversification"}, {"levels": [9, 0, 0]}, odd):
        assert browser.ask("save", name="new.toml", **set_)[0] == 400
    assert "new.toml" not in people.files()


# -- the command ----------------------------------------------------------------------------------


@pytest.mark.linux
def test_it_ends_with_ctrl_c(people: Folder) -> None:
    policy = people.policy(PEOPLE)
    before = people.dump(), people.files()
    command = [sys.executable, "-m", "duckanon", "explore", str(policy), "--no-browser", "--k", "4"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    try:
        assert lines[0] == "people: 200 rows are counted; explore them at\n"
        address = lines[1].strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{16}/\?token=[\w-]{43}", address)
        port = int(address.split(":")[2].split("/")[0])
        with urllib.request.urlopen(address) as answer:
            assert "SameSite=Strict" in answer.headers["set-cookie"]
            assert "server" not in {name.lower() for name in answer.headers}
            cookie = answer.headers["set-cookie"].split(";")[0]
        asked = urllib.request.Request(address.partition("?")[0], headers={"Cookie": cookie})
        with urllib.request.urlopen(asked) as answer:
            assert 'value="4"' in answer.read().decode()
        (where,) = [line for line in Path("/proc/net/tcp").read_text().splitlines() if f":{port:04X} 00000000" in line]
        assert where.split()[1].startswith("0100007F:"), "it listens to this machine only"
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "duckanon: closed; nothing was released\n")
    assert (people.dump(), people.files()) == before


def test_a_port_that_is_taken_is_said_before_anything_is_counted(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = duckanon("explore", policy, "--no-browser", "--port", port)
    assert (told.code, told.out) == (2, "")
    assert told.err == f"duckanon: --port {port}: is in use — choose another, or leave it out\n"
    for odd in ("0", "65536", "-1", "x"):
        assert duckanon("explore", policy, "--port", odd).code == 2


@pytest.mark.unit
def test_no_answer_waits_for_another_packet() -> None:
    """Of a socket that does not say so, asyncio does not know that it is TCP."""
    with reserved(0) as place:
        assert place.proto == socket.IPPROTO_TCP


def test_the_extra_that_it_takes_is_named(people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    told = duckanon("explore", people.policy(PEOPLE), "--no-browser")
    assert told.code == 2
    assert "which duckanon explore takes; pip install 'duckanon[pages]'" in told.err


def test_no_other_command_loads_a_server(people: Folder) -> None:
    script = (
        "import sys; from duckanon.cli.words import main; "
        f"main(['check', {str(people.policy(PEOPLE))!r}, '--levels', 'age=4,zip=3,sex=1']); "
        "print([name for name in ('starlette', 'uvicorn', 'jinja2', 'altair') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_browser_is_opened_by_a_file_that_only_its_owner_reads(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arguments of a program can be seen by everybody on the machine: the token is not among them."""
    seen = []

    class Graphical:
        def open(self, address: str) -> None:
            page = Path(address.removeprefix("file://"))
            mode = page.parent.stat().st_mode & 0o777
            seen.append((address, page.read_text("utf-8"), mode))

    monkeypatch.setattr("webbrowser.get", lambda: Graphical())
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    told = duckanon("explore", people.policy(PEOPLE))
    assert told.code == 0
    ((address, page, mode),) = seen
    url = told.out.splitlines()[1]
    assert "token" not in address
    assert url in page
    assert mode == 0o700
    assert not os.path.exists(address.removeprefix("file://"))
