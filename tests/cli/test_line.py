"""What is shown of a long run: one line of a terminal that never wraps, and nothing elsewhere."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from duckanon.cli import line as module
from duckanon.cli.line import Line, cut, in_words, shown_width
from duckanon.cli.log import JsonLog, Terminal
from duckanon.search.progress import Progress
from tests.support.folder import Folder
from tests.support.people import PEOPLE


class Screen(io.StringIO):
    """A stream that says it is a terminal, of 80 columns since it has no number; told of each text."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError

    @property
    def lines(self) -> list[str]:
        return self.getvalue().split("\r\033[K")[1:]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("TERM", "xterm")
    return Screen()


@pytest.mark.unit
def test_a_line_says_how_far_it_is(screen: Screen) -> None:
    line = Line(screen, Clock())
    line.show("searching: age 2, zip 1: 1,203 rows fail", Progress(3, 1400, "nodes", at_most=True))
    line.show("comparing greedy", Progress(3, 27, "done"))
    line.end()
    assert screen.lines == [
        "searching: age 2, zip 1: 1,203 rows fail (3 of at most 1,400 nodes) …",
        "comparing greedy (3 of 27 done) …",
        "",
    ]


@pytest.mark.unit
def test_the_time_left_is_told_once_there_is_a_pace(screen: Screen) -> None:
    clock = Clock()
    line = Line(screen, clock)
    for done in range(5):
        line.show("a", Progress(done, 24, "done", even=True))
        clock.now += 10
    line.show("b", Progress(4, 24, "done", even=True))  # the same, ten seconds later
    line.show("a", Progress(0, 7, "nodes", at_most=True, even=True))  # something else, at its beginning
    clock.now += 30
    line.show("a", Progress(5, 7, "nodes", at_most=True, even=True))
    line.show("a", Progress(6, 8, "rows hold"))
    line.end()
    beginning = ["a (0 of 24 done) …", "a (1 of 24 done) …", "a (2 of 24 done) …"]
    judged = ["a (3 of 24 done, about 4 min left) …", "a (4 of 24 done, about 3 min left) …"]
    judged += ["b (4 of 24 done, about 3 min left) …"]
    others = ["a (0 of at most 7 nodes) …", "a (5 of at most 7 nodes, at most 12 s left) …", "a (6 of 8 rows hold) …"]
    assert screen.lines == [*beginning, *judged, *others, ""]


@pytest.mark.unit
def test_a_line_without_news_counts_the_seconds(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BEAT", 0.001)
    clock, beaten = Clock(), threading.Event()
    line = Line(screen, clock)
    line.show("searching", Progress(1, 9, "nodes"))
    clock.now += 1  # not yet worth a word
    written = Screen.write

    def noticed(self: Screen, text: str) -> int:
        beaten.set()
        return written(self, text)

    monkeypatch.setattr(Screen, "write", noticed)
    clock.now += 11
    assert beaten.wait(30)
    line.end()
    assert line.thread is not None
    assert not line.thread.is_alive()
    assert screen.lines[0] == "searching (1 of 9 nodes) …"
    assert set(screen.lines[1:-1]) == {"searching (1 of 9 nodes) … 12 s"}
    assert screen.lines[-1] == ""


@pytest.mark.unit
def test_a_line_is_cut_to_the_terminal_and_obeyed_by_none(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message gives way to what counts; wide signs take two columns; a name cannot move the cursor."""
    for width in (1, 5, 20, 60):
        monkeypatch.setattr(Line, "_columns", lambda _, width=width: width)
        line = Line(screen)
        line.show("searching: 年齢 2, a\x1b[2J\nb 1: 1,203 rows fail", Progress(3, 14, "nodes"))
        line.end()
    assert "\x1b[2J" not in screen.getvalue()
    assert "\n" not in screen.getvalue()
    assert [shown_width(text) for text in screen.lines[::2]] == [0, 4, 19, 59]
    assert screen.lines[4] == "… (3 of 14 nodes) …"
    assert screen.lines[6] == "searching: 年齢 2, a�[2J�b 1: 1,203 rows… (3 of 14 nodes) …"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "columns", "kept"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("年齢x", 4, "年…"), ("a", 0, "")]
)
def test_cut(text: str, columns: int, kept: str) -> None:
    assert cut(text, columns) == kept


@pytest.mark.unit
@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (89, "89 s"), (91, "2 min"), (5000, "83 min"), (9000, "2 h")]
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.unit
def test_a_dumb_terminal_gets_no_control_sequences(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    line = Line(screen, Clock())
    line.show("a long message", None)
    line.show("short", None)
    line.end()
    assert screen.getvalue() == "\ra long message …\rshort …         \r       \r"


@pytest.mark.unit
def test_a_pipe_hears_nothing_and_a_closed_terminal_ends_nothing(screen: Screen) -> None:
    pipe = io.StringIO()
    with Terminal(pipe) as watch:
        watch.say("searching", Progress(1, 2, "nodes"))
    with JsonLog("p", pipe) as watch:
        watch.say("searching", Progress(1, 2, "nodes"))
    assert pipe.getvalue() == ""
    with Terminal(screen) as watch:
        watch.say("searching")
        screen.close()
        watch.say("searching")


@pytest.mark.linux
def test_a_run_on_a_narrow_terminal(people: Folder, tmp_path: Path) -> None:
    """Names of columns and how far it is, in 60 columns, and then an empty line; the answer is not disturbed."""
    import fcntl
    import pty
    import struct
    import termios

    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    command = [sys.executable, "-m", "duckanon", "run", str(people.policy(PEOPLE))]
    with (tmp_path / "out").open("w") as out:
        done = subprocess.Popen(command, stdout=out, stderr=inner, env={**os.environ, "TERM": "xterm"})
    os.close(inner)
    shown = b"".join(iter(lambda: _read(outer), b"")).decode()
    os.close(outer)
    assert done.wait(60) == 0
    lines = shown.split("\r\033[K")
    assert lines[0] == lines[-1] == ""
    assert max(map(shown_width, lines)) < 60
    assert any(re.fullmatch(r"searching: age \d, .*… ?\(\d of at most \d+ nodes\) …", text) for text in lines), lines
    assert "\033" not in (tmp_path / "out").read_text()


def _read(terminal: int) -> bytes:
    """What was written to a terminal; nothing more once the other side is closed."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
