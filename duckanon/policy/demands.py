"""What a policy demands, and whether another demands less: nobody should weaken a release without being told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from duckanon.policy import Policy, Sensitive, ValueThresholds
from duckanon.query.names import folded


@dataclass(frozen=True)
class Demand:
    """A threshold: the larger the stricter, or the smaller. None: nothing is demanded."""

    threshold: float | None
    larger_is_stricter: bool

    def is_less_than(self, other: Demand) -> bool:
        if other.threshold is None or self.threshold is None:
            return other.threshold is not None
        rises = self.threshold - other.threshold
        return rises < 0 if self.larger_is_stricter else rises > 0


# The roles of a column, from what shows least of it to what shows most; a source column without one is not there yet.
_ROLES = ("not released", "a pseudonym", "a quasi-identifier", "sensitive", "kept")
_QUASI_IDENTIFIER, _SENSITIVE = 2, 3


def weaker(now: Policy, then: Policy) -> Iterator[str]:
    """Everything in which `now` demands less than `then`, in words."""
    demands, before = _demands(now, then), _demands(then, now)
    for key, demand in before.items():
        if demands[key].is_less_than(demand):
            yield f"{key} was {demand.threshold:g}, is {_said(demands[key])}"
    yield from _roles(now, then)
    if then.entity is not None and now.entity is None:
        yield f"privacy.entity was {then.entity}, is gone: rows are counted, not people"


def _said(demand: Demand) -> str:
    return "gone" if demand.threshold is None else f"{demand.threshold:g}"


def _demands(policy: Policy, other: Policy) -> dict[str, Demand]:
    """Every threshold of a policy, also those that only the other one has."""
    found = {"privacy.k": Demand(policy.k, True)}
    columns = {folded(s.column): s.column for s in (*policy.sensitive, *other.sensitive)}
    mine, others = ({folded(s.column): s for s in p.sensitive} for p in (policy, other))
    for key, column in columns.items():
        # Of a column that is not sensitive in one of them its new role says all there is to say.
        if key in mine and key in others:
            values = dict.fromkeys([*mine[key].values, *others[key].values])
            found |= {f"sensitive.{column}.{name}": d for name, d in _column(mine[key], others[key]).items()}
            for value in values:
                where = f"sensitive.{column}.values.{value}"
                found |= {f"{where}.{name}": d for name, d in _value(value, mine[key], others[key]).items()}
    return found


def _column(wanted: Sensitive, other: Sensitive) -> dict[str, Demand]:
    recursive, proximity = wanted.recursive, wanted.proximity
    demands = {name: Demand(getattr(wanted, name), True) for name in ("l", "entropy_l", "level_l", "level_weight")}
    demands |= {name: Demand(getattr(wanted, name), False) for name in ("t", "alpha", "alp", "dif")}
    demands |= {
        "recursive.c": Demand(recursive.c if recursive else None, False),
        "recursive.l": Demand(recursive.l if recursive else None, True),
        "proximity.epsilon": Demand(proximity.epsilon if proximity else None, True),
        "proximity.m": Demand(proximity.m if proximity else None, True),
        "publish": Demand(1.0 if wanted.publish == "level" else None, True),
    }
    levels = dict.fromkeys([*wanted.level_alpha, *other.level_alpha])
    return demands | {f"level_alpha.{level}": Demand(wanted.level_alpha.get(level), False) for level in levels}


def _value(value: str, wanted: Sensitive, other: Sensitive) -> dict[str, Demand]:
    """The thresholds that a value has of its own in one of the policies: that one, or else the column's."""
    own, theirs = (part.values.get(value, ValueThresholds()) for part in (wanted, other))
    names = [n for n in ("alpha", "alp", "dif", "l") if getattr(own, n) is not None or getattr(theirs, n) is not None]
    demanded = {name: getattr(wanted if getattr(own, name) is None else own, name) for name in names}
    return {name: Demand(threshold, name == "l") for name, threshold in demanded.items()}


def _roles(now: Policy, then: Policy) -> Iterator[str]:
    """Columns that show more than they did."""
    roles, before = _role_of_each(now), _role_of_each(then)
    for key, (column, role) in roles.items():
        was = before[key][1] if key in before else role
        # A column that was sensitive and is a quasi-identifier has lost its thresholds.
        if was < role or (was, role) == (_SENSITIVE, _QUASI_IDENTIFIER):
            yield f"{column} was {_ROLES[was]}, is {_ROLES[role]}"


def _role_of_each(policy: Policy) -> dict[str, tuple[str, int]]:
    pseudonyms = policy.pseudonyms.columns if policy.pseudonyms else ()
    entity = (policy.entity,) if policy.entity is not None else ()
    named = [(*entity, *policy.identifiers), pseudonyms, [q.column for q in policy.quasi_identifiers]]
    named += [[s.column for s in policy.sensitive], policy.keep]
    return {folded(name): (name, role) for role, names in enumerate(named) for name in names}
