"""`python -m bench.papers [folder]`: the experiments of han and yang, run again; plots and figures go to docs/.

The folder holds Adult: adult.csv and adult_hierarchy_*.csv. Without one, invented people take its place. Whatever comes
out is reported, also where the papers found another order.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import duckdb

import duckanon
from bench.people import QI as INVENTED
from bench.people import people
from duckanon import Policy, resources
from duckanon.pages.charts import Points, line_plot

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
    """Tables `people_0`, `people_1`, …: random samples of the data; and the hierarchies of its quasi-identifiers."""

    connection: duckdb.DuckDBPyConnection
    folder: Path
    hierarchies: dict[str, str | None]
    rows: int
    samples: int
    name: str


@dataclass(frozen=True)
class Outcome:
    """What one experiment measures of a release."""

    distortion: float
    ncp: float
    skewed_rows: float
    homogeneous_rows: float


def adult(folder: Path, rows: int, samples: int) -> Data:
    hierarchies: dict[str, str | None] = {name: f'"adult_hierarchy_{name}.csv"' for name in QI}
    source = f"read_csv('{folder / 'adult.csv'}', delim = ';')"
    return _sampled(folder, hierarchies, source, rows, samples, "Adult")


def invented(folder: Path, rows: int, samples: int) -> Data:
    hierarchies = {name: INVENTED[name.replace("-", "_")] for name in QI}
    source = f"(SELECT * RENAME (marital_status AS \"marital-status\") FROM '{people(folder, 10 * rows)}')"
    return _sampled(folder, hierarchies, source, rows, samples, "invented people")


def _sampled(folder: Path, hierarchies: dict[str, str | None], source: str, rows: int, samples: int, name: str) -> Data:
    connection = duckdb.connect()
    connection.execute(resources.macros())
    names = ", ".join(f'"{quasi}"' for quasi in QI)
    connection.execute(f"CREATE TABLE everybody AS SELECT *, row_number() OVER () AS i FROM {source}")
    for sample in range(samples):
        connection.execute(
            f"CREATE TABLE people_{sample} AS SELECT {names}, occupation FROM everybody "
            f"ORDER BY md5(i || ' ' || {sample}) LIMIT {rows}"
        )
    ((found,),) = connection.execute("SELECT count(*) FROM people_0").fetchall()
    return Data(connection, folder, hierarchies, found, samples, name)


# -- one release ----------------------------------------------------------------------------------------


def policy(data: Data, sample: int, model: str, method: str, k: int, names: list[str], rows: int) -> Policy:
    sections = [
        f"[quasi_identifiers.{n}]\n" + (f"hierarchy = {h}\n" if (h := data.hierarchies[n]) else "") for n in names
    ]
    columns = ", ".join(f'"{name}"' for name in (*names, "occupation"))
    query = f"SELECT {columns} FROM people_{sample} LIMIT {rows}"
    # One node for all rows needs a budget to be of any use.
    suppression = 0.02 if method == "greedy" else 0
    return Policy.parse(
        f"name = \"papers\"\n[source]\nquery = '{query}'\n[privacy]\nk = {k}\nsuppression = {suppression}\n"
        f'[search]\nmethod = "{method}"\n[release]\nkind = "table"\nto = "released"\n{"".join(sections)}{model}\n',
        data.folder,
    )


def release(
    data: Data, model: str, *, method: str = "alpha_k_clustering", k: int = 5, names: list[str] = QI,
    rows: int | None = None, c: float = 1,
) -> Outcome:  # fmt: skip
    """Release the first rows of every sample, and measure what that gives on average; `c` says what is skewed."""
    found = []
    for sample in range(data.samples):
        wanted = policy(data, sample, model, method, k, names, rows or data.rows)
        result = duckanon.run(wanted, data.connection, replace=True)
        assert result.utility is not None, result.reasons
        skewed = f"(SELECT skewed_rows FROM duckanon.skewness('released', {names}, 'occupation', c := {c}))"
        homogeneous = f"(SELECT homogeneous_rows FROM duckanon.homogeneity('released', {names}, 'occupation'))"
        (attacked,) = data.connection.execute(f"SELECT {skewed}, {homogeneous}").fetchall()
        found.append((result.utility.get("distortion", 0.0), result.utility["ncp"], *attacked))
    return Outcome(*(fmean(figures) for figures in zip(*found, strict=True)))


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
        found["l-diversity, one node"].append((point, release(data, plain, method="greedy", c=c)))
        bounded = f"{plain}\nalpha = {c}\n{sensitivity}"
        clustered = release(data, bounded, method="l_c_clustering", c=c)
        found["(l, c)-clustering"].append((point, clustered))
    skewed: Lines = {name: [(x, o.skewed_rows) for x, o in line] for name, line in found.items()}
    homogeneous: Lines = {name: [(x, o.homogeneous_rows) for x, o in line] for name, line in found.items()}
    lost: Lines = {name: [(x, o.ncp) for x, o in line] for name, line in found.items()}
    return skewed, homogeneous, lost


class Report:
    """The plots and the figures behind them, as a page of docs/."""

    def __init__(self, folder: Path, data: Data) -> None:
        self.folder = folder
        self.parts = [
            "# The papers' experiments, run again\n",
            f"`python -m bench.papers`: {data.name}, {len(QI)} quasi-identifiers (han table 4), sensitive: occupation; "
            f"the average of {data.samples} random samples of {data.rows:,} rows.\n",
        ]

    def add(self, file: str, title: str, x: str, y: str, lines: Lines, notes: list[str]) -> None:
        (self.folder / file).write_text(line_plot(title, x, y, lines) + "\n", encoding="utf-8")
        points = [point for point, _ in next(iter(lines.values()))]
        shares = all(value <= 1 for line in lines.values() for _, value in line)
        digits = 3 if shares and y == "NCP" else 0
        rows = [
            f"| {name} | " + " | ".join(f"{value:,.{digits}f}" for _, value in line) + " |"
            for name, line in lines.items()
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
               "NCP", lost, [])  # fmt: skip


def _most(homogeneous: Lines) -> list[str]:
    return [f"{name}: at most {max(y for _, y in line):,.0f} homogeneous rows" for name, line in homogeneous.items()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.papers", description="Run the papers' experiments again.")
    parser.add_argument("data", type=Path, nargs="?", help="folder with adult.csv and its hierarchies")
    parser.add_argument("--rows", type=int, default=2_000, help="rows of a sample (default 2,000)")
    parser.add_argument("--samples", type=int, default=5, help="samples to average over (default 5)")
    parser.add_argument("--to", type=Path, default=DOCS, help="where the plots go (default docs/)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data.resolve() if options.data else Path(temporary)
        data = (adult if options.data else invented)(folder, options.rows, options.samples)
        report = Report(options.to, data)
        han(data, report)
        yang(data, report)
        report.write()


if __name__ == "__main__":
    main()
