"""What a placement loses, as the papers on clustering count it. A suppressed row counts as generalized to the top."""

from __future__ import annotations

from duckanon.census.counting import Census
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.labels import label_list, labels_of_values
from duckanon.local import Placement
from duckanon.local.clusters.distance import distances_from_raw
from duckanon.query.dialects import WORKBENCH


def information_lost(census: Census, placement: Placement) -> float:
    """The NCP of all cells of the table. A NULL below the top costs nothing."""
    joins, figures, costs = [], [], []
    for h in census.hierarchies:
        codes = "".join(f" WHEN {level} THEN {h.code(level)}" for level in h.coded)
        code, label = f"CASE l{h.index}{codes} ELSE 0 END" if codes else "0", f"t{h.index}"
        listed = label_list(h).sql(WORKBENCH, identify=True)
        joins.append(f"LEFT JOIN ({listed}) {label} ON {label}.level = l{h.index} AND {label}.code = {code}")
        figures.append(f"{label}.ncp AS ncp{h.index}")
        costs.append(f"CASE WHEN l{h.index} IS NULL THEN 1 ELSE COALESCE(ncp{h.index}, 0) END")
    priced = f"SELECT p.*, {', '.join(figures)} FROM ({_placed(census, placement)}) p"
    return _summed(census, f"{priced} {' '.join(joins)}", costs)


def distortion(census: Census, placement: Placement, beta: float) -> float:
    """The weighted hierarchical distortion of the whole table, han eq. 2–4."""
    costs = []
    for hierarchy in census.hierarchies:
        shares = distances_from_raw(hierarchy.height, beta)
        cases = " ".join(f"WHEN {level} THEN {share!r}" for level, share in enumerate(shares))
        costs.append(f"CASE l{hierarchy.index} {cases} ELSE 1 END")
    return _summed(census, f"SELECT * FROM ({_placed(census, placement)})", costs)


def total_information_loss(census: Census, placement: Placement) -> float:
    """yang eq. 1, 2: of a number the span of its class over the span of the source; of anything else the height of the
    class's ancestor over that of the hierarchy. A number and NULL in one class span everything."""
    classes = ", ".join(f"g{h.index}" for h in census.hierarchies)
    columns, joins, costs = [], [], []
    for h in census.hierarchies:
        label, code = f"t{h.index}", h.code(h.lowest) if h.coded else "0"
        joins.append(
            f"LEFT JOIN ({labels_of_values(h)}) {label} ON {label}.code = {code} AND {label}.level = l{h.index}"
        )
        columns.append(f"t{h.index}.label AS g{h.index}")
        if h.column.type.is_number:
            least, most = f"from{h.index}", f"to{h.index}"
            if not h.lowest:  # else the census has them
                mapping = h.mapping.sql(WORKBENCH, identify=True)
                joins.append(f"LEFT JOIN {mapping} m{h.index} ON m{h.index}.code_0 = {code}")
                least = most = f"m{h.index}.value"
            columns += [f"CAST({least} AS DOUBLE) AS u{h.index}", f"CAST({most} AS DOUBLE) AS v{h.index}"]
        costs.append(_class_cost(h))
    labelled = f"SELECT p.*, {', '.join(columns)} FROM ({_placed(census, placement)}) p {' '.join(joins)}"
    windows = [f"MAX(v{h.index}) OVER c - MIN(u{h.index}) OVER c AS span{h.index}, "
               f"COUNT(v{h.index}) OVER c NOT IN (0, COUNT(*) OVER c) AS mixed{h.index}"
               for h in census.hierarchies if h.column.type.is_number]  # fmt: skip
    spans = ", ".join(["*", *windows])
    return _summed(census, f"SELECT {spans} FROM ({labelled}) WINDOW c AS (PARTITION BY {classes})", costs)


def _class_cost(hierarchy: Hierarchy) -> str:
    index = hierarchy.index
    if not hierarchy.column.type.is_number:
        return f"COALESCE(l{index} / {hierarchy.height}e0, 1)"
    mapping = hierarchy.mapping.sql(WORKBENCH, identify=True)
    whole = f"SELECT CAST(MAX(value) AS DOUBLE) - CAST(MIN(value) AS DOUBLE) FROM {mapping}"
    share = f"COALESCE(span{index} / NULLIF(({whole}), 0), 0)"
    return f"CASE WHEN l{index} IS NULL OR mixed{index} THEN 1 ELSE {share} END"


def _placed(census: Census, placement: Placement) -> str:
    """The census's cells with the levels they are released at; NULL: suppressed."""
    same = " AND ".join(f"c.{key} IS NOT DISTINCT FROM p.{key}" for key in placement.keys) or "TRUE"
    levels = ", ".join(f"p.l{h.index}" for h in census.hierarchies)
    return (
        f"SELECT c.*, {levels} FROM {census.table.sql(WORKBENCH, identify=True)} c "
        f"LEFT JOIN {placement.table.sql(WORKBENCH, identify=True)} p ON {same}"
    )


def _summed(census: Census, cells: str, costs: list[str]) -> float:
    """Σ over the source rows of what their cells cost."""
    total = " + ".join(f"CAST({cost} AS DOUBLE)" for cost in costs)
    ((loss,),) = census.workbench.fetch(f"SELECT SUM(n * ({total})) FROM ({cells})")
    return float(loss)
