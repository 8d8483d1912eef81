"""CSV sources: texts stay texts to the byte; numbers and dates are read where a rule needs them, and as it says."""

from __future__ import annotations

import gzip
from csv import reader
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.paths import MACROS

POLICY = """
name = "p"
[source]
file = "in.csv"
database = "warehouse.duckdb"
{csv}
[privacy]
k = 1
{roles}
[release]
kind = "table"
to = "o"
"""
KEPT = '[quasi_identifiers.a]\n[sensitive.s]\n[columns]\nkeep = ["b"]\n'


@pytest.fixture
def csv(folder: Folder, duckanon: Command) -> Any:
    """What a run releases of a CSV file: the types and the sorted rows of the columns a, b and s."""
    folder.sql("SELECT 1")

    def released(
        content: str | bytes, options: str = "", roles: str = KEPT, columns: str = "a, b, s", code: int = 0
    ) -> Any:
        written = content.encode() if isinstance(content, str) else content
        (folder.path / "in.csv").write_bytes(written)
        said = f"[source.csv]\n{options}" if options else ""
        folder.sql("DROP TABLE IF EXISTS o")  # a first release has no other to be compared with
        told = duckanon("run", folder.policy(POLICY.format(csv=said, roles=roles)))
        assert told.code == code, told.err
        if code:
            return told.err
        types = [row[1] for row in folder.sql(f"DESCRIBE SELECT {columns} FROM o")]
        return types, sorted(folder.sql(f"SELECT {columns} FROM o"), key=str)

    return released


TEXTS = ["yes", "Yes", "true", "1.50", "1.5", "01/02/2020", "007", " x ", "", "NULL", "\\N", "nan", "1e3", "é", "'q'"]


def test_what_no_rule_interprets_is_the_text_that_it_was(csv: Any) -> None:
    lines = [f'{text},{text},"{text}"' for text in TEXTS]
    types, rows = csv("a,b,s\n" + "\n".join(lines) + "\n")
    assert types == ["VARCHAR"] * 3
    assert rows == sorted(((text or None, text or None, text) for text in TEXTS), key=str)


def test_quotes_line_ends_and_marks(csv: Any) -> None:
    plain = [("1", "x", "y"), ("2", "x", "z")]
    for content in (
        "a,b,s\n1,x,y\n2,x,z\n",
        "a,b,s\r\n1,x,y\r\n2,x,z",
        "\ufeffa,b,s\n1,x,y\n\n2,x,z\n",
        '"a","b","s"\n"1","x","y"\n"2","x","z"\n',
        "a;b;s\n1;x;y\n2;x;z\n",
        "a\tb\ts\n1\tx\ty\n2\tx\tz\n",
        "a|b|s\n1|x|y\n2|x|z\n",
    ):
        assert csv(content) == (["VARCHAR"] * 3, plain), content
    assert csv('a,b,s\n1,"two\nlines, ""quoted""",y\n2,#no comment,z\n')[1] == [
        ("1", 'two\nlines, "quoted"', "y"),
        ("2", "#no comment", "z"),
    ]


def test_options(csv: Any) -> None:
    assert csv("a;b;s\n1,5;x;y\n2,5;x;z\n", 'delimiter = ";"')[1] == [("1,5", "x", "y"), ("2,5", "x", "z")]
    assert csv("a,b,s\n1,'x,y',y\n2,x,z\n", 'quote = "\'"')[1] == [("1", "x,y", "y"), ("2", "x", "z")]
    assert csv('a,b,s\n1,"x",y\n2,x,z\n', 'quote = ""')[1] == [("1", '"x"', "y"), ("2", "x", "z")]
    content = 'a,b,s\n1,NA,y\n2,"NA",z\n3,,-\n'
    assert csv(content, 'null = "NA"')[1] == [("1", None, "y"), ("2", "NA", "z"), ("3", "", "-")]
    assert csv(content, 'null = ["", "NA", "-"]')[1] == [("1", None, "y"), ("2", "NA", "z"), ("3", None, None)]
    latin = "a,b,s\n1,\xe9,y\n2,x,z\n"
    assert csv(latin.encode("latin-1"), 'encoding = "latin-1"')[1] == [("1", "é", "y"), ("2", "x", "z")]
    assert csv(latin.encode("utf-16"), 'encoding = "utf-16"')[1] == [("1", "é", "y"), ("2", "x", "z")]
    roles = KEPT.replace(".a]", ".column0]").replace(".s]", ".column2]").replace('"b"', '"column1"')
    found = csv("1,x,y\n2,x,z\n", "header = false", roles, "column0, column1, column2")
    assert found[1] == [("1", "x", "y"), ("2", "x", "z")]


RANGES = KEPT.replace("[sensitive.s]", "hierarchy = { intervals = [10] }\n[sensitive.s]\nt = 1")
CUTS = RANGES.replace("intervals = [10]", "cuts = [[10, 20], [20]]")
DAY_CUTS = RANGES.replace("intervals = [10]", "cuts = [[2000-01-01, 2010-01-01]]")
DAYS = KEPT.replace("[sensitive.s]", 'hierarchy = { dates = ["month", "year"] }\n[sensitive.s]')


@pytest.mark.parametrize(
    ("roles", "labels"),
    [
        (RANGES, {"39": "[30, 40)", "07": "[0, 10)", " 8 ": "[0, 10)", "-1": "[-10, 0)", "+2": "[0, 10)"}),
        (RANGES, {"39": "[30, 40)", "1.50": "[0, 10)", "1e1": "[10, 20)", ".5": "[0, 10)", "-.5E-1": "[-10, 0)"}),
        # What a DOUBLE could not tell from its neighbours.
        (RANGES, {"1234567890123456789": "[1234567890123456780, 1234567890123456790)", "5": "[0, 10)"}),
        (RANGES, {"9.99999999999999999": "[0, 10)", "10": "[10, 20)"}),
        (RANGES, {"1970-01-11": "[1970-01-11, 1970-01-21)", "1970-01-20T23:59:59": "[1970-01-11, 1970-01-21)"}),
        (CUTS, {"9": "< 10", " 10": "10 – 19", "19.0": "10 – 19", "020": "≥ 20", "1e18": "≥ 20"}),
        (CUTS, {"9.99999999999999999": "< 10", "10": "10 – < 20", "19": "10 – < 20", "20": "≥ 20"}),
        (DAY_CUTS, {"1999-12-31T23:59:59": "< 2000-01-01", "2009-12-31": "2000-01-01 – 2009-12-31"}),
        (DAYS, {"2024-05-31": "2024-05", "2024-02-29": "2024-02"}),
        (DAYS, {"2024-05-31T10:00:00": "2024-05", "2024-02-29": "2024-02"}),
    ],
)
def test_what_a_hierarchy_needs_is_read_and_stays_the_text_that_it_was(
    roles: str, labels: dict[str, str], csv: Any, folder: Folder, duckanon: Command
) -> None:
    # An empty field is NULL there, with or without quotes.
    content = "a,b,s\n" + "".join(f'{text},x,1\n"{text}",x,1\n' for text in labels) + ',x,2\n"",x,2\n'
    types, rows = csv(content, roles=roles)
    assert types == ["VARCHAR", "VARCHAR", "BIGINT"]
    assert sorted(str(row[0]) for row in rows) == sorted(map(str, [*labels, None] * 2))
    listed = duckanon("hierarchy", folder.path / "policy.toml", "a", "--csv").out.splitlines()[1:]
    cells = [next(reader([line])) for line in listed]
    assert {cell[0]: cell[1] for cell in cells if cell[0]} == labels


def test_the_loss_goes_by_the_numbers_that_texts_say(folder: Folder, duckanon: Command) -> None:
    """As texts, 9 is the largest of these and 10 the smallest."""
    folder.sql("CREATE TABLE t AS SELECT unnest([9, 10, 100, 30]) AS a, 'x' AS b, 'y' AS s")
    (folder.path / "in.csv").write_text("a,b,s\n9,x,y\n10,x,y\n100,x,y\n30,x,y\n")
    roles = KEPT.replace("[sensitive.s]", "hierarchy = { intervals = [50] }\n[sensitive.s]")
    text = POLICY.format(csv="", roles=roles).replace("k = 1", "k = 3\nsuppression = 1")
    one = duckanon("run", folder.policy(text), "--json").json
    other = duckanon("run", folder.policy(text.replace('file = "in.csv"', 'table = "t"')), "--json", "--replace").json
    assert one["levels"] == other["levels"] == {"a": 1}
    assert one["utility"] == other["utility"]


def test_what_the_hierarchy_cannot_place_is_as_the_policy_says(csv: Any, folder: Folder, duckanon: Command) -> None:
    content = "a,b,s\n" + "1,x,1\n2,x,1\n" * 3 + "secret,x,1\n2024-05-31,x,1\n"
    err = csv(content, roles=RANGES, code=2)
    assert "quasi_identifiers.a.hierarchy: 2 values cannot be placed: not a finite number" in err
    assert "source.csv.dateformat" in err
    assert "secret" not in err
    for unmapped, values in {"suppress": {"1", "2"}, "top": {"1", "2", "*"}}.items():
        text = POLICY.format(csv="", roles=RANGES).replace("k = 1", f'k = 2\nsuppression = 2\nunmapped = "{unmapped}"')
        for kind in ("table", "view"):
            told = duckanon("run", folder.policy(text.replace('"table"', f'"{kind}"')), "--replace")
            assert told.code == 0, told.err
            assert {a for (a,) in folder.sql("SELECT a FROM o")} == values


def test_a_text_of_a_warehouse_is_no_number(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE t AS SELECT unnest(['1', '2']) AS a, 'x' AS b, 1 AS s")
    folder.sql(f"COPY t TO '{folder.path}/t.parquet'")
    for source in ('table = "t"', 'file = "t.parquet"'):
        text = POLICY.format(csv="", roles=RANGES).replace('file = "in.csv"', source)
        told = duckanon("run", folder.policy(text))
        assert told.code == 2
        assert "quasi_identifiers.a.hierarchy: the column is VARCHAR" in told.err


def test_numbers_beside_a_dateformat_stay_texts(csv: Any) -> None:
    said = 'dateformat = "%d.%m.%Y"'
    for more in ("", "99.5,x,1\n", '"",x,1\n'):
        types, rows = csv("a,b,s\n30,x,1\n07,x,1\n" + more, said, RANGES)
        assert types[0] == "VARCHAR"
        assert {"30", "07"} <= {row[0] for row in rows}
    types, rows = csv("a,b,s\n01.02.2020,x,1\n02.02.2020,x,1\n", said, RANGES)
    assert (types[0], str(rows[0][0])) == ("DATE", "2020-02-01")
    err = csv("a,b,s\n01.02.2020,x,1\n02.02.20,x,1\n", said, RANGES, code=2)
    assert "source.csv.dateformat" in err


def test_dates_are_never_guessed(csv: Any) -> None:
    content = "a,b,s\n01/02/2020,x,1\n03/02/2020,x,2\n"
    err = csv(content, roles=DAYS, code=2)
    assert "quasi_identifiers.a.hierarchy: 2 values cannot be placed" in err
    assert "2020" not in err
    for dateformat, expected in (("%d/%m/%Y", "2020-02-01"), ("%m/%d/%Y", "2020-01-02")):
        types, rows = csv(content, f'dateformat = "{dateformat}"', roles=DAYS)
        assert types[0] == "DATE"
        assert str(rows[0][0]) == expected
    assert csv(content, 'dateformat = "%d/%m/%Y"')[1][0][0] == "01/02/2020"  # no rule needs a date
    err = csv(content + "soon,x,1\n", 'dateformat = "%d/%m/%Y"', roles=DAYS, code=2)
    assert "no date as source.csv.dateformat says in 1 field" in err
    assert "soon" not in err
    err = csv(content + "01/02/20,x,1\n", 'dateformat = "%d/%m/%Y"', roles=DAYS, code=2)
    assert "no date as source.csv.dateformat says in 1 field" in err
    assert csv("a,b,s\n01/02/20,x,1\n02/02/20,x,1\n", 'dateformat = "%d/%m/%y"', DAYS)[1][0][0].year == 2020


STRANGE = ["secret", "1_000", "0x10", "nan", "1,5", "12 kg"]


def test_what_is_no_number_is_counted_and_not_shown(csv: Any) -> None:
    content = "a,b,s\n1,x,y\n" + "".join(f'"{strange}",x,z\n"{strange}",x,z\n' for strange in STRANGE)
    err = csv(content, roles=RANGES, code=2)
    assert "quasi_identifiers.a.hierarchy: 6 values cannot be placed: not a finite number" in err
    assert not any(strange in err for strange in STRANGE)
    near = KEPT.replace("[sensitive.s]", "[sensitive.s]\nproximity = { epsilon = 1, m = 1 }")
    err = csv("s,b,a" + content[5:], roles=near, code=2)
    assert "sensitive.s.proximity: needs numbers, and there is something else in 12 fields" in err
    assert not any(strange in err for strange in STRANGE)


def test_t_goes_by_the_order_of_numbers_only_where_all_are_numbers(csv: Any) -> None:
    names = ["s", *(f"s{place}" for place in range(len(STRANGE)))]
    roles = KEPT.replace("[sensitive.s]\n", "".join(f"[sensitive.{name}]\nt = 1\n" for name in names))
    strange = ",".join(f'"{text}"' for text in STRANGE)
    content = f"a,b,{','.join(names)}\n1,x,1,1,1,1,1,1,1\n2,x,2,{strange}\n"
    assert csv(content, roles=roles, columns=", ".join(names))[0] == ["BIGINT", *["VARCHAR"] * len(STRANGE)]


def test_what_is_said_to_stand_for_no_value_is_no_number_that_fails(csv: Any) -> None:
    said = 'delimiter = ";"\nnull = ["secret", "nan", "12 kg"]'
    types, rows = csv("a;b;s\n1;x;1\nsecret;x;2\nnan;x;3\n12 kg;x;4\n", said, RANGES)
    assert types[0] == "VARCHAR"
    assert sorted(str(row[0]) for row in rows) == ["1", "None", "None", "None"]


# What a DOUBLE is not, or would round.
DOUBLES = [(text, "DOUBLE") for text in ("x", "9007199254740993", "0.1234567890123456789", "1e-400")]


def test_what_a_double_can_hold(csv: Any) -> None:
    texts = ["9007199254740992", "0.1", "1.50", "-007", "1e300", "1E-7", "+.5", "5.", "0", "-0.0", "2.5"]
    types, rows = csv("a,b,s\n" + "".join(f"{text},x,y\n" for text in texts), 'types = { a = "DOUBLE" }')
    assert types[0] == "DOUBLE"
    assert sorted(row[0] for row in rows) == sorted(map(float, texts))


def test_t_of_numbers_that_a_double_would_round(csv: Any, folder: Folder, duckanon: Command) -> None:
    ordered = KEPT.replace("[sensitive.s]", "[sensitive.s]\nt = 1")
    assert csv("a,b,s\n1,x,9007199254740993\n2,x,1.5\n", roles=ordered)[0][2] == "VARCHAR"
    told = duckanon("run", folder.path / "policy.toml", "--json").json
    assert any("DOUBLE cannot hold all values" in warning for warning in told["warnings"])


def test_no_time_of_day_is_cut_off(csv: Any) -> None:
    said = 'types = { a = "DATE" }\ndateformat = "%d.%m.%Y %H:%M"'
    err = csv("a,b,s\n01.02.2020 10:30,x,y\n01.02.2020 00:00,x,z\n", said, code=2)
    assert "source.csv.types.a: 1 field of the column cannot be read as DATE" in err
    types, rows = csv("a,b,s\n02.02.2020 00:00,x,y\n01.02.2020 00:00,x,z\n", said)
    assert (types[0], str(rows[0][0])) == ("DATE", "2020-02-01")


def test_types(csv: Any) -> None:
    content = "a,b,s\n01,1.50,yes\n2,2.5,no\n"
    types, rows = csv(content, 'types = { A = "integer", b = "DECIMAL(9, 2)", s = "BOOLEAN" }')
    assert types == ["INTEGER", "DECIMAL(9,2)", "BOOLEAN"]
    assert [str(row[1]) for row in rows] == ["1.50", "2.50"]
    assert csv(content, 'types = { a = "VARCHAR" }', RANGES, code=2).count("the column is VARCHAR") == 1
    for wrong, type_ in (("1.5", "INTEGER"), ("99999999999", "INTEGER"), ("1.505", "DECIMAL(9, 2)"), *DOUBLES):
        err = csv(f"a,b,s\n{wrong},x,y\n2,x,z\n", f'types = {{ a = "{type_}" }}', code=2)
        assert f"source.csv.types.a: 1 field of the column cannot be read as {type_.replace(' ', '')}" in err
        assert wrong not in err.replace(type_.replace(" ", ""), "")
    err = csv(content, 'types = { aa = "INTEGER" }', code=2)
    assert 'source.csv.types: aa: there is no such column in the source — did you mean "a"?' in err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b,s\n1,secret,y\n2,x\n", "in.csv: line 3 has 2 fields, the first has 3"),
        (b"a,b,s\n1,secret,y\n2,x,z,4\n", "in.csv: line 3 has more fields than the first, which has 3"),
        (b"a,b,s\n1,secret,y\nsecret\n", "in.csv: line 3 has 1 field, the first has 3"),
        (b"secret\na,b,s\n1,secret,y\n", "in.csv: line 2 has more fields than the first, which has 1"),
        (b"a,b,s\n1,secret,y\r\n2,x,z\n", "line 2 does not end as the first does: CRLF and LF are mixed"),
        (b"a,b,s\n1,secret,\xe9\n", "encoding"),
        (b'a,b,s\n1,"secret,y\n', "in.csv"),
        (b"", "the file is empty"),
        (b"\na,b,s\n1,secret,y\n", "the file is empty, or begins with an empty line"),
    ],
)
def test_files_that_cannot_be_read(content: bytes, words: str, csv: Any) -> None:
    err = csv(content, code=2)
    assert "source.file: " in err
    assert words in err
    assert "secret" not in err


def test_a_ragged_line_far_below(csv: Any) -> None:
    err = csv("a,b,s\n" + "1,x,y\n" * 50_000 + "secret,x\n", code=2)
    assert "in.csv: line 50002 has 2 fields, the first has 3" in err


FAULTS = {
    'delimiter = "ab"': "source.csv.delimiter: must be one character",
    'quote = "x"': "source.csv.quote: must be",
    "header = 1": "source.csv.header: must be true or false",
    "null = [1]": "source.csv.null: must be a text or a list of texts",
    'encoding = "ebcdic"': "source.csv.encoding: must be one of utf-8",
    'types = { a = "SECRET" }': "source.csv.types.a: must be one of VARCHAR",
    'types = { a = "DECIMAL(50, 2)" }': "source.csv.types.a: must be one of VARCHAR",
    'dateformat = "day first"': "source.csv.dateformat: must say where",
    'delimeter = ","': "source.csv.delimeter: unknown key — did you mean 'delimiter'?",
    'delimiter = "\'"\nquote = "\'"': "source.csv.quote: is the delimiter, too",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_options(fault: str, csv: Any) -> None:
    assert FAULTS[fault] in csv("a,b,s\n1,x,y\n2,x,z\n", fault, code=2)


def test_null_is_not_the_delimiter(csv: Any) -> None:
    assert "source.csv.null holds the delimiter" in csv("a,b,s\n1,x,y\n2,x,z\n", 'null = "1,5"', code=2)


def test_options_are_for_csv_files(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE t AS SELECT i AS a, 'x' AS b, i AS s FROM range(4) r (i)")
    said = POLICY.format(csv="[source.csv]\nheader = true\n", roles=KEPT)
    (folder.path / "in").mkdir()
    folder.sql(f"COPY t TO '{folder.path}/in/t.parquet'")
    for source in ('table = "t"', 'file = "in/t.parquet"'):
        told = duckanon("run", folder.policy(said.replace('file = "in.csv"', source)))
        assert told.code == 2
        assert "source.csv: is for a CSV file" in told.err
    told = duckanon("run", folder.policy(said.replace("header = true", "header = false").replace("in.csv", "in")))
    assert told.code == 2
    assert "source.csv: is for CSV files only" in told.err


def test_folders_of_packed_files_in_any_order_of_columns(folder: Folder, duckanon: Command) -> None:
    for part, content in {"01": "a,b,s\n1,yes,1.50\n", "2": "s,b,a\n2.5,Yes,2\n", "x": "b,a,s\n,3,no\n"}.items():
        (folder.path / "in" / f"y={part}").mkdir(parents=True)
        (folder.path / "in" / f"y={part}" / "p.csv.gz").write_bytes(gzip.compress(content.encode()))
    folder.sql("SELECT 1")
    roles = RANGES.replace('["b"]', '["b", "y"]')
    policy = folder.policy(POLICY.format(csv="", roles=roles).replace("in.csv", "in"))
    told = duckanon("run", policy)
    assert told.code == 0, told.err
    assert folder.sql("SELECT a, b, s, y FROM o ORDER BY a") == [
        ("1", "yes", "1.50", "01"),
        ("2", "Yes", "2.5", "2"),
        ("3", None, "no", "x"),
    ]
    ranged = roles.replace(".a]", ".y]").replace('"y"', '"a"')
    told = duckanon("run", folder.policy(POLICY.format(csv="", roles=ranged).replace("in.csv", "in")))
    assert told.code == 2
    assert "quasi_identifiers.y.hierarchy: 1 value cannot be placed" in told.err


def test_a_released_view_reads_the_file_as_it_was_read(folder: Folder, duckanon: Command) -> None:
    folder.sql("SELECT 1")
    file = folder.path / "in.csv"
    file.write_text("a,b,s\n" + "1,yes,x\n2,Yes,y\n" * 4)
    policy = POLICY.format(csv="", roles=RANGES).replace('kind = "table"', 'kind = "view"').replace("k = 1", "k = 2")
    told = duckanon("run", folder.policy(policy))
    assert told.code == 0, told.err
    assert folder.sql("SELECT DISTINCT a, b, s FROM o ORDER BY a") == [("1", "yes", "x"), ("2", "Yes", "y")]
    # A field that is no number comes later: its row is not shown, and no message shows it.
    with file.open("a") as more:
        more.write("secret,secret,x\n" * 4 + "1,yes,x\n" + "secret,x\n")
    assert folder.sql("SELECT a, count(*) FROM o GROUP BY a ORDER BY a") == [("1", 5), ("2", 4)]
    again = duckanon("run", folder.path / "policy.toml")
    assert (again.code, "secret" in again.err) == (2, False)


WARDS = """
name = "p"
[source]
file = "{file}"
database = "warehouse.duckdb"
{csv}
[privacy]
k = 2
[quasi_identifiers.age]
hierarchy = {{ intervals = [10] }}
[columns]
keep = ["ward"]
identifiers = ["name"]
[release]
kind = "view"
to = "v"
"""


def people(header: str, line: str) -> str:
    return f"{header}\n" + "".join(line.format(30 + i % 2, f"w{i % 2}", f"Person {i}") + "\n" for i in range(8))


RELEASED = people("age,ward,name", "{0},{1},{2}")
# What the file becomes later, and whether all of it is still shown.
CHANGED = [
    (people("age,name,ward", "{0},{2},{1}"), True),
    (people("NAME,Ward,AGE", "{2},{1},{0}"), True),
    (people("new,age,ward,name", "secret,{0},{1},{2}"), True),
    (people("age,name,wart", "{0},{2},{1}"), False),
    (people("name,age,was", "{2},{0},{1}"), False),
    (people("age,name", "{0},{2}"), False),
    (people("99,w0,Person 99", "{0},{1},{2}"), False),
    (people("99,Person 99,w0", "{0},{2},{1}"), False),
    (people("age,name,ward", "{0},{1},{1},{2}"), False),
    (people("age,name,ward", "{0},{2}"), False),
    (people("Person 99\nage,ward,name", "{0},{1},{2}"), False),
    (people("age;ward;name", "{0};{1};{2}"), False),
    (people("age,ward,name", '{0},"{1},{2}'), False),
    (people("age,ward,name", "{0},{1},{2}\r\n{0},{1},{2}"), False),
    ("", False),
]


@pytest.mark.parametrize("files", [["s.csv"], ["s/one.csv", "s/two.csv"]])
def test_a_released_view_knows_columns_by_their_names(files: list[str], folder: Folder, duckanon: Command) -> None:
    folder.sql("SELECT 1")
    paths = [folder.path / file for file in files]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(RELEASED)
    told = duckanon("run", folder.policy(WARDS.format(file=files[0].partition("/")[0], csv="")))
    assert told.code == 0, told.err
    before = folder.sql("SELECT * FROM v")
    for changed, shown in CHANGED:
        for path in reversed(paths):  # first the last of them alone, then all
            path.write_bytes(changed.encode())
            rows, said = [], ""
            try:
                rows = folder.sql("SELECT * FROM v")
            except duckdb.Error as error:
                said = str(error)
            assert "Person" not in said, changed
            assert "secret" not in said, changed
            assert rows == before if shown else set(rows) <= {*before, ("30", None), ("31", None)}, changed
        for path in paths:
            path.write_text(RELEASED)
        assert folder.sql("SELECT * FROM v") == before


def test_rows_of_a_file_that_lost_its_header_hide_nobody(folder: Folder, duckanon: Command) -> None:
    """Of such lines nothing is known: they must not make a crowd for one who has no value either."""
    folder.sql("SELECT 1")
    (folder.path / "s").mkdir()
    (folder.path / "s" / "one.csv").write_text(people("age,ward,name", "{0},{1},{2}") + ",,Lonely\n")
    (folder.path / "s" / "two.csv").write_text(people("age,ward,name", "{0},{1},{2}"))
    policy = WARDS.format(file="s", csv="").replace("k = 2", "k = 2\nsuppression = 1")
    assert duckanon("run", folder.policy(policy)).code == 0
    (folder.path / "s" / "two.csv").write_text(people("99,w0,Person 99", "{0},{1},{2}"))
    assert folder.sql("SELECT count(*) FROM v WHERE age IS NULL OR ward IS NULL") == [(0,)]


def test_a_view_needs_a_header(folder: Folder, duckanon: Command) -> None:
    folder.sql("SELECT 1")
    (folder.path / "s.csv").write_text("30,w0,Person 1\n" * 4)
    text = WARDS.format(file="s.csv", csv="[source.csv]\nheader = false")
    for old, new in {"age": "column0", "ward": "column1", '"name"': '"column2"'}.items():
        text = text.replace(old, new)
    told = duckanon("run", folder.policy(text))
    assert told.code == 2
    assert "release.kind: a view of a CSV file without a header" in told.err
    assert duckanon("run", folder.policy(text.replace('"view"', '"table"'))).code == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b,s\n1,secret,y\n2,x\n", "line 3 has 2 fields, the first has 3"),
        ("a,b,s\n1,secret,y\n2,x,z,4\n", "line 3 has more fields than the first, which has 3"),
        ("a,b,s\n" + "1,x,y\n" * 30_000 + "secret,x\n", "line 30002 has 2 fields, the first has 3"),
        ("a,b,s\n1,secret,y\r\n2,x,z\n", "line 2 does not end as the first does: CRLF and LF are mixed"),
        ('a,b,s\n1,"secret,y\n', "line 2 has a quote that is not closed"),
    ],
)
def test_files_of_a_folder_that_cannot_be_read(content: str, words: str, folder: Folder, duckanon: Command) -> None:
    folder.sql("SELECT 1")
    (folder.path / "in").mkdir()
    (folder.path / "in" / "first.csv").write_text("a,b,s\n1,x,y\n2,x,z\n")
    (folder.path / "in" / "second.csv").write_bytes(content.encode())
    told = duckanon("run", folder.policy(POLICY.format(csv="", roles=KEPT).replace("in.csv", "in")))
    assert told.code == 2
    assert "second.csv" in told.err
    assert words in told.err
    assert "secret" not in told.err


def test_metrics_of_a_csv_file(folder: Folder, duckanon: Command) -> None:
    path = folder.path / "m.csv"
    path.write_text("q,s,d\n" + "01,1,x\n01,2,x\n1,9,x\n1,10,x\n")
    told = duckanon("metrics", path, "--qi", "q", "--sensitive", "s", "--sensitive", "d", "--json")
    assert told.code == 0
    assert told.json["classes"] == 2  # 01 is not 1
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE m AS SELECT * FROM (VALUES ('01', 1), ('01', 2), ('1', 9), ('1', 10)) v (q, s)"
        )
        connection.execute(MACROS.read_text(encoding="utf-8"))
        ((t,),) = connection.execute("SELECT t FROM duckanon.t_closeness('m', ['q'], 's')").fetchall()
    assert told.json["privacy"]["sensitive"]["s"]["t"] == pytest.approx(t)


def test_the_hash_of_a_policy_without_options_is_as_before() -> None:
    from duckanon import Policy
    from duckanon.policy.canonical import canonical

    plain = POLICY.format(csv="", roles=KEPT)
    ((_, said),) = [canonical(Policy.parse(plain).source, Path("."))]
    assert "csv" not in said
    ((_, said),) = [
        canonical(Policy.parse(POLICY.format(csv='[source.csv]\nnull = "NA"\n', roles=KEPT)).source, Path("."))
    ]
    assert said["csv"] == ["CsvOptions", {"null": ["NA"]}]
