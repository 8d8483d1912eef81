"""A random case under everything that a policy may ask for beside its constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from duckanon.policy.schema import FULL_DOMAIN, LOCAL
from tests.support import reference as ref
from tests.support.cases import RELEASE, Case, cases, chance, table, with_sizes, written

KINDS = ("table", "view", "parquet", "csv")
KEY = "DUCKANON_TEST_KEY"


@dataclass(frozen=True)
class Variant:
    """A case, and how it is released."""

    case: Case
    kind: str
    method: str
    unmapped: str
    entity: bool
    pseudonyms: bool
    where: str = "workbench"

    @property
    def to(self) -> str:
        return RELEASE if self.kind in ("table", "view") else f"out.{self.kind}"

    def toml(self) -> str:
        document = self.case.document(self.kind)
        document["release"]["to"] = self.to
        document["search"] |= {"method": self.method, "where": self.where}
        document["privacy"]["unmapped"] = self.unmapped
        if self.entity:
            document["privacy"]["entity"] = "name"
        if self.pseudonyms:
            document["columns"] = {"keep": document["columns"]["keep"], "pseudonyms": ["name"]}
            document["pseudonyms"] = {"key_env": KEY}
        return written(document)


@st.composite
def variants(draw: st.DrawFn) -> Variant:
    case = draw(cases())
    levelled = any(wanted.level_l or wanted.level_alpha for wanted in case.policy.sensitive)
    method = draw(st.sampled_from([m for m in (*FULL_DOMAIN, *LOCAL) if levelled or m != "alpha_l_diversification"]))
    unmapped = draw(st.sampled_from(["error", "suppress", "top"]))
    if method in LOCAL:
        case, unmapped = suited(case, method), "error" if unmapped == "top" else unmapped
    elif unmapped != "error":
        case = with_strangers(draw, case)
    kind = draw(st.sampled_from(KINDS))
    entity = method not in LOCAL and chance(draw, 4)
    pseudonyms = kind != "view" and chance(draw, 4)
    people = tuple(f"p{number}" for number in range(len(case.rows) // 2 + 1))
    if entity:
        case = with_people(draw, case, people)
    there = method not in LOCAL and not entity and chance(draw, 3)
    if method not in LOCAL and not entity and not there and chance(draw, 2):
        case = with_sizes(draw, case)
    elif method == "climb" and kind != "view":
        case = with_sizes(draw, case)
        case = replace(case, policy=replace(case.policy, sizes=ref.Sizes(k_map=case.policy.sizes.k_map)))
    return Variant(case, kind, method, unmapped, entity, pseudonyms, "warehouse" if there else "workbench")


def suited(case: Case, method: str) -> Case:
    """Without what the method refuses."""
    if method == "climb":
        return case
    return replace(case, policy=replace(case.policy, sensitive=tuple(map(in_reach, case.policy.sensitive))))


def in_reach(wanted: ref.Sensitive) -> ref.Sensitive:
    """What every method that clusters can reach."""
    values = {name: replace(value, alp=None, dif=None) for name, value in wanted.values.items()}
    return replace(
        wanted, entropy_l=None, recursive=None, t=None, alp=None, dif=None, proximity=None, level_weight=None,
        values=values,
    )  # fmt: skip


def with_strangers(draw: st.DrawFn, case: Case) -> Case:
    """Rows with values that only come later, which the hierarchies need not know."""
    strange = {name: replace(column, values=column.values + column.later) for name, column in case.columns.items()}
    levelled = {s.column for s in case.policy.sensitive if s.levels}
    strange |= {name: case.columns[name] for name in levelled}
    rows = case.rows + table(strange, draw(st.integers(1, 5)), draw(st.integers(0, 2**32)))
    return replace(case, rows=rows)


def with_people(draw: st.DrawFn, case: Case, people: tuple[str, ...]) -> Case:
    """Each row somebody's; proximity counts rows only."""
    sensitive = tuple(replace(wanted, proximity=None) for wanted in case.policy.sensitive)
    case = replace(case, policy=replace(case.policy, sensitive=sensitive))
    names: Mapping[str, Any] = {"name": replace(case.columns["name"], values=people)}
    who = table(names, len(case.rows), draw(st.integers(0, 2**32)))
    return replace(case, rows=tuple({**row, **person} for row, person in zip(case.rows, who, strict=True)))
