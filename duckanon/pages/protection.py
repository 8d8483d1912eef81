"""What a policy makes of each column, and what it does not protect: in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from duckanon.pages.report import Role
from duckanon.policy import Policy
from duckanon.policy.numbers import AGGREGATES


def roles(policy: Policy) -> tuple[Role, ...]:
    """The columns that the policy names, by what is done to them."""
    person = (Role(policy.entity, "person", "whom k counts; see also its role above"),) if policy.entity else ()
    return (
        *(Role(name, "identifier", "never released") for name in policy.identifiers),
        *(Role(q.column, "quasi-identifier", _generalized(q.release_as)) for q in policy.quasi_identifiers),
        *(Role(s.column, "sensitive", _published(s.publish)) for s in policy.sensitive),
        *(Role(name, "pseudonym", "released as a keyed hash") for name in _pseudonyms(policy)),
        *(Role(name, "kept", "released unchanged") for name in policy.keep),
        *(Role(name, "dropped", "not released") for name in policy.drop),
        *person,
    )


def _generalized(release_as: str) -> str:
    said = "generalized as far as it takes"
    return said if release_as == "label" else f"{said}; the {release_as} is released, not the label"


def _published(publish: str) -> str:
    return "its level is released, not its value" if publish == "level" else "released; bound by the thresholds below"


def _pseudonyms(policy: Policy) -> tuple[str, ...]:
    return policy.pseudonyms.columns if policy.pseudonyms else ()


def source_of(policy: Policy) -> str:
    source = policy.source
    if source.table is not None:
        return f"table {source.table}"
    return f"file {source.file}" if source.file is not None else "a query of the policy"


def unprotected(policy: Policy, linkable: Mapping[str, Any] | None) -> Iterator[str]:
    """What README.md and SECURITY.md say of every release, as it is for this one."""
    names = ", ".join(q.column for q in policy.quasi_identifiers)
    yield (
        f"Protection is against linking by the quasi-identifiers that the policy names: {names}. "
        "Who knows something else of a person that the release shows may find the person by it."
    )
    if policy.keep:
        yield f"Released unchanged, and so not protected, only measured: {', '.join(policy.keep)}."
    if linkable and linkable.get("columns"):
        yield (
            f"With all that is released of them, by {', '.join(linkable['columns'])}, {linkable['rows']:,} rows are "
            "alone: who knows these columns of a person finds the row."
        )
    yield from _unprotected_values(policy)
    for wanted in (q for q in policy.quasi_identifiers if q.release_as in AGGREGATES):
        yield (
            f"Each class shows the {wanted.release_as} of its {wanted.column}, rounded: who knows it of all others in "
            "a class learns something of the last one's, and who has two releases, of those who came or went."
        )
    if policy.entity is None:
        yield "Every row counts as a person: somebody with several rows is counted several times."
    for name in _pseudonyms(policy):
        yield f"A pseudonym hides no person: the same value of {name} is the same in every row and every release."
    yield (
        "Two releases of a table that has changed in between can be compared with each other: who has both may learn "
        "of the rows that came, went or changed. Some of that is counted and warned of, not all."
    )
    yield (
        "A release does not hide from who can open the source, run SQL in its database or change the policy. "
        "And it is no differential privacy: that somebody is in the table at all may be learned from it."
    )


def _unprotected_values(policy: Policy) -> Iterator[str]:
    bare = [s.column for s in policy.sensitive if not s.thresholds and not any(v.thresholds for v in s.values.values())]
    if not policy.sensitive:
        yield "No column is named as sensitive: what all rows of a class have in common is learned of everybody in it."
    elif bare:
        yield f"No threshold bounds {', '.join(bare)}: all rows of a class may have the same value."
    if len(bare) < len(policy.sensitive):
        yield "Who is known to be in a class has one of its sensitive values, as likely as each is there."
