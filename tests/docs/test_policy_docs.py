"""docs/policy.md and docs/policy.schema.json know the keys that the reader knows: all of them, and no others."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from duckanon import Policy, PolicyError, resources
from duckanon.policy.hierarchy import NESTS_IN, PREFIXES
from duckanon.policy.load import LOSSES, METHODS
from duckanon.policy.release import COMPRESSIONS, KINDS
from duckanon.policy.source import ENCODINGS
from duckanon.toml import Section
from tests.support.paths import ROOT

GUIDE = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "docs" / "policy.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
EXAMPLES = re.findall(r"```toml\n(.*?)```", GUIDE, re.S)
POLICIES = [
    *sorted((ROOT / "fixtures").glob("*.toml")),
    ROOT / "sql" / "demo.toml",
    ROOT / "integrations" / "exports" / "patients.toml",
]
# Tables whose keys are names of the user's own.
NAMED = ("quasi_identifiers", "sensitive", "values", "levels", "level_alpha", "types")

# Every table that a policy may have, and a column for every kind of hierarchy.
WHOLE = """
name = "whole"
[source]
file = "people.csv"
[source.csv]
types = { age = "INTEGER" }
[population]
table = "everybody"
[privacy]
k = 2
presence = { least = 0, most = 0.5 }
[quasi_identifiers.a]
hierarchy = { intervals = [5, 10], origin = 0 }
[quasi_identifiers.cut]
hierarchy = { cuts = [[18, 65], [65]] }
[quasi_identifiers.b]
hierarchy = { mask = [4, 0] }
[quasi_identifiers.c]
hierarchy = { dates = ["month", "year"] }
[quasi_identifiers.d]
hierarchy = { table = "dim", columns = ["d", "e"] }
[quasi_identifiers.e]
hierarchy = { builtin = "sex" }
[quasi_identifiers.f]
hierarchy = "f.csv"
importance = 0.5
[sensitive.s]
recursive = { c = 3.0, l = 2 }
proximity = { epsilon = 500, m = 3 }
levels = { 1 = ["x"], 2 = ["y"] }
level_alpha = { 1 = 0.25 }
delta = 0.5
[sensitive.s.values.x]
alpha = 0.2
delta = 0.5
[sensitive.r]
recursive = { c = 3.0, l = 2 }
proximity = { epsilon = 500, m = 3 }
delta = { threshold = 0.5, present_only = true }
t = { threshold = 0.5, hierarchy = "r.csv" }
[sensitive.r.values.x]
delta = { threshold = 0.5, present_only = true }
[columns]
keep = ["ward"]
pseudonyms = ["id"]
[pseudonyms]
key_env = "KEY"
[search]
method = "greedy"
[release]
kind = "csv"
to = "whole.csv"
[ledger]
database = "ledger.duckdb"
"""


def general(key: str) -> str:
    """A key with * for each name of the user's own; where these have no keys of their own, without it."""
    parts = key.split(".")
    shown = ["*" if before in NAMED else part for before, part in zip(["", *parts], parts, strict=False)]
    return ".".join(shown).removesuffix(".*")


@pytest.fixture(scope="module")
def known() -> set[str]:
    """The keys that the reader asks for, but for those that are tables of other keys."""
    asked: set[str] = set()
    opened: set[str] = set()
    with pytest.MonkeyPatch.context() as patch:
        init, get = Section.__init__, Section.get

        def opening(self: Section, data: dict[str, Any], where: str, faults: list[Any]) -> None:
            opened.add(where)
            init(self, data, where, faults)

        def asking(self: Section, name: str, *rest: Any, **more: Any) -> Any:
            asked.add(self.key(name))
            return get(self, name, *rest, **more)

        patch.setattr(Section, "__init__", opening)
        patch.setattr(Section, "get", asking)
        Policy.parse(WHOLE)
    tables = {key for key in opened if not key.endswith(".level_alpha")}  # its keys are levels
    return {general(key) for key in asked - tables}


def leaves(data: dict[str, Any], where: str = "") -> Iterator[str]:
    for name, value in data.items():
        key = f"{where}.{name}" if where else name
        if isinstance(value, dict) and value and name not in ("levels", "level_alpha", "types"):
            yield from leaves(value, key)
        else:
            yield key


def parts(part: dict[str, Any], where: str = "") -> dict[str, dict[str, Any]]:
    """The keys of the schema that hold values, each with what the schema says of it."""
    branches = [part, *part.get("oneOf", ())]
    inner = [(name, child) for branch in branches for name, child in branch.get("properties", {}).items()]
    if isinstance(part.get("additionalProperties"), dict):
        inner.append(("*", part["additionalProperties"]))
    inner += [("*", child) for child in part.get("patternProperties", {}).values()]
    found = {}
    if where and (not inner or any("$ref" in b or b.get("type") == "number" for b in branches[1:])):
        found[where.removesuffix(".*")] = part
    for name, child in inner:
        found |= parts(child, f"{where}.{name}" if where else name)
    return found


def test_the_reader_was_asked_for_everything(known: set[str]) -> None:
    assert {"name", "source.csv.types", "quasi_identifiers.*.hierarchy", "sensitive.*.values.*.l"} <= known
    assert "sensitive.*.level_alpha" in known
    assert "sensitive" not in known


def test_every_key_is_documented_and_no_other(known: set[str]) -> None:
    tables = re.findall(r"^\| key \|.*\n\|[-|]+\n((?:\|.*\n)+)", GUIDE, re.M)
    documented = [row.split("`")[1] for table in tables for row in table.splitlines()]
    assert sorted(re.sub(r"\b[A-Z]+\b", "*", key) for key in documented) == sorted(known)


def test_every_default_is_so() -> None:
    """What the page and the schema call the default, written out, changes nothing."""
    told = re.findall(r"^\| `([\w.]+)` \|.*\| `([^`]+)`[^|]*\|$", GUIDE, re.M)
    documented = {re.sub(r"\b[A-Z]+\b", "*", key): json.loads(default) for key, default in told}
    assert len(documented) > 20
    assert documented == {key: part["default"] for key, part in parts(SCHEMA).items() if "default" in part}
    plain = {"name": "p", "source": {"file": "p.csv"}, "privacy": {"k": 2}, "quasi_identifiers": {"x": {}}}
    plain |= {"sensitive": {"x2": {}}, "release": {"kind": "csv", "to": "q.csv"}}
    for key, default in documented.items():
        where = key.replace("quasi_identifiers.*", "quasi_identifiers.x").replace("sensitive.*", "sensitive.x2")
        base = plain
        if key.endswith(".origin"):
            base = plain | {"quasi_identifiers": {"x": {"hierarchy": {"intervals": [5]}}}}
        assert meant(changed(where, default, base)) == meant(base), key


def meant(data: dict[str, Any]) -> Policy:
    return dataclasses.replace(Policy.parse(as_toml(data)), text="")


def test_every_key_has_an_example(known: set[str]) -> None:
    shown = {general(key) for example in EXAMPLES for key in leaves(tomllib.loads(example))}
    assert known - shown == {"name", "source.table"}, "these are in the README's first policy"


def test_every_method_is_documented() -> None:
    assert all(f"\n| `{method}` | " in GUIDE for method in METHODS)


REST = {
    "source": '[source]\nfile = "people.csv"\n',
    "privacy": "[privacy]\nk = 2\n",
    "quasi_identifiers": "[quasi_identifiers.sex]\n",
    "release": '[release]\nkind = "parquet"\nto = "p.parquet"\n',
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_part_of_a_policy(example: str) -> None:
    rest = [text for table, text in REST.items() if table not in tomllib.loads(example)]
    text = "\n".join(['name = "example"', *rest, example])
    Policy.parse(text)
    VALIDATOR.validate(tomllib.loads(text))


# -- the schema -----------------------------------------------------------------------------------


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_lists_the_same_keys(known: set[str]) -> None:
    assert set(parts(SCHEMA)) == known


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_the_schema_accepts_every_policy_that_there_is(path: Path) -> None:
    VALIDATOR.validate(tomllib.loads(path.read_text(encoding="utf-8")))


def test_the_schema_knows_the_same_words() -> None:
    properties = SCHEMA["properties"]
    release, search = properties["release"], properties["search"]["properties"]
    column = properties["quasi_identifiers"]["additionalProperties"]["properties"]
    kinds = {
        name: part for branch in column["hierarchy"]["oneOf"] for name, part in branch.get("properties", {}).items()
    }
    compressions = {
        rule["if"]["properties"]["kind"]["const"]: tuple(rule["then"]["properties"]["compression"]["enum"])
        for rule in release["allOf"][1:]
    }
    assert tuple(search["method"]["enum"]) == METHODS
    assert tuple(search["loss"]["enum"]) == LOSSES
    assert tuple(release["properties"]["kind"]["enum"]) == KINDS
    assert compressions == COMPRESSIONS
    assert tuple(properties["source"]["properties"]["csv"]["properties"]["encoding"]["enum"]) == ENCODINGS
    assert tuple(kinds["dates"]["items"]["enum"]) == tuple(NESTS_IN)
    assert kinds["builtin"]["enum"] == sorted([*resources.builtin_hierarchies(), *PREFIXES])


def written(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {written(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value)


def as_toml(data: dict[str, Any]) -> str:
    return "\n".join(f"{name} = {written(value)}" for name, value in data.items())


def faults_of(data: dict[str, Any]) -> dict[str, str]:
    """What the reader finds wrong, by key."""
    try:
        Policy.parse(as_toml(data))
    except PolicyError as error:
        return {fault.where: fault.what for fault in error.faults}
    return {}


def changed(key: str, value: Any, policy: dict[str, Any] | None = None) -> dict[str, Any]:
    """A policy, the whole one unless another is given, with another value at a key."""
    data = copy.deepcopy(PLAIN if policy is None else policy)
    *tables, name = key.split(".")
    inner = data
    for table in tables:
        inner = inner.setdefault(table, {})
    inner[name] = value
    if name == "row_group_size":
        data["release"]["kind"] = "parquet"
    return data


def probes(key: str) -> list[Any]:
    """Values to try at a key; where it takes one of some words, also these, and all that the schema has anywhere."""
    words = re.match(r"must be one of (.*), found", faults_of(changed(key, "x")).get(key, ""))
    return [*PROBES, *words[1].split(", "), *WORDS] if words else PROBES


PLAIN: dict[str, Any] = json.loads(json.dumps(tomllib.loads(WHOLE, parse_float=Decimal), default=float))
OPTIONAL = [
    *("source.csv.delimiter", "source.csv.header", "source.csv.quote", "source.csv.null", "source.csv.encoding"),
    *("source.csv.dateformat", "source.database", "privacy.suppression", "privacy.unmapped", "privacy.entity"),
    *(
        f"sensitive.s.{name}"
        for name in ("l", "entropy_l", "t", "beta", "enhanced_beta", "alpha", "alp", "dif", "publish", "level_l")
    ),
    *(f"sensitive.s.values.x.{name}" for name in ("beta", "alp", "dif", "l", "sensitivity")),
    *("sensitive.s.level_weight", "columns.identifiers", "columns.drop"),
    *(f"search.{name}" for name in ("loss", "weighting", "time_limit", "nodes", "beta")),
    *(f"release.{name}" for name in ("partition_by", "delimiter", "header", "null", "escape_formulas", "mode")),
    *(
        "release.compression",
        "release.difference",
        "release.row_group_size",
        "nonsense",
        "source.nonsense",
        "source.csv.nonsense",
    ),
    *("privacy.nonsense", "quasi_identifiers.a.nonsense", "sensitive.s.nonsense", "sensitive.s.values.x.nonsense"),
    *("columns.nonsense", "pseudonyms.nonsense", "search.nonsense", "release.nonsense", "ledger.nonsense"),
    *("quasi_identifiers.a.hierarchy.nonsense", "sensitive.s.recursive.nonsense", "sensitive.s.proximity.nonsense"),
    *(
        "sensitive.r.t.nonsense",
        "sensitive.r.t.hierarchy",
        "sensitive.r.delta.nonsense",
        "sensitive.r.values.x.delta.nonsense",
    ),
]
PROBES: list[Any] = [
    True,
    -1,
    0,
    1,
    2,
    2047,
    2048,
    0.25,
    1.5,
    "",
    " ",
    "x",
    ",",
    "gzip",
    "%d.%m.%Y",
    [],
    ["x"],
    [1],
    {},
]
WORDS = sorted({word for words in re.findall(r'"enum": (\[[^]]*\])', json.dumps(SCHEMA)) for word in json.loads(words)})
# What hangs together with other keys is beyond a schema.
BEYOND = {"sensitive.s.levels", "privacy.entity", "release.null", "release.kind"}


def test_what_is_wrong_to_the_schema_is_wrong_to_the_reader_and_the_other_way_round() -> None:
    """Of every key, with right and wrong values: an editor underlines what a run refuses."""
    assert faults_of(PLAIN) == {}
    VALIDATOR.validate(PLAIN)
    asked = refused = 0
    for key in [*leaves(PLAIN), *OPTIONAL]:
        for probe in probes(key):
            data = changed(key, probe)
            faults, fits = faults_of(data), VALIDATOR.is_valid(data)
            asked, refused = asked + 1, refused + (not fits)
            assert fits or faults, f"{key} = {probe!r} is good, and the schema refuses it"
            if fits and key in faults:
                assert key in BEYOND, f"{key} = {probe!r} is refused, and the schema accepts it"
    assert asked > 1000
    assert 500 < refused < asked


@pytest.mark.parametrize(
    "wrong",
    [
        WHOLE.replace("[privacy]", "[privacy]\nkk = 5"),
        WHOLE.replace("k = 2", 'k = "2"'),
        WHOLE.replace("k = 2", ""),
        WHOLE.replace('file = "people.csv"', 'file = "people.csv"\ntable = "people"'),
        WHOLE.replace('{ builtin = "sex" }', '{ builtin = "sex", mask = [1] }'),
        WHOLE.replace('kind = "csv"', 'kind = "csv"\nrow_group_size = 5000'),
        WHOLE.replace('kind = "csv"', 'kind = "table"\nheader = true'),
        WHOLE.replace('columns = ["d", "e"]', "columns = []"),
    ],
)
def test_the_schema_refuses_what_the_reader_does(wrong: str) -> None:
    assert wrong != WHOLE
    assert not VALIDATOR.is_valid(tomllib.loads(wrong))
    with pytest.raises(PolicyError):
        Policy.parse(wrong)
