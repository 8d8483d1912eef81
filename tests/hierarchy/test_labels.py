"""Labels of computed hierarchies, and what becomes of a label at a more general level."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import duckdb
import pytest
from sqlglot import exp

from duckanon.hierarchy.computed import CutsKind, IntervalsKind, Kind, MaskKind
from duckanon.query.dialects import WORKBENCH
from duckanon.query.expressions import literal

pytestmark = pytest.mark.unit

D = Decimal
TENS = IntervalsKind((Decimal(5), Decimal(10), Decimal(20)), Decimal(0), "whole")
HALVES = IntervalsKind((Decimal("0.5"), Decimal("2.5")), Decimal("0.25"), "decimal", scale=2)
AGES = CutsKind(((D(18), D(19), D(25), D(65)), (D(18), D(65))), "whole", whole=True)
RATES = CutsKind(((D("-0.5"), D("0.7"), D(2)), (D(2),)), "decimal", scale=2)
DAYS = CutsKind(((D(-1), D(0), D(31)), (D(31),)), "date", whole=True)
ZIPS = MaskKind((4, 3, 0), longest=5)


def asked(expression: exp.Expr) -> str | None:
    ((found,),) = duckdb.execute("SELECT " + expression.sql(WORKBENCH)).fetchall()
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
    ("kind", "value", "type_", "level", "label"),
    [
        (AGES, "-170141183460469231731687303715884105727", "HUGEINT", 1, "< 18"),
        (AGES, "17", "TINYINT", 1, "< 18"),
        (AGES, "18", "INTEGER", 1, "18"),
        (AGES, "19", "INTEGER", 1, "19 – 24"),
        (AGES, "24", "INTEGER", 1, "19 – 24"),
        (AGES, "25", "INTEGER", 1, "25 – 64"),
        (AGES, "64", "DECIMAL(38, 0)", 2, "18 – 64"),
        (AGES, "65", "BIGINT", 2, "≥ 65"),
        (RATES, "-0.51", "DECIMAL(8, 2)", 1, "< -0.5"),
        (RATES, "-0.50", "DECIMAL(8, 2)", 1, "-0.5 – < 0.7"),
        (RATES, "0.69", "DECIMAL(8, 2)", 1, "-0.5 – < 0.7"),
        (RATES, "0.70", "DECIMAL(8, 2)", 1, "0.7 – < 2"),
        (RATES, "1.99", "DECIMAL(8, 2)", 2, "< 2"),
        (RATES, "2", "DECIMAL(8, 2)", 2, "≥ 2"),
        (replace(RATES, type="float", scale=18), "0.7", "FLOAT", 1, "0.7 – < 2"),
        (replace(RATES, type="float", scale=18), "0.7", "DOUBLE", 1, "0.7 – < 2"),
        (replace(RATES, type="float", scale=18), "0.6999999999999999", "DOUBLE", 1, "-0.5 – < 0.7"),
        (replace(RATES, type="float", scale=18), "-0.0", "DOUBLE", 1, "-0.5 – < 0.7"),
        (replace(RATES, type="float", scale=18, from_text=True), " 7e-1 ", "VARCHAR", 1, "0.7 – < 2"),
        (replace(AGES, type="float", from_text=True), "24.0", "VARCHAR", 1, "19 – 24"),
        (DAYS, "1969-12-30", "DATE", 1, "< 1969-12-31"),
        (DAYS, "1969-12-31", "DATE", 1, "1969-12-31"),
        (DAYS, "1970-01-31 23:59:59", "TIMESTAMP", 1, "1970-01-01 – 1970-01-31"),
        (DAYS, "1970-02-01", "DATE", 2, "≥ 1970-02-01"),
    ],
)
def test_a_cut_belongs_to_the_range_above_it(kind: CutsKind, value: str, type_: str, level: int, label: str) -> None:
    assert asked(kind.label(number(value, type_), level)) == label


@pytest.mark.parametrize(
    ("kind", "value", "type_"),
    [
        (replace(RATES, type="float"), "nan", "DOUBLE"),
        (replace(RATES, type="float"), "-inf", "DOUBLE"),
        (replace(RATES, type="float", from_text=True), "n/a", "VARCHAR"),
        (replace(AGES, type="float", from_text=True), "24.5", "VARCHAR"),
        (DAYS, "infinity", "DATE"),
    ],
)
def test_what_lies_in_no_range_is_not_known(kind: CutsKind, value: str, type_: str) -> None:
    unmapped = kind.unmapped(number(value, type_))
    assert unmapped is not None
    assert duckdb.execute("SELECT " + unmapped.sql(WORKBENCH)).fetchall() == [(True,)]


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
        (AGES, "< 18", 2, "< 18"),
        (AGES, "< 17", 2, "< 18"),  # of other points
        (AGES, "< 19", 2, None),
        (AGES, "18", 2, "18 – 64"),
        (AGES, "19 – 24", 2, "18 – 64"),
        (AGES, "20 – 65", 2, None),
        (AGES, "≥ 65", 2, "≥ 65"),
        (AGES, "≥ 70", 1, "≥ 65"),
        (AGES, "≥ 64", 2, None),
        (AGES, "18 – 64", 1, None),
        (AGES, "18 – < 65", 2, None),
        (AGES, "[20, 25)", 2, None),
        (AGES, "x – y", 2, None),
        (RATES, "-0.5 – < 0.7", 2, "< 2"),
        (RATES, "0.7 – < 2.001", 2, None),
        (RATES, "1.995 – < 2", 1, "0.7 – < 2"),
        (RATES, "< 2.001", 2, None),
        (RATES, "1.99", 2, "< 2"),
        (RATES, "nonsense", 2, None),
        (DAYS, "1970-01-01 – 1970-01-31", 2, "< 1970-02-01"),
        (DAYS, "1970-01-31", 2, "< 1970-02-01"),
        (DAYS, "≥ 1970-01-31", 2, None),
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
    assert AGES.rule(2) == {"cuts": ["18", "65"], "of": "number", "whole": True}
    assert AGES.rule(2) == CutsKind(((D("18.0"), D(65)),), "float", from_text=True, whole=True).rule(1)
    assert AGES.rule(2) != CutsKind(((D(18), D(65)),), "float").rule(1)
