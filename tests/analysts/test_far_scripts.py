"""What `duckanon sql` prints of a server is executed there as it is, and gives exactly the released rows."""

from __future__ import annotations

import duckdb
import pytest

from tests.support.command import Command
from tests.support.far import FarDatabase, PostgresDatabase
from tests.support.folder import Folder
from tests.support.local_people import METHODS as LOCAL
from tests.support.people import PEOPLE, UNCOMPARED
from tests.support.postgres import Server
from tests.support.same_release import counted
from tests.support.spark import Lake

# Loose enough to be held, and every one of them asked for.
RULES = """l = 2
t = 0.9
alpha = 0.9
alp = 0.9
dif = 0.9
entropy_l = 1.1
recursive = { c = 9.0, l = 2 }
[sensitive.disease.values.HIV]
alpha = 0.8
l = 2
"""
PAY = "[sensitive.pay]\nproximity = { epsilon = 1, m = 2 }\nt = 0.9\n"
LEVELLED = "l = 2\nlevels = { 1 = ['HIV', 'cancer'], 2 = ['flu', 'cough', 'asthma'] }\nlevel_alpha = { 1 = 0.9 }\nlevel_weight = 0.0\n"  # noqa: E501
RULED = {
    "every rule": RULES + PAY,
    "levels": LEVELLED + PAY,
    "values as levels": LEVELLED + 'publish = "level"\n' + PAY,
}
QUERY = "SELECT * FROM people WHERE age > 22"
SEARCHED = ("greedy", "optimal", "datafly")


def text_of(rules: str, method: str, kind: str = "table", more: str = "") -> str:
    """People with a pay, which is a number, and who may be several rows."""
    text = PEOPLE.replace('database = "warehouse.duckdb"\n', "").replace("l = 2\n", rules)
    text = text.replace('kind = "table"', f'kind = "{kind}"').replace("suppression = 0.1", f"suppression = 0.2\n{more}")
    drop = "" if "pay" in rules else 'drop = ["pay"]\n'
    text = text.replace('identifiers = ["name"]', f'identifiers = ["name"]\n{drop}')
    return f'{text}{UNCOMPARED}[search]\nmethod = "{method}"\n'


CASES = {
    **{f"{method}, every rule": text_of(RULED["every rule"], method) for method in SEARCHED},
    **{name: text_of(rules, "greedy") for name, rules in RULED.items() if name != "every rule"},
    **{method: text_of(rules, method) for method, rules in LOCAL.items()},
    "by people": text_of("l = 2\n", "greedy", more='entity = "name"'),
    "bounded": text_of("l = 2\n", "greedy").replace("[5, 10, 20] }", "[5, 10, 20] }\nat_least = 1\nat_most = 2"),
    "a query": text_of("l = 2\n", "greedy").replace(
        'table = "people"', 'query = "SELECT * FROM people WHERE age > 22"'
    ),
}
SHOWN = ("greedy, every rule", "climb", "by people", "bounded", "a query")  # what a view says otherwise than a table
VIEWS = {f"a view, {name}": CASES[name].replace('kind = "table"', 'kind = "view"') for name in SHOWN}


def filled(far: FarDatabase) -> None:
    with duckdb.connect() as near:
        near.execute(
            "CREATE TABLE people AS SELECT 'p' || i // 2 AS name, CAST(20 + i * 7 % 40 AS INTEGER) AS age, "
            "'021' || (30 + i % 12) AS zip, CASE WHEN i % 9 > 0 THEN ['F', 'M'][1 + i % 2] END AS sex, "
            "['flu', 'HIV', 'cancer', 'asthma', 'flu', 'flu', 'cough'][1 + (i * 3 + i // 7) % 7] AS disease, "
            "CAST(i * 37 % 90 AS INTEGER) AS pay FROM range(200) AS r (i)"
        )
        far.copy(near, "people")


def printed(duckanon: Command, folder: Folder, far: FarDatabase, text: str, dialect: str) -> tuple[str, str]:
    """The script but for its last statement, and that."""
    told = duckanon("sql", folder.policy(text), "--db", far.address, "--dialect", dialect)
    assert told.code == 0, told.err
    before, mark, last = told.out.rpartition("\n-- the ")
    return before, f"{mark}{last}".strip().removesuffix(";")


# The node that a method finds is said alike, whatever the method: each is tried on one of the two servers.
HERE = [case for case in CASES if case not in ("optimal, every rule", "datafly, every rule")]
THERE = [case for case in CASES if case != "greedy, every rule"]


@pytest.mark.parametrize("case", [*HERE, *VIEWS])
def test_by_psql(case: str, postgres: Server, postgres_database: PostgresDatabase, folder: Folder, duckanon: Command) -> None:  # fmt: skip  # noqa: E501
    text, far = (CASES | VIEWS)[case], postgres_database
    filled(far)
    before, last = printed(duckanon, folder, far, text, "postgres")
    note, _, rows = last.partition("\n")
    database = far.address.partition("@/")[2].partition("?")[0]
    postgres.psql(f"\\o /dev/null\n{before}\n{note}\nCREATE TABLE by_hand AS {rows};\n", database)
    assert duckanon("run", folder.policy(text), "--db", far.address).code == 0
    released = counted(far.sql("SELECT * FROM people_anonymous"))
    assert released
    assert counted(far.sql("SELECT * FROM by_hand")) == released


@pytest.mark.parametrize("case", THERE)
def test_in_spark(case: str, lake: Lake, folder: Folder, duckanon: Command) -> None:
    filled(lake)
    before, last = printed(duckanon, folder, lake, CASES[case], "spark")
    rows = lake.sql(*(statement for statement in before.split(";\n") if statement.strip()), last)
    assert duckanon("run", folder.policy(CASES[case]), "--db", lake.address).code == 0
    released = counted(lake.sql("SELECT * FROM people_anonymous"))
    assert released
    assert counted(rows) == released
