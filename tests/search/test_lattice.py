"""The lattice: pure arithmetic on levels."""

from __future__ import annotations

import itertools

import pytest

from duckanon.search.lattice import Lattice, Node, meet, nowhere_above

pytestmark = pytest.mark.unit


def nodes_of(*heights: int) -> list[Node]:
    return list(itertools.product(*(range(height + 1) for height in heights)))


def test_a_node_is_nowhere_above_itself_and_what_is_more_general() -> None:
    assert nowhere_above((1, 2), (1, 2))
    assert nowhere_above((0, 2), (1, 2))
    assert not nowhere_above((2, 0), (1, 2))


def test_the_meet_is_the_most_general_node_below_all() -> None:
    nodes: list[Node] = [(1, 3, 0), (2, 1, 1)]
    below = [node for node in nodes_of(3, 3, 3) if all(nowhere_above(node, other) for other in nodes)]
    assert meet(nodes) == max(below, key=sum) == (1, 1, 0)


def test_the_bottom_is_the_floor() -> None:
    assert Lattice((2, 1)).bottom == (0, 0)
    assert Lattice((2, 1), floor=(1, 0)).bottom == (1, 0)
    assert Lattice((2, 1), floor=(1, 0)).top == (2, 1)


@pytest.mark.parametrize("floor", [None, (1, 0, 2)])
def test_its_size_is_the_number_of_its_nodes(floor: Node | None) -> None:
    lattice = Lattice((3, 2, 2), floor)
    assert lattice.size == len([n for n in nodes_of(3, 2, 2) if nowhere_above(lattice.bottom, n)])


def test_neighbours_differ_by_one_level_of_one_attribute_and_stay_inside() -> None:
    lattice = Lattice((2, 1, 3), floor=(0, 0, 1))
    for node in [(0, 0, 1), (2, 1, 3), (1, 0, 2)]:
        expected = [
            other
            for other in nodes_of(2, 1, 3)
            if nowhere_above(lattice.bottom, other) and sum(abs(a - b) for a, b in zip(node, other, strict=True)) == 1
        ]
        assert sorted(lattice.neighbours(node)) == sorted(expected)


def test_what_can_be_raised_is_not_at_its_top_and_what_can_be_lowered_not_at_the_floor() -> None:
    lattice = Lattice((2, 1), floor=(1, 0))
    assert list(lattice.raisable((2, 0))) == [1]
    assert list(lattice.lowerable((2, 0))) == [0]
    assert Lattice.raised((2, 0), 1) == (2, 1)
    assert Lattice.lowered((2, 0), 0) == (1, 0)


def test_a_node_rises_by_the_height_of_each_attribute() -> None:
    assert Lattice((2, 4)).rise((1, 1)) == 0.75


def test_nodes_below_others_are_counted() -> None:
    lattice = Lattice((3, 2, 2))
    chosen = [(1, 2, 0), (3, 0, 1), (0, 1, 2), (1, 1, 0)]
    below = [node for node in nodes_of(3, 2, 2) if any(nowhere_above(node, other) for other in chosen)]
    assert lattice.count_below(chosen) == len(below)
    assert lattice.count_below([]) == 0


def test_below_a_floor_nothing_is_counted() -> None:
    lattice = Lattice((3, 2), floor=(1, 1))
    below = [n for n in nodes_of(3, 2) if nowhere_above((1, 1), n) and nowhere_above(n, (3, 1))]
    assert lattice.count_below([(3, 1)]) == len(below)


def test_a_vast_lattice_is_not_counted() -> None:
    assert Lattice((9,) * 6).count_below([(1,) * 6]) == 2**6
    assert Lattice((9,) * 7).count_below([(1,) * 7]) is None


def test_all_nodes_come_once_by_rising_bound() -> None:
    nodes = list(Lattice((2, 1, 3)).ascending(lambda node: float(sum(node))))
    assert [bound for bound, _ in nodes] == sorted(bound for bound, _ in nodes)
    assert sorted(node for _, node in nodes) == nodes_of(2, 1, 3)


def test_nodes_below_a_failing_one_are_passed_over() -> None:
    lattice, failing = Lattice((2, 1, 3)), (1, 1, 2)
    nodes = lattice.ascending(
        lambda node: float(sum(node)), lambda node: failing if nowhere_above(node, failing) else None
    )
    assert sorted(node for _, node in nodes) == [n for n in nodes_of(2, 1, 3) if not nowhere_above(n, failing)]
