"""`python -m bench.papers [folder]`: the experiments of han and yang, run again; plots and figures go to docs/.

The folder holds Adult: adult.csv and adult_hierarchy_*.csv. Without one, invented people take its place. Whatever comes
out is reported, also where the papers found another order.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb

from bench.people import QI as INVENTED
from bench.people import people
from bench.plot import Points, line_plot
from duckanon import Policy
from duckanon.census import Census, take_census
from duckanon.engine.duckdb import DuckDB
from duckanon.local import Placement
from duckanon.local.alpha_k import alpha_k_clustering
from duckanon.local.clusters import released_labels
from duckanon.local.l_c import l_c_clustering
from duckanon.local.losses import distortion, total_information_loss
from duckanon.measure import Measurer
from duckanon.scratch import Scratch
from duckanon.search import search
from duckanon.source import bind_source

DOCS = Path(__file__).parents[1] / "docs"
QI = ["age", "workclass", "education", "marital-status", "race", "sex"]  # han table 4
# han table 5, and the order in which the paper finds the losses.
COMPLETE = {
    "Tech-support": 0.4, "Craft-repair": 0.7, "Other-service": 0.7, "Sales": 0.7, "Exec-managerial": 0.7,
    "Prof-specialty": 0.4, "Handlers-cleaners": 0.5, "Machine-op-inspct": 0.5, "Adm-clerical": 0.7,
    "Farming-fishing": 0.5, "Transport-moving": 0.5, "Priv-house-serv": 0.4, "Protective-serv": 0.4,
    "Armed-Forces": 0.4,
}  # fmt: skip
MODELS = {
    "k-anonymity": "[sensitive.occupation]",
    "simple (α, k)": "[sensitive.occupation.values.Prof-specialty]\nalpha = 0.4",
    "complete (α, k)": "\n".join(f"[sensitive.occupation.values.{v}]\nalpha = {a}" for v, a in COMPLETE.items()),
    "general (α, k)": "[sensitive.occupation]\nalpha = 0.4",
}
# yang table 4
SENSITIVITY = {
    "Armed-Forces": 0.95, "Exec-managerial": 0.9, "Prof-specialty": 0.85, "Protective-serv": 0.8,
    "Priv-house-serv": 0.8, "Transport-moving": 0.7, "Tech-support": 0.65, "Farming-fishing": 0.6,
    "Machine-op-inspct": 0.5, "Handlers-cleaners": 0.4, "Craft-repair": 0.3, "Adm-clerical": 0.2,
    "Other-service": 0.1, "Sales": 0.1,
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """A table `people` in the database, shuffled, and the hierarchies of its quasi-identifiers."""

    connection: duckdb.DuckDBPyConnection
    folder: Path
    hierarchies: dict[str, str | None]
    rows: int
    name: str


@dataclass(frozen=True)
class Outcome:
    """What one experiment measures of a release."""

    distortion: float
    information_loss: float
    skewed_rows: int
    homogeneous_rows: int
    suppressed: int
    seconds: float


def adult(folder: Path, rows: int) -> Data:
    hierarchies: dict[str, str | None] = {name: f'"adult_hierarchy_{name}.csv"' for name in QI}
    return _shuffled(folder, hierarchies, f"read_csv('{folder / 'adult.csv'}', delim = ';')", rows, "Adult")


def invented(folder: Path, rows: int) -> Data:
    hierarchies = {name: INVENTED[name.replace("-", "_")] for name in QI}
    source = f"(SELECT * RENAME (marital_status AS \"marital-status\") FROM '{people(folder, rows)}')"
    return _shuffled(folder, hierarchies, source, rows, "invented people")


def _shuffled(folder: Path, hierarchies: dict[str, str | None], source: str, rows: int, name: str) -> Data:
    connection = duckdb.connect()
    names = ", ".join(f'"{quasi}"' for quasi in QI)
    numbered = f"SELECT *, row_number() OVER () AS i FROM {source}"
    connection.execute(
        f"CREATE TABLE people AS SELECT {names}, occupation FROM ({numbered}) ORDER BY md5(i::VARCHAR) LIMIT {rows}"
    )
    ((found,),) = connection.execute("SELECT count(*) FROM people").fetchall()
    return Data(connection, folder, hierarchies, found, name)


# -- one release ----------------------------------------------------------------------------------------


def policy(data: Data, model: str, k: int, names: list[str], rows: int, suppression: float) -> Policy:
    sections = [
        f"[quasi_identifiers.{n}]\n" + (f"hierarchy = {h}\n" if (h := data.hierarchies[n]) else "") for n in names
    ]
    columns = ", ".join(f'"{name}"' for name in (*names, "occupation"))
    query = f"SELECT {columns} FROM people LIMIT {rows}"
    return Policy.parse(
        f"name = \"papers\"\n[source]\nquery = '{query}'\n[privacy]\nk = {k}\nsuppression = {suppression}\n"
        f'[release]\nkind = "table"\nto = "released"\n{"".join(sections)}{model}\n',
        data.folder,
    )


def release(
    data: Data, model: str, *, method: str = "alpha_k_clustering", k: int = 5, names: list[str] = QI,
    rows: int | None = None, suppression: float = 0, c: float = 1,
) -> Outcome:  # fmt: skip
    """Recode the first rows of the data by a method, and measure what that gives; `c` tells which rows are skewed."""
    wanted = policy(data, model, k, names, rows or data.rows, suppression)
    scratch = Scratch(DuckDB.wrap(data.connection))
    start = time.perf_counter()
    census = take_census(wanted, bind_source(wanted, scratch), scratch)
    placement = _METHODS[method](wanted, census, Measurer(wanted, census), scratch)
    assert placement is not None, "the policy cannot be met"
    seconds = time.perf_counter() - start
    skewed, homogeneous, released = _attacked(census, placement, c)
    lost = distortion(wanted, census, placement), total_information_loss(wanted, census, placement)
    scratch.clear()
    return Outcome(*lost, skewed, homogeneous, census.rows - released, seconds)


def _one_node(wanted: Policy, census: Census, measurer: Measurer, scratch: Scratch) -> Placement:
    """The greedy walk: all classes at one node of the lattice, the failing ones suppressed."""
    answer = search(wanted, census, measurer, lambda node, failing: None).answer
    assert answer is not None
    keys = [h.code(0) for h in census.hierarchies]
    levels = [f"{level} AS l{place}" for place, level in enumerate(answer.node)]
    classes = measurer.classes(answer.node).sql("duckdb", identify=True)
    shared = census.keys(answer.node)
    good = f"SELECT * FROM ({classes}) g WHERE NOT g.failing"
    same = " AND ".join([f"g.{key} = c.{key}" for key in shared] or ["TRUE"])
    table = scratch.adopt("TABLE", "one_node")
    census.engine.fetch(
        f"CREATE TEMP TABLE {table.sql('duckdb')} AS SELECT DISTINCT {', '.join(f'c.{key}' for key in keys)}, "
        f"{', '.join(levels)} FROM {census.table.sql('duckdb')} c JOIN ({good}) g ON {same}"
    )
    return Placement(table, tuple(keys))


_METHODS: dict[str, Callable[[Policy, Census, Measurer, Scratch], Placement | None]] = {
    "alpha_k_clustering": lambda p, census, measurer, _: alpha_k_clustering(p, census, measurer, lambda n, f: None),
    "l_c_clustering": lambda p, census, measurer, _: l_c_clustering(p, census, measurer, lambda n, f: None),
    "greedy": _one_node,
}


def _attacked(census: Census, placement: Placement, c: float) -> tuple[int, int, int]:
    """Rows in classes where a value is more frequent than c (yang fig. 1, 2), in classes of one value, and in all."""
    same = " AND ".join(f"c.{key} IS NOT DISTINCT FROM p.{key}" for key in placement.keys)
    joins, labels = [], []
    for h in census.hierarchies:
        on = f"t{h.index}.code = c.{h.code(0)} AND t{h.index}.level = p.l{h.index}"
        joins.append(f"JOIN ({released_labels(h)}) t{h.index} ON {on}")
        labels.append(f"t{h.index}.label AS g{h.index}")
    shown = (
        f"SELECT {', '.join(labels)}, c.s0, c.n FROM {census.table.sql('duckdb')} c "
        f"JOIN {placement.table.sql('duckdb')} p ON {same} {' '.join(joins)}"
    )
    classes = ", ".join(f"g{h.index}" for h in census.hierarchies)
    counts = f"SELECT {classes}, s0, SUM(n) AS y FROM ({shown}) GROUP BY ALL"
    worst = f"SELECT SUM(y) AS x, MAX(y) FILTER (s0 IS NOT NULL) AS most FROM ({counts}) GROUP BY {classes}"
    ((skewed, homogeneous, rows),) = census.engine.fetch(
        f"SELECT COALESCE(SUM(x) FILTER (most > {c + 1e-9} * x), 0), COALESCE(SUM(x) FILTER (most = x), 0), "
        f"COALESCE(SUM(x), 0) FROM ({worst})"
    )
    return int(skewed), int(homogeneous), int(rows)


# -- the experiments --------------------------------------------------------------------------------------

Lines = dict[str, Points]


def losses_of_models(data: Data, points: list[int], setting: Callable[[int], dict[str, object]]) -> Lines:
    """han fig. 2–4: the distortion of the four models at each point."""
    return {
        name: [(point, release(data, model, **setting(point)).distortion) for point in points]  # type: ignore[arg-type]
        for name, model in MODELS.items()
    }


def orders(lines: Lines) -> Iterator[str]:
    """Where the losses do not come in the paper's order: k-anonymity ≤ simple ≤ complete ≤ general."""
    names = list(lines)
    for lower, upper in pairwise(names):
        for (x, low), (_, high) in zip(lines[lower], lines[upper], strict=True):
            if low > high:
                yield f"at {x:g}: {lower} loses {low / high - 1:.1%} more than {upper}"


def attacks(
    data: Data, points: list[float], setting: Callable[[float], tuple[int, float]]
) -> tuple[Lines, Lines, Lines]:
    """yang fig. 1–3: skewed rows, homogeneous rows and loss of l-diversity at one node, and of (l, c)-clustering."""
    sensitivity = "\n".join(f"[sensitive.occupation.values.{v}]\nsensitivity = {s}" for v, s in SENSITIVITY.items())
    found: dict[str, list[tuple[float, Outcome]]] = {"l-diversity, one node": [], "(l, c)-clustering": []}
    for point in points:
        least, c = setting(point)
        plain = f"[sensitive.occupation]\nl = {least}"
        found["l-diversity, one node"].append((point, release(data, plain, method="greedy", suppression=0.02, c=c)))
        bounded = f"{plain}\nalpha = {c}\n{sensitivity}"
        clustered = release(data, bounded, method="l_c_clustering", suppression=0.02, c=c)
        found["(l, c)-clustering"].append((point, clustered))
    skewed: Lines = {name: [(x, o.skewed_rows) for x, o in line] for name, line in found.items()}
    homogeneous: Lines = {name: [(x, o.homogeneous_rows) for x, o in line] for name, line in found.items()}
    lost: Lines = {name: [(x, o.information_loss) for x, o in line] for name, line in found.items()}
    return skewed, homogeneous, lost


class Report:
    """The plots and the figures behind them, as a page of docs/."""

    def __init__(self, folder: Path, data: Data) -> None:
        self.folder = folder
        self.parts = [
            "# The papers' experiments, run again\n",
            f"`python -m bench.papers`: {data.name}, {data.rows:,} rows, {len(QI)} quasi-identifiers "
            "(han table 4), sensitive: occupation.\n",
        ]

    def add(self, file: str, title: str, x: str, y: str, lines: Lines, notes: list[str]) -> None:
        line_plot(self.folder / file, title, x, y, lines)
        points = [point for point, _ in next(iter(lines.values()))]
        rows = [
            f"| {name} | " + " | ".join(f"{value:,.0f}" for _, value in line) + " |" for name, line in lines.items()
        ]
        head = f"| {x} | " + " | ".join(f"{point:g}" for point in points) + " |\n|---|" + "---:|" * len(points)
        told = "\n".join(f"- {note}" for note in notes)
        self.parts.append(f"## {title}\n\n![{title}]({file})\n\n{head}\n" + "\n".join(rows) + f"\n\n{told}\n")
        print(self.parts[-1], flush=True)

    def write(self) -> None:
        (self.folder / "papers.md").write_text("\n".join(self.parts), encoding="utf-8")


def han(data: Data, report: Report) -> None:
    steps = [data.rows * share // 5 for share in range(1, 6)]
    figures: list[tuple[str, str, str, list[int], Callable[[int], dict[str, object]]]] = [
        ("papers_loss_by_k.svg", "Distortion against k (han fig. 2)", "k", [2, 4, 6, 8, 10], lambda k: {"k": k}),
        ("papers_loss_by_columns.svg", "Distortion against the number of quasi-identifiers (han fig. 3)",
         "quasi-identifiers", [3, 4, 5, 6], lambda n: {"names": QI[:n]}),
        ("papers_loss_by_rows.svg", "Distortion against rows (han fig. 4)", "rows", steps, lambda n: {"rows": n}),
    ]  # fmt: skip
    for file, title, x, points, setting in figures:
        lines = losses_of_models(data, points, setting)
        kept = "The order is the paper's: k-anonymity ≤ simple ≤ complete ≤ general."
        report.add(file, title, x, "distortion (han eq. 4)", lines, list(orders(lines)) or [kept])


def yang(data: Data, report: Report) -> None:
    skewed, homogeneous, _ = attacks(data, [0.2, 0.3, 0.4, 0.5, 0.6], lambda c: (7, c))
    report.add("papers_skewed_by_c.svg", "Rows open to a skewness attack against c, l = 7 (yang fig. 1)", "c",
               "skewed rows", skewed, _most(homogeneous))  # fmt: skip
    skewed, homogeneous, lost = attacks(data, [2, 3, 4, 5, 6, 7, 8], lambda least: (int(least), 0.4))
    report.add("papers_skewed_by_l.svg", "Rows open to a skewness attack against l, c = 0.4 (yang fig. 2)", "l",
               "skewed rows", skewed, _most(homogeneous))  # fmt: skip
    report.add("papers_loss_by_l.svg", "Information loss against l, c = 0.4 (yang fig. 3)", "l",
               "information loss (yang eq. 2)", lost, [])  # fmt: skip


def _most(homogeneous: Lines) -> list[str]:
    return [f"{name}: at most {max(y for _, y in line):,.0f} homogeneous rows" for name, line in homogeneous.items()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.papers", description="Run the papers' experiments again.")
    parser.add_argument("data", type=Path, nargs="?", help="folder with adult.csv and its hierarchies")
    parser.add_argument("--rows", type=int, default=3_000, help="rows used at most (default 3,000)")
    parser.add_argument("--to", type=Path, default=DOCS, help="where the plots go (default docs/)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data.resolve() if options.data else Path(temporary)
        data = (adult if options.data else invented)(folder, options.rows)
        report = Report(options.to, data)
        han(data, report)
        yang(data, report)
        report.write()


if __name__ == "__main__":
    main()
