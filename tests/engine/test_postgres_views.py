"""A view of PostgreSQL is a barrier for a role that may read the view alone: whatever it asks, no row answers that is
not shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import pytest

import duckanon
from duckanon import Policy
from tests.support.command import Command
from tests.support.far_place import EVERY_SERVER, Place
from tests.support.folder import Folder

CITY, DIAGNOSIS, WARD = (f"{thing} of the hidden one" for thing in ("city", "HIV", "ward"))
HIDDEN = (CITY, DIAGNOSIS, WARD, "471147114")

POLICY = """
name = "p"
[source]
{source}
[privacy]
k = {k}
suppression = 0.5
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 20] }}
[quasi_identifiers.city]
hierarchy = {{ table = "cities", columns = ["city", "region"] }}
[sensitive.diagnosis]
l = 2
[sensitive.weight]
[columns]
keep = ["ward"]
[search]
method = "{method}"
[release]
kind = "view"
to = "v"
"""
PATIENTS = (
    f"""CREATE TABLE cities AS SELECT * FROM (VALUES ('A', 'north'), ('B', 'north'), ('C', 'south'), ('D', 'south'),
        ('{CITY}', 'region of the hidden one')) AS t (city, region)""",
    """CREATE TABLE patients AS SELECT 20 + 10 * (i % 3) AS age, chr(65 + i % 4) AS city,
        (ARRAY['flu', 'HIV', 'cold'])[1 + i / 12 % 3] AS diagnosis, 60 + i % 4 AS weight, 'ward ' || i % 5 AS ward
    FROM generate_series(0, 119) AS r (i)""",
    f"""INSERT INTO patients SELECT 94, '{CITY}', (ARRAY['flu', 'HIV'])[1 + i % 2], 70, 'ward 1'
    FROM generate_series(0, 7) AS r (i)""",
)
# Of the class of eight one is left, and others come whom nobody is like.
LATER = (
    "DELETE FROM patients WHERE age = 94",
    f"""INSERT INTO patients SELECT age, city, '{DIAGNOSIS}', 471147114, '{WARD}'
    FROM (VALUES (94, '{CITY}'), (-471147114, 'A'), (471147114, '{CITY}'), (30, '{CITY}')) AS t (age, city)""",
    "ANALYZE",
)
KINDS = {"greedy": 4, "generalized": 20, "climb": 4, "l_c_clustering": 4, "query": 4}
MINE = (
    "CREATE SCHEMA AUTHORIZATION reader",
    "GRANT SELECT ON v TO reader",
    "SET SESSION AUTHORIZATION reader",
    "CREATE TABLE mine AS SELECT 'flu' AS diagnosis, 61 AS weight, 'ward 1' AS ward, '30' AS age",
    """CREATE FUNCTION leak(seen text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
    'BEGIN IF seen LIKE ''%hidden%'' THEN RAISE EXCEPTION ''saw %'', seen; END IF; RETURN true; END'""",
    """CREATE FUNCTION leaks(seen text, other text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
    'BEGIN RETURN leak(seen); END'""",
    "CREATE OPERATOR ~~~~ (FUNCTION = leaks, LEFTARG = text, RIGHTARG = text)",
    "CREATE VIEW over_v AS SELECT * FROM v",
)


@pytest.fixture(scope="module", params=[*product(["postgres"], KINDS), ("old_postgres", "greedy")], ids="-".join)
def view(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A view `v` of 120 patients, and a few who are not shown; for a reader of the view alone."""
    server, kind = request.param
    with request.getfixturevalue(server).new_database() as address:
        place = Place.at(address)
        place.sql(*PATIENTS, "CREATE ROLE reader LOGIN")
        method = kind if kind in ("climb", "l_c_clustering") else "greedy"
        source = 'query = "SELECT * FROM patients"' if kind == "query" else 'table = "patients"'
        with duckanon.connect(place.url) as warehouse:
            policy = Policy.parse(POLICY.format(k=KINDS[kind], method=method, source=source))
            assert duckanon.run(policy, warehouse).status == "released"
        place.sql(*LATER, *MINE)
        reader = place.of("reader")
        ((shown, strange),) = reader.sql("SELECT count(*), count(*) FILTER (WHERE ward LIKE '% of %') FROM v")
        assert shown >= 80
        assert strange == 0
        yield reader
        place.sql("DROP OWNED BY reader CASCADE", "DROP ROLE reader")


def secrets(answer: object) -> list[str]:
    return [secret for secret in HIDDEN if secret in str(answer)]


# Each is an error on the rows that are not shown, and only there.
RAISING = {
    "function": "leak(v.ward || v.diagnosis)",
    "function of a label": "leak(v.city)",
    "operator": "v.ward ~~~~ v.diagnosis",
    "cast": "CASE WHEN v.ward LIKE 'ward _' THEN true ELSE CAST(v.diagnosis AS integer) > 0 END",
    "date": "CASE WHEN v.ward LIKE 'ward _' THEN true ELSE CAST(v.diagnosis AS date) IS NULL END",
    "overflow": "CAST(v.weight AS smallint) > 0",
    "division": "100 / CASE WHEN v.weight < 1000 THEN 1 ELSE 0 END > 0",
    "json": "CASE WHEN v.ward LIKE 'ward _' THEN true ELSE CAST(v.diagnosis AS json) IS NULL END",
    "pattern": "'a' ~ CASE WHEN v.ward LIKE 'ward _' THEN 'a' ELSE v.diagnosis || '(' END OR true",
}
SHAPES = {
    "filter": "SELECT count(*) FROM v WHERE {raising}",
    "projection": "SELECT {raising} FROM v",
    "nested": "SELECT * FROM (SELECT * FROM v WHERE {raising}) AS w WHERE weight > 0",
    "join": "SELECT count(*) FROM v JOIN mine m ON m.age > '0' AND {raising}",
    "left join": "SELECT count(*) FROM mine m LEFT JOIN v ON {raising}",
    "full join": "SELECT count(*) FROM mine m FULL JOIN v ON m.diagnosis = v.diagnosis WHERE {raising}",
    "self join": "SELECT count(*) FROM v w JOIN v USING (diagnosis) WHERE {raising}",
    "semi join": "SELECT count(*) FROM mine WHERE EXISTS (SELECT 1 FROM v WHERE v.weight <> mine.weight AND {raising})",
    "anti join": "SELECT count(*) FROM mine m WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.ward = m.ward AND {raising})",
    "lateral": "SELECT count(*) FROM mine m, LATERAL (SELECT * FROM v WHERE v.weight >= m.weight AND {raising}) AS w",
    "correlated": "SELECT (SELECT count(*) FROM v WHERE v.ward <> m.ward AND {raising}) FROM mine m",
    "in": "SELECT count(*) FROM mine WHERE weight IN (SELECT weight FROM v WHERE {raising})",
    "aggregate": "SELECT bool_and({raising}) FROM v GROUP BY diagnosis",
    "aggregate filter": "SELECT count(*) FILTER (WHERE {raising}) FROM v",
    "aggregate order": "SELECT array_agg(ward ORDER BY {raising}) FROM v",
    "grouping sets": "SELECT {raising}, count(*) FROM v GROUP BY GROUPING SETS (({raising}), ())",
    "having": "SELECT diagnosis FROM v GROUP BY diagnosis HAVING bool_and({raising})",
    "window": "SELECT sum(weight) OVER (PARTITION BY {raising} ORDER BY ward) FROM v",
    "order": "SELECT * FROM v ORDER BY {raising}",
    "top": "SELECT * FROM v ORDER BY {raising}, weight LIMIT 3",
    "limit": "SELECT * FROM v WHERE {raising} LIMIT 500",
    "distinct": "SELECT DISTINCT ON ({raising}) * FROM v",
    "union": "SELECT weight FROM v WHERE {raising} UNION SELECT weight FROM mine",
    "except": "SELECT weight FROM v WHERE {raising} EXCEPT SELECT weight FROM mine",
    "cte": "WITH r AS NOT MATERIALIZED (SELECT * FROM v WHERE {raising}) SELECT (SELECT count(*) FROM r), * FROM r",
    "a view of it": "SELECT count(*) FROM over_v AS v WHERE {raising}",
    "create": "CREATE TEMP TABLE copied AS SELECT * FROM v WHERE {raising}",
}


@pytest.mark.parametrize("raising", RAISING)
def test_no_expression_meets_a_row_that_is_not_shown(view: Place, raising: str) -> None:
    with view.connect() as connection, connection.cursor() as cursor:
        for shape, query in SHAPES.items():
            try:
                cursor.execute(query.format(raising=RAISING[raising]))
                answer = [] if shape == "create" else cursor.fetchall()
            except Exception as error:
                pytest.fail(f"{shape}: {error}")
            assert secrets(answer) == [], shape
    assert secrets(view.plan(f"ANALYZE SELECT * FROM v WHERE {RAISING[raising]}")) == []


def test_below_a_plain_guard_they_would_meet_it(view: Place) -> None:
    view.owner.sql(
        "CREATE OR REPLACE VIEW public.plain AS SELECT * FROM patients WHERE ward LIKE 'ward _'",
        "GRANT SELECT ON public.plain TO reader",
    )
    with pytest.raises(Exception, match=f"saw {WARD}"):
        view.sql("SELECT * FROM plain WHERE leak(ward)")


def test_a_cursor_meets_none_either(view: Place) -> None:
    with view.connect() as connection, connection.cursor() as cursor:
        for statement in ("BEGIN", "DECLARE c SCROLL CURSOR FOR SELECT * FROM v WHERE leak(ward)", "MOVE ALL IN c"):
            cursor.execute(statement)
        cursor.execute("ROLLBACK")


def test_statistics_and_estimates_tell_nothing(view: Place) -> None:
    assert view.sql("SELECT count(*) FROM pg_stats WHERE tablename IN ('patients', 'cities')") == [(0,)]
    plans = [
        view.plan(f"SELECT * FROM v WHERE {column} = '{value}'").replace(value, "")
        for column, values in {"diagnosis": (DIAGNOSIS, "nothing"), "ward": (WARD, "nothing")}.items()
        for value in values
    ]
    assert plans[0] == plans[1]
    assert plans[2] == plans[3]
    assert secrets(view.plan("(ANALYZE, VERBOSE) SELECT * FROM v")) == []


REFUSED = (
    "SELECT * FROM patients",
    "SELECT * FROM cities",
    "SELECT * FROM v TABLESAMPLE BERNOULLI (50)",
    "SELECT * FROM pg_statistic",
    "CREATE INDEX ON patients (age)",
    "CREATE STATISTICS s ON age, city FROM patients",
    "INSERT INTO v SELECT * FROM v",
    "ALTER VIEW public.v RESET (security_barrier)",
    "CREATE OR REPLACE VIEW public.v AS SELECT 1",
    "CREATE RULE r AS ON UPDATE TO public.v DO INSTEAD NOTHING",
)


def test_the_reader_reaches_nothing_but_the_view(view: Place) -> None:
    owner = view.owner
    kept = owner.sql("SELECT quote_ident(CAST(c.relname AS text)) FROM pg_class c JOIN pg_namespace n "
                     "ON n.oid = c.relnamespace WHERE n.nspname = 'duckanon' AND c.relkind IN ('r', 'v')")  # fmt: skip
    assert len(kept) > 2  # the ledger, and what is kept for the view
    owner.sql("GRANT USAGE ON SCHEMA duckanon TO reader")  # even so
    asked = (*REFUSED, *(f"SELECT * FROM duckanon.{name}" for (name,) in kept))
    assert [statement for statement in asked if _is_answered(view, statement)] == []


def _is_answered(place: Place, statement: str) -> bool:
    try:
        place.sql(statement)
    except Exception as refused:
        return not re.search(r"denied|must be owner|must have|can only be applied|cannot", str(refused))
    return True


def test_what_is_kept_is_closed_whatever_the_default_privileges(place: Place) -> None:
    place.sql(*PATIENTS)
    with roles(place, "reads"):
        place.sql("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reads",
                  "ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO reads")  # fmt: skip
        with duckanon.connect(place.url) as warehouse:
            text = POLICY.format(k=4, method="climb", source='query = "SELECT * FROM patients"')
            assert duckanon.run(Policy.parse(text), warehouse).status == "released"
        kept = place.sql("SELECT quote_ident(CAST(relname AS text)) FROM pg_class WHERE relname LIKE 'p for %'")
        assert len(kept) >= 2
        assert [name for (name,) in kept if _is_answered(place.of("reads"), f"SELECT * FROM duckanon.{name}")] == []
        assert place.of("reads").sql("SELECT count(*) > 0 FROM v") == [(True,)]


# -- the rights of the view, and what becomes of its source -------------------------------------------


def a_view(place: Place, privacy: str, hierarchy: str) -> None:
    text = f"""
        name = "odd"
        [source]
        table = "odd"
        [privacy]
        k = 20
        suppression = 0.2
        {privacy}
        [quasi_identifiers.a]
        hierarchy = {hierarchy}
        [sensitive.s]
        l = 2
        [release]
        kind = "view"
        to = "odd_v"
    """
    with duckanon.connect(place.url) as warehouse:
        assert duckanon.run(Policy.parse(text), warehouse).status == "released"


def odd(place: Place, type_: str, value: str) -> None:
    place.sql(
        f"CREATE TABLE odd AS SELECT CAST({value} AS {type_}) AS a, (ARRAY['x', 'y', 'z'])[1 + i / 20 % 3] AS s "
        "FROM generate_series(0, 119) AS g (i)"
    )


DAY = "date '2020-01-01' + i % 20"
ODD: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "whole": ("integer", "i % 20", "{ intervals = [5, 10] }", ("-2147483648", "2147483647")),
    "large": ("bigint", "i % 20", "{ intervals = [5, 10] }", ("-9223372036854775808", "9223372036854775807")),
    "decimal": ("numeric(38, 2)", "i % 20", "{ intervals = [0.5, 10] }", ("'NaN'", "9e35", "-9e35")),
    "days": ("date", DAY, '{ dates = ["month"] }', ("'infinity'", "'-infinity'", "'5874897-12-31'", "'4713-01-01 BC'")),
    "weeks": ("date", DAY, '{ dates = ["week"] }', ("'infinity'", "'5874897-12-31'", "'4713-01-01 BC'")),
    "moments": (
        "timestamp",
        DAY,
        '{ dates = ["month"] }',
        ("'infinity'", "'294276-12-31 23:59:59'", "'4713-01-01 BC'"),
    ),
    "ranges of days": ("date", DAY, "{ intervals = [10, 20] }", ("'infinity'", "'-infinity'", "'5874897-12-31'")),
    "cut numbers": ("numeric(38, 2)", "i % 20", "{ cuts = [[5, 7.5, 10], [10]] }", ("'NaN'", "9e35", "-9e35")),
    "cut days": (
        "date",
        DAY,
        "{ cuts = [[2020-01-05, 2020-01-15]] }",
        ("'infinity'", "'-infinity'", "'5874897-12-31'"),
    ),
    "codes": ("text", "'C5' || i % 9", '{ builtin = "icd10" }', ("''", "'C50-C59'", "'c50'", "'C50' || chr(10)")),
    "regions": ("text", "'DE' || 100 + i % 20", '{ builtin = "nuts" }', ("''", "'DE'", "'DE21' || chr(10)")),
    "listed numbers": ("numeric(8, 2)", "20 + i % 20", '{ builtin = "age" }', ("'NaN'", "20.5", "-20", "999")),
    "texts": ("text", "CAST(100 + i % 20 AS text)", "{ mask = [2, 1, 0] }", ("''", "repeat('x', 100000)", "E'\\n*'")),
}


# Where the top takes what is not known, too: once for every way to make a label.
TOPPED = ("whole", "days", "cut numbers", "codes", "listed numbers", "texts")


@pytest.mark.parametrize(
    ("kind", "privacy"), [*((kind, "") for kind in ODD), *((k, 'unmapped = "top"') for k in TOPPED)]
)
def test_no_later_value_is_an_error(place: Place, kind: str, privacy: str) -> None:
    type_, value, hierarchy, later = ODD[kind]
    odd(place, type_, value)
    a_view(place, privacy, hierarchy)
    before = place.sql("SELECT count(*) FROM odd_v")
    place.sql(*(f"INSERT INTO odd VALUES (CAST({strange} AS {type_}), 'x')" for strange in later), "SELECT 1")
    assert place.sql("SELECT count(*) FROM odd_v") == before
    many = "(ARRAY['x', 'y'])[1 + i % 2] FROM generate_series(1, 30) AS g (i)"
    place.sql(
        *(f"INSERT INTO odd SELECT CAST({strange} AS {type_}), {many}" for strange in later), "SELECT * FROM odd_v"
    )


def test_a_label_that_may_fail_is_refused_by_name(place: Place) -> None:
    odd(place, "double precision", "i % 20")
    with pytest.raises(duckanon.EngineError, match="PostgreSQL has no words for a cast that may fail"):
        a_view(place, "", "{ intervals = [5, 10] }")
    assert place.left() == [("public", "odd", "r")]


@contextmanager
def roles(place: Place, *names: str) -> Iterator[None]:
    """The first may release to this database."""
    place.sql(
        *(f"CREATE ROLE {name} LOGIN" for name in names),
        f"GRANT CREATE ON SCHEMA public TO {names[0]}",
        f"GRANT CREATE ON DATABASE {place.database} TO {names[0]}",
    )
    try:
        yield
    finally:
        place.sql(f"DROP OWNED BY {', '.join(names)} CASCADE", f"DROP ROLE {', '.join(names)}")


def test_the_view_reads_with_the_rights_of_who_ran(place: Place) -> None:
    odd(place, "integer", "i % 20")
    with roles(place, "runs", "reads"):
        place.sql("GRANT SELECT ON odd TO runs")
        a_view(place.of("runs"), "", "{ intervals = [5, 10] }")
        place.of("runs").sql("GRANT SELECT ON odd_v TO reads")
        assert place.of("reads").sql("SELECT count(*) FROM odd_v") == [(120,)]
        place.sql("REVOKE SELECT ON odd FROM runs")
        with pytest.raises(Exception, match="permission denied for table odd"):
            place.of("reads").sql("SELECT count(*) FROM odd_v")


def test_a_source_that_shows_each_reader_other_rows_is_refused(place: Place) -> None:
    odd(place, "integer", "i % 20")
    with roles(place, "runs"):
        place.sql("GRANT SELECT ON odd TO runs", "ALTER TABLE odd ENABLE ROW LEVEL SECURITY",
                  "CREATE POLICY p ON odd USING (s <> current_user)")  # fmt: skip
        with pytest.raises(duckanon.ReleaseError, match="row-level security would show other classes to every reader"):
            a_view(place.of("runs"), "", "{ intervals = [5, 10] }")
        assert place.left() == [("public", "odd", "r")]
    a_view(place, "", "{ intervals = [5, 10] }")  # by its owner, whom it does not concern


def test_the_columns_of_a_view_cannot_be_altered_below_it(place: Place) -> None:
    odd(place, "integer", "i % 20")
    a_view(place, "", "{ intervals = [5, 10] }")
    for change in ("DROP COLUMN s", "ALTER COLUMN a TYPE text", "ALTER COLUMN s TYPE char(1)"):
        with pytest.raises(Exception, match=r"depend|used by a view"):
            place.sql(f"ALTER TABLE odd {change}")
    place.sql(
        "ALTER TABLE odd RENAME COLUMN s TO t", "ALTER TABLE odd ADD COLUMN name text", "ALTER TABLE odd RENAME TO o"
    )
    assert place.sql("SELECT count(*), count(DISTINCT s) FROM odd_v") == [(120, 3)]


# -- what the session of a reader decides ---------------------------------------------------------


@EVERY_SERVER
def test_no_setting_of_a_reader_merges_classes(place: Place, folder: Folder, duckanon: Command) -> None:
    """Two numbers that are written alike with few digits are two classes, and one of them is too small to be shown."""
    place.sql(
        "CREATE TABLE f (x float8, d text)",
        "INSERT INTO f SELECT 1.00000000000001, 'a' FROM generate_series(1, 5)",
        "INSERT INTO f SELECT 2, 'b' FROM generate_series(1, 6)",
        "INSERT INTO f VALUES (1.00000000000002, 'hidden')",
    )
    text = 'name = "f"\nsource = { table = "f" }\nprivacy = { k = 3, suppression = 0.5 }\nsensitive = { d = {} }\n'
    text += 'quasi_identifiers = { x = { at_most = 0 } }\nrelease = { kind = "view", to = "f_view" }\n'
    told = duckanon("run", folder.policy(text), "--db", place.url)
    assert told.code == 0, told.err
    for setting in ("extra_float_digits = -10", "extra_float_digits = 3", "DateStyle = 'German'"):
        assert place.sql(f"SET {setting}", "SELECT count(*), count(DISTINCT d) FROM f_view") == [(11, 2)]


def test_labels_of_days_are_the_same_to_all(place: Place, folder: Folder, duckanon: Command) -> None:
    place.sql(
        "CREATE TABLE b (born date)", "INSERT INTO b SELECT DATE '2020-01-01' + i % 40 FROM generate_series(1, 400) i"
    )
    for hierarchy in ('{ dates = ["day", "month"] }', "{ intervals = [7, 14] }"):
        text = 'name = "b"\nsource = { table = "b" }\nprivacy = { k = 3 }\nrelease = { kind = "view", to = "b_view" }\n'
        text += f"quasi_identifiers = {{ born = {{ hierarchy = {hierarchy}, at_least = 1 }} }}\n"
        told = duckanon("run", folder.policy(text), "--db", place.url, "--replace")
        assert told.code == 0, told.err
        asked = "SELECT born, count(*) FROM b_view GROUP BY born ORDER BY born"
        assert place.sql("SET DateStyle = 'SQL, DMY'", asked) == place.sql(asked)


def test_named_values_whose_text_a_reader_decides_are_refused(place: Place, folder: Folder, duckanon: Command) -> None:
    place.sql(
        "CREATE TABLE s (x int, d date)", "INSERT INTO s SELECT i % 2, DATE '2021-01-01' FROM generate_series(1, 20) i"
    )
    text = 'name = "s"\nsource = { table = "s" }\nprivacy = { k = 3 }\nquasi_identifiers = { x = {} }\n'
    text += 'release = { kind = "view", to = "s_view" }\n[sensitive.d.values.2021-01-01]\nalpha = 0.9\n'
    told = duckanon("run", folder.policy(text), "--db", place.url)
    assert told.code == 2
    assert "d: is of type date, whose text the session of who asks decides" in told.err


@pytest.mark.parametrize("setting", ["datestyle%3DSQL", "standard_conforming_strings%3Doff", "extra_float_digits%3D-5"])
def test_no_setting_of_the_user_blinds_the_audit(place: Place, folder: Folder, duckanon: Command, setting: str) -> None:
    place.sql(
        "CREATE TABLE s (x int, d date, w text)",
        r"INSERT INTO s SELECT i % 2, DATE '2021-01-01', 'x\y' FROM generate_series(1, 20) i",
    )
    text = 'name = "s"\nsource = { table = "s" }\nprivacy = { k = 3 }\nquasi_identifiers = { x = {} }\n'
    text += 'release = { kind = "table", to = "s_out" }\n[sensitive.d.values.2021-01-01]\nalpha = 0.9\n'
    text += "[sensitive.w.values.'x\\y']\nalpha = 0.9\n"
    told = duckanon("check", folder.policy(text), "--db", f"{place.url}&options=-c%20{setting}", "--json")
    assert told.code == 1
    assert [part["measured"] for part in told.json["constraints"] if part["name"] == "alpha"] == [1, 1]
