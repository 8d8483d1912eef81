"""Every privacy model there is, in the order in which their constraints are told."""

from __future__ import annotations

from duckanon.models import ClassRule, TableRule
from duckanon.models.alpha import alpha_rules
from duckanon.models.closeness import closeness_rules
from duckanon.models.diversity import diversity_rules
from duckanon.models.leakage import leakage_rules
from duckanon.models.levels import level_rules
from duckanon.models.proximity import proximity_rules
from duckanon.policy import Sensitive


def class_rules(wanted: Sensitive, numeric: bool) -> tuple[ClassRule, ...]:
    """Every class-level rule of a sensitive column."""
    return (
        *diversity_rules(wanted),
        *closeness_rules(wanted, numeric),
        *alpha_rules(wanted),
        *level_rules(wanted),
        *proximity_rules(wanted),
    )


def table_rules(wanted: Sensitive) -> tuple[TableRule, ...]:
    return tuple(leakage_rules(wanted))
