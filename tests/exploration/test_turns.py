"""Whose turn it is: a change is answered between two questions of a long search, and nobody asks at the same time."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from duckanon.exploration.turns import Stopped, Turns

pytestmark = pytest.mark.unit


def test_long_work_gives_way_to_a_change() -> None:
    turns, told = Turns(), list[str]()
    began, waits = Event(), Event()

    def long() -> None:
        with turns.patient():
            began.set()
            assert waits.wait(5)
            while not turns._waiting:
                pass
            told.append("one question")
            turns.give_way()
            told.append("another question")

    def change() -> None:
        waits.set()
        with turns.first():
            told.append("change")

    threads = [Thread(target=long, daemon=True)]
    threads[0].start()
    assert began.wait(5)
    threads.append(Thread(target=change, daemon=True))
    threads[1].start()
    for thread in threads:
        thread.join(5)
    assert told == ["one question", "change", "another question"]


def test_one_at_a_time() -> None:
    turns, inside, most = Turns(), list[int](), list[int]()

    def ask(first: bool) -> None:
        for _ in range(50):
            with turns.first() if first else turns.patient():
                inside.append(1)
                most.append(len(inside))
                if not first:
                    inside.pop()
                    turns.give_way()
                    inside.append(1)
                inside.pop()

    threads = [Thread(target=ask, args=(at % 2 == 0,), daemon=True) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (max(most), len(most)) == (1, 300)


def test_at_the_end_nobody_gets_a_turn() -> None:
    turns = Turns()
    turns.close(1)
    with pytest.raises(Stopped), turns.first():
        pass
    with pytest.raises(Stopped), turns.patient():
        pass
