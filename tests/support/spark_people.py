"""People with a column of every kind that is written alike in DuckDB and Spark, and a policy over them."""

from __future__ import annotations

from pathlib import Path

from tests.support.folder import Folder

# Types that are written alike, NULLs, a NaN, a -0.0 and an empty text; a table of labels, and a file.
PEOPLE = """
    SELECT 'n' || i AS name, CAST(20 + i % 40 AS INTEGER) AS age,
        DATE '1980-01-01' + CAST(i * 7 % 400 AS INTEGER) AS born,
        CASE WHEN i % 17 > 0 THEN ['ulm', 'ys', '', 'rom'][1 + i % 4] END AS city,
        ['a', 'b''c', 'c"\\'][1 + i % 3] AS job,
        ['flu', 'cold', 'HIV', NULL, 'it''s'][1 + i // 3 % 5] AS ill,
        CAST(['0.0', '-0.0', '1.5', 'nan', NULL][1 + i % 5] AS DOUBLE) AS dose,
        CAST(i % 9 * 1.25 AS DECIMAL(8, 2)) AS pay
    FROM range(300) AS r (i)
"""
CITIES = "SELECT * FROM (VALUES ('ulm', 'n'), ('ys', 'n'), ('rom', 's'), ('', 's')) AS t (city, region)"
POLICY = """
name = "far"
[source]
{source}
[privacy]
k = 4
suppression = 0.1
{entity}
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 10, 20] }}
[quasi_identifiers.born]
hierarchy = {{ dates = ["month", "year"] }}
[quasi_identifiers.city]
hierarchy = {{ table = "cities", columns = ["city", "region"] }}
[quasi_identifiers.job]
hierarchy = "job.csv"
[sensitive.ill]
l = 2
t = 0.6
alpha = 0.9
levels = {{ 1 = ["HIV", "it's"], 2 = ["flu", "cold"] }}
level_alpha = {{ 1 = 0.9 }}
[sensitive.pay]
t = 0.8
[columns]
{others}
keep = ["dose"]
[search]
method = "{method}"
[release]
kind = "{kind}"
to = "{to}"
difference = "ignore"
"""
JOBS = """level_0,level_1,level_2
a,x,*
b'c,x,*
"c""\\",y,*
"""
OTHERS = 'identifiers = ["name"]'


def policy(
    folder: Folder, method: str = "greedy", source: str = 'table = "people"', to: str = "shown", **more: str
) -> Path:
    (folder.path / "job.csv").write_text(JOBS, encoding="utf-8")
    given = {"entity": "", "others": OTHERS, "kind": "table"} | more
    return folder.policy(POLICY.format(method=method, source=source, to=to, **given))
