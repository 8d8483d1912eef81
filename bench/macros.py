"""Each macro against hand-written SQL for the same number, on the same file."""

from __future__ import annotations

from functools import partial

import duckdb

from bench.bare import database
from bench.figures import Figure, Setting, compared, heading, line, shown, table, times_as
from bench.people import NAMES, invented
from bench.stopwatch import best
from duckanon import resources

_KEYS = ", ".join(NAMES)
_CLASSES = f"SELECT {_KEYS}, count(*) AS x FROM people GROUP BY {_KEYS}"
_VALUES = f"SELECT {_KEYS}, occupation AS v, count(*) AS y FROM people GROUP BY ALL"
_JOINED = f"WITH y AS ({_VALUES}), c AS (SELECT {_KEYS}, sum(y) AS x FROM y GROUP BY ALL) "
_LEAKS = _JOINED + f"SELECT v, sum(y * y / x) / sum(y), max(y / x) FROM y JOIN c USING ({_KEYS}) GROUP BY v"

# macro call → the best plain SQL for the same figures
PAIRS = {
    "k_anonymity('people', $qi)": f"SELECT min(x), count(*), sum(x), count(*) FILTER (x = 1) FROM ({_CLASSES})",
    "class_sizes('people', $qi)": f"SELECT x, count(*), sum(x) FROM ({_CLASSES}) GROUP BY x",
    "risk('people', $qi)": f"SELECT 1 / min(x), count(*) / sum(x), sum(x) FILTER (x < 5) FROM ({_CLASSES})",
    "k_violations('people', $qi)": f"SELECT count(*) FROM ({_CLASSES}) WHERE x < 5",
    "l_diversity('people', $qi, 'occupation')": "SELECT min(l), min(e) FROM (SELECT count(v) AS l, "
    f"exp(ln(sum(y)) - sum(y * ln(y)) / sum(y)) AS e FROM ({_VALUES}) GROUP BY {_KEYS})",
    "alpha('people', $qi, 'occupation')": _LEAKS,
    "leakage('people', $qi, 'occupation')": _LEAKS,
    "homogeneity('people', $qi, 'occupation')": "SELECT count(*), sum(x) FROM (SELECT count(v) AS l, sum(y) AS x "
    f"FROM ({_VALUES}) GROUP BY {_KEYS}) WHERE l = 1",
}


def against_plain_sql(setting: Setting) -> list[Figure]:
    data = invented(setting.folder, setting.rows)
    quoted = ", ".join(f"'{name}'" for name in NAMES)
    heading(f"Macros against hand-written SQL, {data.name} in memory")
    table("macro", "plain SQL", "macro", "ratio")
    figures = []
    with database() as connection:
        connection.execute(f"CREATE TABLE people AS FROM '{data.file}'")
        connection.execute(resources.macros())
        for call, plain in PAIRS.items():
            name, counted = call.split("(")[0], "count(*)" if "violations" in call else "*"
            macro = f"SELECT {counted} FROM duckanon.{call.replace('$qi', f'[{quoted}]')}"
            by_hand = best(partial(_answer, connection, plain), setting.times)
            by_macro = best(partial(_answer, connection, macro), setting.times)
            line(name, shown(by_hand), shown(by_macro), times_as(by_macro / by_hand))
            figures.append(compared(f"macro {name}, {data.name}", by_macro, by_hand))
    return figures


def _answer(connection: duckdb.DuckDBPyConnection, query: str) -> object:
    return connection.execute(query).fetchall()
