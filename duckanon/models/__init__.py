"""The privacy models: what each asks of a class or of the whole table, as SQL."""

from duckanon.models.rules import ClassRule, Constraint, Finding, TableRule, Windows, k_rule

__all__ = ["ClassRule", "Constraint", "Finding", "TableRule", "Windows", "k_rule"]
