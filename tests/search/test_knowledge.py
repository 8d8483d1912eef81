"""What is known of measured nodes, and where on a chain nodes become open."""

from __future__ import annotations

import random

import pytest

from duckanon.search.batch import Sizes
from duckanon.search.knowledge import HighestAbove, HighestBelow, Knowledge
from duckanon.search.lattice import Lattice, Node, nowhere_above
from duckanon.search.probe import Probe

pytestmark = pytest.mark.unit
LATTICE = Lattice((3, 2, 4, 1))


def nodes(chance: random.Random, count: int) -> list[Node]:
    return [tuple(chance.randint(0, height) for height in LATTICE.heights) for _ in range(count)]


def test_the_highest_figure_above_and_below_is_found_among_many() -> None:
    chance = random.Random(3)
    known: dict[Node, int] = {}
    above, below = HighestAbove(LATTICE), HighestBelow(LATTICE)
    for node in nodes(chance, 200):
        known[node] = max(known.get(node, 0), figure := chance.randint(1, 50))
        above.learn(node, figure)
        below.learn(node, figure)
        (asked,) = nodes(chance, 1)
        assert (above.at(asked) or [0])[0] == max((f for at, f in known.items() if nowhere_above(asked, at)), default=0)
        assert (below.at(asked) or [0])[0] == max((f for at, f in known.items() if nowhere_above(at, asked)), default=0)


def test_where_more_rows_last_than_may_fail_all_finer_nodes_are_closed() -> None:
    knowledge = Knowledge(LATTICE, budget=10)
    for node, lasting in (((2, 1, 2, 1), 11), ((3, 1, 3, 1), 4)):
        knowledge.learn(node, Sizes(lasting, squares=100.0 * sum(node), largest=9))
        knowledge.settle(node)
    assert knowledge.closed_above((2, 0, 1, 0)) == (2, 1, 2, 1)
    assert knowledge.closed_above((3, 0, 1, 0)) is None
    assert knowledge.lasting((3, 0, 1, 0)) == 4
    assert knowledge.lasting((3, 2, 1, 0)) == 0
    assert knowledge.is_open((3, 2, 3, 1))
    assert not knowledge.is_open((3, 0, 3, 1))
    finer = knowledge.finer((3, 2, 4, 1))
    assert finer is not None
    assert finer.squares == 800
    knowledge.budget = 3  # a better answer leaves room for fewer
    assert knowledge.closed_above((3, 0, 1, 0)) == (3, 1, 3, 1)
    assert not knowledge.is_open((3, 2, 3, 1))


@pytest.mark.parametrize("expected", [0, 4, 9])
@pytest.mark.parametrize("first_open", range(11))
def test_a_probe_finds_where_a_chain_becomes_open(first_open: int, expected: int) -> None:
    chain: list[Node] = [(level,) for level in range(10)]
    probe = Probe(chain, expected)
    asked = 0
    while not probe.done:
        probe.learn(is_open=probe.asked[0] >= first_open)
        asked += 1
    assert asked <= 7
    border = ((first_open - 1,), (first_open,))
    assert probe.border == (border if 0 < first_open < 10 else None)
