"""Classes and whether they fail: GROUP BY queries over cells, with a figure for every rule on classes."""

from __future__ import annotations

from sqlglot import exp

from duckanon.models import SizeRule
from duckanon.models.column_steps import ColumnSteps, SensitiveRules, lasting_of
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.unit import ROWS, CountingUnit
from duckanon.query.expressions import TOLERANCE, any_of, column, double, greatest, literal, same, sql, table
from duckanon.query.steps import with_steps


def judged_classes(
    cells: exp.Expr,
    keys: list[str],
    k: int,
    judged: list[SensitiveRules],
    nulls: bool,
    unit: CountingUnit = ROWS,
    lasting: bool = False,
    sizes: tuple[SizeRule, ...] = (),
) -> exp.Select:
    """A query of the classes of `cells` (keys, s0 …, n): keys, x rows, the figures of the rules, and whether each is
    failing. Where people are counted, the cells have what that takes, and the classes the number of people, too.

    `nulls`: the keys may be NULL. `lasting`: also how many rows of each fail at every finer node, at the least.
    `sizes`: rules on the population, too. Some cells are of the population then, with n = 0 and m rows of it; a class
    without rows is none.
    """
    steps = class_steps(cells, keys, k, judged, nulls, unit, lasting, sizes)
    classes = steps.pop("classes")
    return with_steps(classes, **steps)


def class_steps(
    cells: exp.Expr,
    keys: list[str],
    k: int,
    judged: list[SensitiveRules],
    nulls: bool,
    unit: CountingUnit = ROWS,
    lasting: bool = False,
    sizes: tuple[SizeRule, ...] = (),
) -> dict[str, exp.Select]:
    """The same in steps, the last of which is `classes`."""
    numbered, asked = len(judged) > 1, lasting and unit is ROWS
    columns = [ColumnSteps(cells, keys, part, nulls, unit, numbered, asked, bool(sizes)) for part in judged]
    by_values = bool(judged) and unit is ROWS and not sizes
    steps = {} if by_values else {"class_sizes": _class_sizes(cells, keys, unit, bool(sizes))}
    for part in columns:
        steps |= part.steps()
    first = columns[0].class_figures if by_values else "class_sizes"
    return {**steps, "classes": _classes(first, keys, k, columns, nulls, unit, lasting, sizes)}


def _class_sizes(cells: exp.Expr, keys: list[str], unit: CountingUnit, population: bool) -> exp.Select:
    columns, sizes = [column(key) for key in keys], {"x": ROWS.number, unit.size: unit.number}
    sizes |= {"population": "CAST(SUM(m) AS DOUBLE)"} if population else {}
    query = exp.select(*columns, *(sql(number).as_(name) for name, number in sizes.items())).from_(cells)
    if not columns:
        return query
    return query.group_by(*columns).having("SUM(n) > 0") if population else query.group_by(*columns)


def _classes(
    first: str,
    keys: list[str],
    k: int,
    columns: list[ColumnSteps],
    nulls: bool,
    unit: CountingUnit,
    lasting: bool,
    sizes: tuple[SizeRule, ...],
) -> exp.Select:
    """Every class with its figures and the verdict. Where rows alone are counted, the figures of the `first` column
    know the sizes."""
    shown = dict.fromkeys([*keys, "x", unit.size, *(["population"] if sizes else [])])
    # Whatever is added to a query copies it: the figures, of which there may be hundreds, are added at once.
    figures: list[exp.Expr] = []
    verdicts = [K_ANONYMITY.constraint(k).fails(column(unit.size, first))]
    # No part of a class below k has k rows or people.
    lasts, few = [_lasting(verdicts[0], column("x", first))], list[exp.Expr]()
    for by_size in sizes:
        figure, rows = (_sized(part, first) for part in (by_size.figure, by_size.lasting))
        figures.append(figure.as_(by_size.constraint.name))
        verdicts.append(by_size.constraint.fails(figure))
        lasts.append(_lasting(verdicts[-1], rows))
    for part in columns:
        for name, rule in part.rules.figures.items():
            figure = column(name, part.home(rule))
            figures.append(figure)
            verdicts.append(rule.constraint.fails(figure))
            if name in part.lasting:
                lasts.append(_lasting(verdicts[-1], column(lasting_of(name), part.class_figures)))
            elif part.asked and rule.lasting is not None:
                few.append(verdicts[-1])
    query = exp.select(*(column(name, first) for name in shown), *figures, any_of(verdicts).as_("failing"))
    if lasting:
        lasts += [_lasting(any_of(few), literal(1))] if few else []
        query = query.select(_whole_rows(lasts).as_("lasting"))
    query = query.from_(table(first))
    for home in dict.fromkeys(part.home(rule) for part in columns for rule in part.rules.rules):
        if home != first:
            query = query.join(table(home), on=same(keys, first, home, nulls))
    return query


def _sized(figure: exp.Expr, step: str) -> exp.Expr:
    """A figure of x and population, as a step has them."""
    return exp.paren(exp.replace_placeholders(figure, x=column("x", step), population=column("population", step)))


def _lasting(fails: exp.Expr, rows: exp.Expr) -> exp.Expr:
    """Of a class that fails it is one row at the least."""
    return sql("CASE WHEN :fails THEN GREATEST(:rows, 1) ELSE 0 END", fails=fails, rows=rows)


def _whole_rows(figures: list[exp.Expr]) -> exp.Expr:
    """The most of them, in whole rows: what was computed may be off in its last digits."""
    off = {"share": double(1 - TOLERANCE), "rest": double(1e-6)}
    return sql("CEIL(:most * :share - :rest)", most=greatest(figures), **off)
