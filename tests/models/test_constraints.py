"""A bound, as Python judges it and as SQL does: the same verdict, at the bound too."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp

from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.rules import Constraint
from duckanon.query.expressions import TOLERANCE, double

pytestmark = pytest.mark.unit

AT_LEAST = Constraint("k", None, None, 3, at_least=True)
AT_MOST = Constraint("alpha", "s", None, 0.4)
BELOW = Constraint("recursive", "s", None, 2.0, strict=True)


def fails(constraint: Constraint, figure: float | None) -> bool:
    asked = exp.null() if figure is None else double(figure)
    (verdict,) = duckdb.execute("SELECT " + constraint.fails(asked).sql("duckdb")).fetchall()[0]
    assert isinstance(verdict, bool)
    return verdict


@pytest.mark.parametrize(
    ("constraint", "figure", "holds"),
    [
        (AT_LEAST, 3, True),
        (AT_LEAST, 2, False),
        (AT_LEAST, 4, True),
        (AT_LEAST, 3 - TOLERANCE / 2, True),
        (AT_LEAST, 3 - 2 * TOLERANCE, False),
        (AT_MOST, 0.4, True),
        (AT_MOST, 0.4 + TOLERANCE / 2, True),
        (AT_MOST, 0.4 + 2 * TOLERANCE, False),
        (AT_MOST, 0.3, True),
        (BELOW, 2.0, False),
        (BELOW, 2.0 - TOLERANCE / 2, False),
        (BELOW, 2.0 - 2 * TOLERANCE, True),
        (AT_LEAST, None, True),
        (AT_MOST, None, True),
        (BELOW, None, True),
    ],
)
def test_python_and_sql_agree(constraint: Constraint, figure: float | None, holds: bool) -> None:
    assert constraint.holds(figure) is holds
    assert fails(constraint, figure) is not holds


def test_the_worst_of_what_must_be_reached_is_the_least() -> None:
    assert AT_LEAST.worst == "MIN"
    assert (AT_MOST.worst, BELOW.worst) == ("MAX", "MAX")


def test_k_is_reached_by_k_and_not_by_one_less() -> None:
    assert [K_ANONYMITY.constraint(5).holds(rows) for rows in (4, 5, 6)] == [False, True, True]
