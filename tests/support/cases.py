"""Random tables under random policies, as hypothesis draws them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.support import reference as ref
from tests.support.reference import Value

RELEASE = "people_anonymous"


@dataclass(frozen=True)
class Column:
    """A column of the source: its SQL type, the values it draws from, and others that may come later."""

    type: str
    values: tuple[Value, ...]
    later: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Generalized:
    """A quasi-identifier's column and hierarchy, with the policy's spelling of it and what that refers to."""

    column: Column
    kind: ref.Kind
    hierarchy: Any = None  # of the policy
    file: tuple[str, str] | None = None  # name, content
    table: tuple[str, list[tuple[str, ...]]] | None = None  # name, rows


@dataclass(frozen=True)
class Case:
    """A source table and a policy over it."""

    columns: dict[str, Column]
    generalized: tuple[Generalized, ...]
    policy: ref.Policy
    rows: tuple[dict[str, Value], ...]
    by_query: bool
    population: tuple[dict[str, Value], ...] = ()  # of quasi-identifiers
    grounds: Mapping[str, Generalized] = field(default_factory=dict)  # the hierarchies of sensitive columns

    @property
    def hierarchies(self) -> list[Generalized]:
        return [*self.generalized, *self.grounds.values()]

    @property
    def problem(self) -> ref.Problem:
        return ref.Problem(self.policy, self.rows, population=self.population)

    @property
    def released(self) -> list[str]:
        """Every column of the source but the identifier."""
        return [name for name in self.columns if name != "name"]

    def toml(self, kind: str = "table") -> str:
        return written(self.document(kind))

    def document(self, kind: str = "table") -> dict[str, Any]:
        """What the policy file says."""
        policy = self.policy
        population = {"population": {"table": "everybody"}} if self.population else {}
        return population | {
            "name": "people",
            "source": {"query": "SELECT * FROM people"} if self.by_query else {"table": "people"},
            "privacy": {"k": policy.k, "suppression": policy.suppression} | sizes(policy.sizes),
            "quasi_identifiers": {
                q.column: {"hierarchy": g.hierarchy, "importance": q.importance} | bounds(q)
                for q, g in zip(policy.quasi_identifiers, self.generalized, strict=True)
            },
            "sensitive": {s.column: thresholds(s, self.grounds.get(s.column)) for s in policy.sensitive},
            "columns": {"identifiers": ["name"], "keep": list(policy.keep)},
            "search": {"method": policy.method, "weighting": policy.weighting},
            "release": {"kind": kind, "to": RELEASE},
        }


def written(document: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {toml(value)}\n" for key, value in document.items())


def bounds(wanted: ref.QuasiIdentifier) -> dict[str, Any]:
    return {"at_least": wanted.at_least or None, "at_most": wanted.at_most}


def sizes(wanted: ref.Sizes) -> dict[str, Any]:
    names = {"presence": ("least", "most"), "rows_at_risk": ("share", "risk")}
    return {
        key: value if value is None or key not in names else dict(zip(names[key], value, strict=True))
        for key, value in asdict(wanted).items()
    }


def thresholds(wanted: ref.Sensitive, ground: Generalized | None = None) -> dict[str, Any]:
    found = {key: value for key, value in asdict(wanted).items() if key not in ("column", "ground")}
    if ground is not None and wanted.t is not None:
        found["t"] = {"threshold": wanted.t, "hierarchy": ground.hierarchy}
    if wanted.recursive:
        found["recursive"] = dict(zip(("c", "l"), wanted.recursive, strict=True))
    if wanted.proximity:
        found["proximity"] = dict(zip(("epsilon", "m"), wanted.proximity, strict=True))
    return found


def toml(value: Any) -> str:
    """A value as TOML; what is None is left out."""
    if isinstance(value, dict):
        pairs = (f"{toml(str(key))} = {toml(inner)}" for key, inner in value.items() if inner is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool)) else str(value)


TEXTS = st.text(alphabet="ab1é*' \",\\", max_size=4)
LABELS = st.sampled_from(["a", "b", 'é, "', ""])
WIDTHS = st.lists(st.integers(2, 4), min_size=0, max_size=2)
NESTED_UNITS = ("day", "month", "quarter", "year", "decade", "century")


def chance(draw: st.DrawFn, one_in: int) -> bool:
    return draw(st.sampled_from(range(one_in))) == one_in - 1


def domain(values: st.SearchStrategy[Any], least: int = 1) -> st.SearchStrategy[tuple[Value, ...]]:
    sizes = st.sampled_from([size for size in (3, 4, 2, 5, 6, 1) if size >= least])
    return sizes.flatmap(lambda size: st.lists(values, min_size=size, max_size=size, unique=True)).map(tuple)


def numbers(kind: str) -> tuple[str, st.SearchStrategy[Any]]:
    """A numeric type and its values."""
    if kind == "INTEGER":
        return kind, st.integers(-12, 40)
    hundredths = st.integers(-1200, 4000).map(lambda n: Decimal(n).scaleb(-2))
    if kind == "DOUBLE":
        return kind, hundredths.map(float).filter(bool)
    return "DECIMAL(8, 2)", hundredths


DATES = st.dates(date(1895, 1, 1), date(2032, 12, 31))
MOMENTS = st.datetimes(datetime(1895, 1, 1), datetime(2032, 12, 31))
CALENDAR_TYPES: list[tuple[str, st.SearchStrategy[Any], tuple[str, ...]]] = [
    ("DATE", DATES, ()),
    ("VARCHAR", DATES.map(str), ("soon",)),
    ("TIMESTAMP", MOMENTS, ()),
]


@st.composite
def intervals(draw: st.DrawFn) -> Generalized:
    of = draw(st.sampled_from(["INTEGER", "INTEGER", "DECIMAL", "DOUBLE", "DATE"]))
    type_, values = ("DATE", DATES) if of == "DATE" else numbers(of)
    unit = Decimal(draw(st.sampled_from(["0.25", "0.5", "2.5", "1"]))) if of in ("DECIMAL", "DOUBLE") else Decimal(1)
    widths = [unit * draw(st.integers(1, 5 if of != "DATE" else 400))]
    for factor in draw(WIDTHS):
        widths.append(widths[-1] * factor)
    origin = unit * draw(st.integers(-3, 3))
    kind = ref.Intervals(tuple(widths), origin)
    never = (math.inf, -math.inf) if of == "DOUBLE" else ()
    column = Column(type_, draw(domain(values)), draw(domain(values)) + never)
    return Generalized(column, kind, {"intervals": widths, "origin": origin})


def shortest(number: Value) -> Decimal:
    """Without zeros at its end."""
    return Decimal(f"{Decimal(str(number)).normalize():f}")


@st.composite
def cuts(draw: st.DrawFn) -> Generalized:
    of = draw(st.sampled_from(["INTEGER", "DECIMAL", "DOUBLE", "DATE"]))
    type_, values = ("DATE", DATES) if of == "DATE" else numbers(of)
    column = Column(type_, draw(domain(values)), draw(domain(values)))
    # Points among the values themselves, where a range may end or begin.
    points = {n if isinstance(n, (int, date)) else shortest(n) for n in column.values + column.later}
    levels = [sorted(points)]
    while len(levels[-1]) > 1 and len(levels) < 4 and draw(st.booleans()):
        fewer = st.sets(st.sampled_from(levels[-1]), min_size=1, max_size=len(levels[-1]) - 1)
        levels.append(sorted(draw(fewer)))
    last: int | timedelta | None = 1 if of == "INTEGER" else timedelta(days=1) if of == "DATE" else None
    never = (math.inf, -math.inf) if of == "DOUBLE" else ()
    column = replace(column, later=column.later + never)
    return Generalized(column, ref.Cuts(tuple(map(tuple, levels)), last), {"cuts": levels})


@st.composite
def masks(draw: st.DrawFn) -> Generalized:
    kept = tuple(sorted(draw(st.sets(st.integers(0, 4), min_size=1, max_size=3)), reverse=True))
    type_, values = draw(st.sampled_from([("VARCHAR", TEXTS), ("INTEGER", st.integers(-99, 9999)), numbers("DOUBLE")]))
    column = Column(type_, draw(domain(values)), draw(domain(values)))
    return Generalized(column, ref.Mask(kept), {"mask": kept})


@st.composite
def calendars(draw: st.DrawFn) -> Generalized:
    units = draw(st.lists(st.sampled_from(NESTED_UNITS), min_size=1, max_size=3, unique=True))
    units = sorted(units, key=NESTED_UNITS.index)
    if chance(draw, 6):
        units = ["week"]
    type_, values, never = draw(st.sampled_from(CALENDAR_TYPES))
    column = Column(type_, draw(domain(values)), draw(domain(values)) + never)
    return Generalized(column, ref.Dates(tuple(units)), {"dates": units})


@st.composite
def listed(draw: st.DrawFn, place: int | str, column: Column | None = None) -> Generalized:
    """A random tree, as a table of the warehouse or as a file, that may list more than the source has."""
    if column is None:
        choices = [("VARCHAR", TEXTS), ("INTEGER", st.integers(-99, 99)), numbers("DOUBLE")]
        type_, values = draw(st.sampled_from(choices))
        column = Column(type_, draw(domain(values)), draw(domain(values)))
        texts = {ref.text(value) for value in column.values + draw(domain(values))}
    else:
        texts = {ref.text(value) for value in column.values + column.later[:1]}
    tree: dict[str, tuple[str, ...]] = {text: (text,) for text in sorted(texts)}
    for level in range(1, draw(st.integers(0, 2)) + 1):
        parents: dict[str, str] = {}
        for text, path in tree.items():
            if path[-1] not in parents:
                parents[path[-1]] = draw(LABELS) + str(level)
            tree[text] = (*path, parents[path[-1]])
    if draw(st.booleans()):
        return in_table(draw, place, column, list(tree.values()))
    return in_file(draw, place, column, list(tree.values()))


def in_table(draw: st.DrawFn, place: int | str, column: Column, lines: list[tuple[str, ...]]) -> Generalized:
    """A dimension table; whether it has the top itself or not, the hierarchy is the same."""
    kind = ref.Listed({line[0]: (*line[1:], "*") for line in lines})
    if len(lines[0]) > 1 and draw(st.booleans()):
        lines = [(*line, "*") for line in lines]
    columns = [f"c{level}" for level in range(len(lines[0]))]
    return Generalized(column, kind, {"table": f"dim_{place}", "columns": columns}, table=(f"dim_{place}", lines))


def in_file(draw: st.DrawFn, place: int | str, column: Column, lines: list[tuple[str, ...]]) -> Generalized:
    """A CSV file; its top may have any name."""
    top = draw(st.sampled_from(["*", "anyone"]))
    lines = [(*line, top) for line in lines]
    out = io.StringIO()
    writer = csv.writer(
        out, delimiter=draw(st.sampled_from(";,")), lineterminator=draw(st.sampled_from(["\n", "\r\n"]))
    )
    if draw(st.booleans()):
        writer.writerow(f"level_{level}" for level in range(len(lines[0])))
    writer.writerows(lines)
    kind = ref.Listed({line[0]: line[1:] for line in lines})
    return Generalized(column, kind, f"tree_{place}.csv", file=(f"tree_{place}.csv", out.getvalue()))


@st.composite
def flats(draw: st.DrawFn) -> Generalized:
    choices = [("VARCHAR", TEXTS), ("DATE", DATES), ("INTEGER", st.integers(-9, 9)), numbers("DOUBLE")]
    type_, values = draw(st.sampled_from(choices))
    return Generalized(Column(type_, draw(domain(values)), draw(domain(values))), ref.Flat())


def generalized(place: int) -> st.SearchStrategy[Generalized]:
    return st.one_of(intervals(), cuts(), listed(place), masks(), calendars(), flats())


FRACTIONS = st.tuples(st.integers(1, 12), st.integers(1, 12)).filter(lambda f: f[0] <= f[1])
SHARES = st.one_of(FRACTIONS.map(lambda f: round(f[0] / f[1], 12)), st.integers(1, 100).map(lambda n: n / 100))
LOOSE = st.sampled_from(["loose", "loose", "any"]).flatmap(
    lambda which: SHARES if which == "any" else SHARES.filter(lambda share: share >= 0.45)
)
GAINS = st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.5])
DELTAS = st.builds(ref.Delta, st.sampled_from([0.3, 0.7, 1.1, 2.5]), st.booleans())
LEAST = st.sampled_from([1.0, 1.2, 1.5, 1.9, 2.0, 2.5])


def maybe(draw: st.DrawFn, values: st.SearchStrategy[Any], one_in: int = 4) -> Any:
    return draw(values) if chance(draw, one_in) else None


@st.composite
def sensitives(draw: st.DrawFn, name: str) -> tuple[Column, ref.Sensitive]:
    choices = [("VARCHAR", TEXTS), ("INTEGER", st.integers(-3, 9)), numbers("DECIMAL"), numbers("DOUBLE")]
    type_, values = draw(st.sampled_from(choices))
    column = Column(type_, draw(domain(values, least=2)), draw(domain(values)))
    wanted = ref.Sensitive(
        column=name,
        l=maybe(draw, st.sampled_from([1, 2, 2, 3])),
        entropy_l=maybe(draw, LEAST),
        recursive=maybe(draw, st.tuples(st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]), st.integers(2, 3))),
        t=maybe(draw, LOOSE),
        alpha=maybe(draw, LOOSE),
        alp=maybe(draw, LOOSE),
        dif=maybe(draw, st.one_of(st.just(0), SHARES)),
        **likeness(draw, 6),
    )
    if type_ != "VARCHAR":
        epsilons = st.sampled_from([0, 1, 2, 0.5])
        wanted = replace(wanted, proximity=maybe(draw, st.tuples(epsilons, st.sampled_from([1, 1, 2, 3]))))
    if chance(draw, 3):
        wanted = levelled(draw, wanted, column)
    return column, wanted if wanted.publish == "level" else named(draw, wanted, column)


def likeness(draw: st.DrawFn, one_in: int) -> dict[str, Any]:
    gains = {name: maybe(draw, GAINS, one_in) for name in ("beta", "enhanced_beta")}
    return gains | {"delta": maybe(draw, DELTAS, one_in)}


def levelled(draw: st.DrawFn, wanted: ref.Sensitive, column: Column) -> ref.Sensitive:
    """With sensitivity levels; every value of the source has one."""
    names = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True))
    levels: dict[int, list[str]] = defaultdict(list)
    for value in column.values:
        levels[draw(st.sampled_from(names))].append(ref.text(value))
    bounds = {level: bound for level in levels if (bound := maybe(draw, LOOSE, 3)) is not None}
    publish = draw(st.sampled_from(["value", "value", "level"]))
    return replace(
        wanted,
        proximity=wanted.proximity if publish == "value" else None,
        publish=publish,
        levels={level: tuple(texts) for level, texts in levels.items()},
        level_alpha=bounds,
        level_l=maybe(draw, st.sampled_from([1, 2, 2, 3]), 3),
        level_weight=maybe(draw, st.sampled_from([0, 0.5, 1, 1.5]), 3),
    )


def named(draw: st.DrawFn, wanted: ref.Sensitive, column: Column) -> ref.Sensitive:
    """With thresholds of single values, one of which the data may not have."""
    names = draw(st.lists(st.sampled_from([*map(ref.text, column.values), "absent"]), max_size=2, unique=True))
    values = {
        name: ref.OfValue(
            alpha=maybe(draw, LOOSE, 3),
            alp=maybe(draw, LOOSE, 3),
            dif=maybe(draw, st.one_of(st.just(0), SHARES), 3),
            l=maybe(draw, st.sampled_from([1, 2, 2, 3]), 3),
            **likeness(draw, 6),
        )
        for name in names
    }
    return replace(wanted, values=values)


BUDGETS = st.one_of(
    st.sampled_from(["0.0", "0.05", "0.1", "0.29", "0.5", "0.99"]).map(Decimal), st.integers(0, 6), st.integers(0, 40)
)
SIZES, SEEDS = st.sampled_from(range(2, 31)), st.integers(0, 2**32)
IMPORTANCES = st.sampled_from([1.0, 1.0, 0.5, 0.25, 0.8])
ODD = ("age", "the zip", "Größe")


@st.composite
def quasi_identifiers(draw: st.DrawFn, name: str, kind: ref.Kind) -> ref.QuasiIdentifier:
    """Every third may not be released at some of its levels."""
    two = st.lists(st.integers(0, kind.height), min_size=2, max_size=2)
    least, most = sorted(draw(two)) if chance(draw, 3) else (0, None)
    return ref.QuasiIdentifier(name, kind, draw(IMPORTANCES), least, most)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size, seed = draw(SIZES), draw(SEEDS)
    parts = [draw(generalized(place)) for place in range(draw(st.sampled_from([2, 1, 2, 3])))]
    quasi = [draw(quasi_identifiers(name, part.kind)) for name, part in zip(ODD, parts, strict=False)]
    secret = [draw(sensitives(f"secret {place}")) for place in range(draw(st.sampled_from([1, 1, 2, 0])))]
    columns = {q.column: part.column for q, part in zip(quasi, parts, strict=True)}
    columns |= {wanted.column: column for column, wanted in secret}
    keep = ("ward",) if draw(st.booleans()) else ()
    columns |= {name: Column("VARCHAR", draw(domain(TEXTS))) for name in keep}
    columns["name"] = Column("VARCHAR", ("Ann", "Bob"))
    columns = dict(draw(st.permutations(list(columns.items()))))
    policy = ref.Policy(
        quasi_identifiers=tuple(quasi),
        sensitive=tuple(wanted for _, wanted in secret),
        keep=keep,
        k=draw(st.sampled_from([2, 3, 2, 3, 4, 5, 1])),
        suppression=draw(BUDGETS),
        method=draw(st.sampled_from(["greedy", "greedy", "datafly"])),
        weighting=draw(st.sampled_from(["importance", "importance", "printed"])),
    )
    rows = table(columns, size, seed)
    return with_grounds(draw, Case(columns, tuple(parts), policy, rows, chance(draw, 5)))


def with_grounds(draw: st.DrawFn, case: Case) -> Case:
    """Where t is asked of values, every second time by a hierarchy."""
    grounds = {
        wanted.column: draw(listed(f"s{place}", case.columns[wanted.column]))
        for place, wanted in enumerate(case.policy.sensitive)
        if wanted.t is not None and wanted.publish == "value" and chance(draw, 2)
    }
    found = (replace(s, ground=grounds[s.column].kind) if s.column in grounds else s for s in case.policy.sensitive)
    return replace(case, policy=replace(case.policy, sensitive=tuple(found)), grounds=grounds)


@st.composite
def sized_cases(draw: st.DrawFn) -> Case:
    """With a population and what is asked of sizes; k is not in the way."""
    return with_sizes(draw, draw(cases()))


def with_sizes(draw: st.DrawFn, case: Case) -> Case:
    """Most of the source is in the population; some of which has values that the hierarchies need not know."""
    names = [q.column for q in case.policy.quasi_identifiers]
    columns = {name: case.columns[name] for name in names}
    columns = {name: replace(column, values=column.values + column.later) for name, column in columns.items()}
    people = [{name: row[name] for name in names} for row in case.rows if not chance(draw, 8)]
    people += table(columns, draw(st.integers(1, 60)), draw(SEEDS))
    least = draw(st.sampled_from([0, 0, 0, 0.1]))
    wanted = ref.Sizes(
        k_map=maybe(draw, st.sampled_from([1, 2, 3, 5, 8, 30]), 2),
        presence=maybe(draw, st.sampled_from([0.3, 0.5, 0.7, 1.0]).map(lambda most: (least, most)), 3),
        average_risk=maybe(draw, st.sampled_from([0.1, 0.2, 0.3, 0.5]), 3),
        rows_at_risk=maybe(draw, st.tuples(st.sampled_from([0, 0.1, 0.3]), st.sampled_from([0.2, 0.3, 0.5])), 3),
    )
    # With other rules in the way little would be left to see of these.
    plain = case.policy.sensitive if chance(draw, 3) else tuple(ref.Sensitive(s.column) for s in case.policy.sensitive)
    k = draw(st.sampled_from([1, 1, 2, case.policy.k]))
    return replace(case, policy=replace(case.policy, sizes=wanted, k=k, sensitive=plain), population=tuple(people))


def table(columns: Mapping[str, Column], size: int, seed: int) -> tuple[dict[str, Value], ...]:
    """Random rows; some columns have NULLs, none has nothing else. Fewer rows of a seed are the first of more."""
    random = Random(seed)
    options = {
        name: [*column.values, *([None] if name != "name" and random.random() < 0.3 else [])]
        for name, column in columns.items()
    }
    rows: list[dict[str, Value]] = [
        {name: random.choice(cells) for name, cells in options.items()} for _ in range(size)
    ]
    for name, column in columns.items():
        if all(row[name] is None for row in rows):
            rows[0][name] = column.values[0]
    return tuple(rows)
