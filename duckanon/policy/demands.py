"""What a policy demands, and whether another demands less: nobody should weaken a release without being told."""

from __future__ import annotations

from collections.abc import Iterator

from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.keys import Demand, Key, LevelKey, ThresholdKey
from duckanon.models.registry import column_keys, size_models, value_keys
from duckanon.policy import Policy, Sensitive, ValueThresholds
from duckanon.policy.numbers import AGGREGATES
from duckanon.query.names import folded

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
    yield from _numbers(now, then)
    if then.entity is not None and now.entity is None:
        yield f"privacy.entity was {then.entity}, is gone: rows are counted, not people"
    if then.profile is not None and now.profile != then.profile:
        yield f"privacy.profile was {then.profile}, is {now.profile or 'gone'}"


def _numbers(now: Policy, then: Policy) -> Iterator[str]:
    """Columns that tell of their values, and showed labels, or their middle."""
    before = {folded(q.column): q for q in then.quasi_identifiers}
    for q in now.quasi_identifiers:
        was = before.get(folded(q.column), q)
        if q.release_as in AGGREGATES and was.release_as not in AGGREGATES:
            yield f"quasi_identifiers.{q.column}.release_as was {was.release_as}, is {q.release_as}"


def _said(demand: Demand) -> str:
    return "gone" if demand.threshold is None else f"{demand.threshold:g}"


def _demands(policy: Policy, other: Policy) -> dict[str, Demand]:
    """Every threshold of a policy, also those that only the other one has."""
    found = {f"privacy.{name}": demand for name, demand in K_ANONYMITY.key.demands(policy.k, other.k).items()}
    for model in size_models():
        mine, others = (p.thresholds.get(model.key.name) for p in (policy, other))
        found |= {f"privacy.{name}": demand for name, demand in model.key.demands(mine, others).items()}
    finest, theirs = ({folded(q.column): q for q in p.quasi_identifiers} for p in (policy, other))
    for key in theirs.keys() & finest.keys():
        level = finest[key].at_least or None  # what is 0 asks for nothing
        found[f"quasi_identifiers.{finest[key].column}.at_least"] = Demand(level, True)
    columns = {folded(s.column): s.column for s in (*policy.sensitive, *other.sensitive)}
    asked, asked_there = ({folded(s.column): s for s in p.sensitive} for p in (policy, other))
    for key, column in columns.items():
        # Of a column that is not sensitive in one of them its new role says all there is to say.
        if key in asked and key in asked_there:
            wanted, there = asked[key], asked_there[key]
            found |= {f"sensitive.{column}.{name}": d for name, d in _column(wanted, there).items()}
            for value in dict.fromkeys([*wanted.values, *there.values]):
                where = f"sensitive.{column}.values.{value}"
                found |= {f"{where}.{name}": d for name, d in _value(value, wanted, there).items()}
    return found


def _column(wanted: Sensitive, other: Sensitive) -> dict[str, Demand]:
    by_level, others = ([k for _, k in column_keys() if isinstance(k, LevelKey) is of] for of in (True, False))
    demands = _asked(sorted(others, key=_single_and_rising_first), wanted, other)
    if wanted.threshold("t") is not None and other.threshold("t") is not None:
        # Values below one node lie closer to each other.
        demands["t.hierarchy"] = Demand(0.0 if wanted.hierarchy is None else 1.0, False)
    demands["publish"] = Demand(1.0 if wanted.publish == "level" else None, True)
    return demands | _asked(by_level, wanted, other)


def _single_and_rising_first(key: ThresholdKey) -> tuple[bool, bool]:
    """Single numbers before tables, and of them those first of which more is stricter."""
    return not isinstance(key, Key), isinstance(key, Key) and not key.larger_is_stricter


def _asked(keys: list[ThresholdKey], wanted: Sensitive, other: Sensitive) -> dict[str, Demand]:
    found: dict[str, Demand] = {}
    for key in keys:
        found |= key.demands(wanted.threshold(key.name), other.threshold(key.name))
    return found


def _value(value: str, wanted: Sensitive, other: Sensitive) -> dict[str, Demand]:
    """The thresholds that a value has of its own in one of the policies: that one, or else the column's."""
    own, theirs = (part.values.get(value, ValueThresholds()).thresholds for part in (wanted, other))
    found: dict[str, Demand] = {}
    for _, key in value_keys():
        if key.name in own or key.name in theirs:
            mine, others = (part.get(key.name, of.threshold(key.name)) for part, of in ((own, wanted), (theirs, other)))
            found |= key.demands(mine, others)
    return found


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
