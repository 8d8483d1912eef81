"""The analysts' macros as a run asks them: in a catalog of their own."""

from __future__ import annotations

from duckanon import resources
from duckanon.query.names import quoted

ASKED = (
    "class_sizes",
    "l_diversity",
    "homogeneity",
    "recursive_diversity",
    "leakage",
    "t_closeness_to",
    "value_diversity",
    "proximity",
    "people",
    "people_diversity",
    "people_value_diversity",
    "people_leakage",
)


def macros_for(home: str) -> str:
    """The script of the macros that a run asks, for a catalog of that name: to make them all would take longer than the
    verification of a small release."""
    schema, known = f"{quoted(home)}.duckanon", resources.macro_statements()
    statements = [known[name].replace("MACRO duckanon.", f"MACRO {schema}.", 1) for name in ASKED]
    return "\n".join([f"CREATE SCHEMA {schema};", *statements])
