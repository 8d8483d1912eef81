"""The privacy models, one module each: keys in the policy, rules, questions to a release, and what they mean."""

from duckanon.models.model import ClassModel, ColumnModel, Model, Numbers, SizeModel, TableModel
from duckanon.models.rules import ClassRule, Constraint, Finding, SizeRule, TableRule, TotalRule, Windows

__all__ = [
    "ClassModel",
    "ClassRule",
    "ColumnModel",
    "Constraint",
    "Finding",
    "Model",
    "Numbers",
    "SizeModel",
    "SizeRule",
    "TableModel",
    "TableRule",
    "TotalRule",
    "Windows",
]
