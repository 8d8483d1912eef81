"""The privacy models, one module each: keys in the policy, rules, questions to a release, and what they mean."""

from duckanon.models.model import ClassModel, ColumnModel, Model, Numbers, TableModel
from duckanon.models.rules import ClassRule, Constraint, Finding, TableRule, Windows

__all__ = [
    "ClassModel",
    "ClassRule",
    "ColumnModel",
    "Constraint",
    "Finding",
    "Model",
    "Numbers",
    "TableModel",
    "TableRule",
    "Windows",
]
