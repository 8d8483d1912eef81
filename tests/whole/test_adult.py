"""Adult, 30,162 rows: the figures of an independent implementation. Skipped where the data is not at hand."""

from __future__ import annotations

import duckdb
import pytest

import duckanon
from tests.support.adult import QI, adult

pytestmark = pytest.mark.adult


@pytest.mark.parametrize(
    ("k", "suppression", "levels", "suppressed", "classes"),
    [
        (5, "0.02", (3, 2, 1, 1, 0, 1, 0, 1), 552, 233),
        (2, "0.02", (3, 2, 0, 1, 0, 0, 0, 1), 481, 733),
        (10, "0.05", (3, 2, 1, 1, 0, 0, 0, 1), 1437, None),
    ],
)
def test_greedy(k: int, suppression: str, levels: tuple[int, ...], suppressed: int, classes: int | None) -> None:
    with duckdb.connect() as connection:
        result = duckanon.run(adult(k, suppression), connection)
        assert result.levels == dict(zip(QI, levels, strict=True))
        assert result.rows == {"source": 30162, "released": 30162 - suppressed, "suppressed": suppressed}
        assert classes is None or result.classes == classes
        names = ", ".join(f'"{name}"' for name in QI)
        sizes = f"SELECT count(*) AS x FROM adult_anonymous GROUP BY {names}"
        assert connection.execute(f"SELECT min(x) >= {k}, sum(x) FROM ({sizes})").fetchall() == [
            (True, 30162 - suppressed)
        ]


def test_utility_at_k_5() -> None:
    with duckdb.connect() as connection:
        utility = duckanon.run(adult(5, "0.02"), connection).utility
    assert utility is not None
    assert utility["precision"] == pytest.approx(0.50108, abs=5e-6)
    assert utility["ncp"] == pytest.approx(0.36035, abs=5e-6)
