"""Labels of computed hierarchies, and what becomes of a label at a more general level."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pytest
from sqlglot import exp

from duckanon.hierarchy.computed import IntervalsKind, Kind, MaskKind
from duckanon.query.expressions import literal

pytestmark = pytest.mark.unit

TENS = IntervalsKind((Decimal(5), Decimal(10), Decimal(20)), Decimal(0), "whole")
HALVES = IntervalsKind((Decimal("0.5"), Decimal("2.5")), Decimal("0.25"), "decimal", scale=2)
ZIPS = MaskKind((4, 3, 0), longest=5)


def asked(expression: exp.Expr) -> str | None:
    ((found,),) = duckdb.execute("SELECT " + expression.sql("duckdb")).fetchall()
    assert found is None or isinstance(found, str)
    return found


def number(value: str, kind: str) -> exp.Expr:
    return exp.cast(literal(value), kind)


@pytest.mark.parametrize(
    ("value", "level", "label"),
    [
        ("20", 1, "[20, 25)"),
        ("24", 1, "[20, 25)"),
        ("25", 1, "[25, 30)"),
        ("19", 2, "[10, 20)"),
        ("20", 2, "[20, 30)"),
        ("-1", 1, "[-5, 0)"),
        ("-5", 1, "[-5, 0)"),
        ("-6", 3, "[-20, 0)"),
    ],
)
def test_a_range_is_closed_below_and_open_above(value: str, level: int, label: str) -> None:
    assert asked(TENS.label(number(value, "INTEGER"), level)) == label


@pytest.mark.parametrize(
    ("value", "level", "label"),
    [
        ("0.25", 1, "[0.25, 0.75)"),
        ("0.74", 1, "[0.25, 0.75)"),
        ("0.24", 1, "[-0.25, 0.25)"),
        ("2.75", 2, "[2.75, 5.25)"),
    ],
)
def test_a_range_of_decimals_is_counted_from_its_origin(value: str, level: int, label: str) -> None:
    assert asked(HALVES.label(number(value, "DECIMAL(8, 2)"), level)) == label


@pytest.mark.parametrize(
    ("text", "level", "label"),
    [("02139", 1, "0213*"), ("02139", 2, "021**"), ("021", 1, "021"), ("", 1, ""), ("éèab", 2, "éèa*")],
)
def test_a_mask_keeps_the_first_characters(text: str, level: int, label: str) -> None:
    assert asked(ZIPS.label(literal(text), level)) == label
    assert ZIPS.top == "*****"


@pytest.mark.parametrize(
    ("kind", "label", "level", "above"),
    [
        (TENS, "[20, 25)", 2, "[20, 30)"),
        (TENS, "[25, 30)", 2, "[20, 30)"),
        (TENS, "[20, 30)", 2, "[20, 30)"),
        (TENS, "[20, 30)", 1, None),
        (TENS, "20", 3, "[20, 40)"),
        (TENS, "19", 1, "[15, 20)"),
        (TENS, "[15, 25)", 2, None),
        (HALVES, "[0.25, 0.75)", 2, "[0.25, 2.75)"),
        (ZIPS, "0213*", 2, "021**"),
        (ZIPS, "02139", 1, "0213*"),
        (ZIPS, "021**", 1, None),
    ],
)
def test_a_label_at_another_level_is_that_of_its_values_or_unknown(
    kind: Kind, label: str, level: int, above: str | None
) -> None:
    assert asked(kind.relabel(literal(label), level)) == above


def test_a_cell_costs_the_width_of_its_range_and_at_most_everything() -> None:
    assert TENS.share(1, 50) == pytest.approx(0.1)
    assert TENS.share(3, 10) == 1.0
    assert TENS.share(1, 0) == 1.0


def test_equal_rules_give_equal_labels() -> None:
    other = IntervalsKind((Decimal("5.0"), Decimal(40)), Decimal(0), "whole")
    assert TENS.rule(1) == other.rule(1)
    assert TENS.rule(2) != other.rule(2)
    assert TENS.rule(1) != IntervalsKind((Decimal(5),), Decimal(1), "whole").rule(1)
