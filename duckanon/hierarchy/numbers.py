"""Columns that are released as numbers: that they have numbers, and how exactly these may be told."""

from __future__ import annotations

from sqlglot import exp

from duckanon.engine import Workbench
from duckanon.errors import Fault, HierarchyError
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.computed import VALUE
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import known
from duckanon.query.expressions import literal, sql
from duckanon.query.functions import cast_or_null, finite_number

# All digits of a mean would tell the sum of its class: so many are shown, and no decimals where the values have none.
_DIGITS = 4
_MOST_DECIMALS = 15


def must_be_numbers(scheme: Scheme, domain: exp.Expr, workbench: Workbench) -> None:
    """Refuses to release anything but numbers as numbers."""
    where, type_ = f"quasi_identifiers.{scheme.wanted.column}.release_as", scheme.column.type
    what = f"{scheme.wanted.release_as} needs a column of numbers"
    if not (type_.is_number or type_.is_text):
        raise HierarchyError([Fault(where, f"{what}, this one is of type {type_}", "leave release_as out")])
    if type_.is_number:
        return
    says = finite_number(cast_or_null(VALUE, "DOUBLE"))
    strange = exp.select(sql("COUNT(value)")).from_(domain.copy()).where(known(scheme, VALUE))
    ((count,),) = workbench.fetch(strange.where(sql("NOT COALESCE(:says, FALSE)", says=says)))
    if count:
        raise HierarchyError([Fault(where, f"{what}, and {count:,} values of this one are none", "leave it out")])


def rounded(number: exp.Expr, hierarchy: Hierarchy) -> exp.Expr:
    """To four significant digits, and to no more decimals than the values of the column have."""
    most = literal(hierarchy.column.type.scale or _MOST_DECIMALS)
    broken = sql(":value <> FLOOR(:value)", value=hierarchy.number or exp.null())
    found = exp.select(sql("CASE WHEN COUNT(*) > 0 THEN :most ELSE 0 END", most=most)).from_(hierarchy.mapping)
    places = sql(
        "LEAST(:decimals, :digits - 1 - CAST(FLOOR(LOG10(ABS(:number))) AS INTEGER))",
        number=number,
        decimals=found.where(broken).subquery(),
        digits=literal(_DIGITS),
    )
    return sql(
        "CASE WHEN :number = 0 THEN CAST(0 AS DOUBLE) ELSE ROUND(:number, :places) END", number=number, places=places
    )
