"""A column as it is proposed: its role, its hierarchy, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duckanon.proposal.hierarchies import ProposedHierarchy
from duckanon.toml.writing import written_value


@dataclass(frozen=True)
class ProposedColumn:
    """What is told of a column, to a person, to a program and in the policy."""

    name: str
    type: str
    role: str
    why: str
    todo: bool = False
    distinct: int | None = None  # None: of a type whose values cannot be compared
    alone_share: float | None = None
    exact: bool = True  # whether all values were counted, and not a part of them
    hierarchy: ProposedHierarchy | None = None
    file: str | None = None  # that the hierarchy is in
    diversity: int = 2  # the l that a sensitive column could have
    repeats: bool = False  # an identifier of people who have several rows

    @property
    def figures(self) -> str:
        if self.distinct is None or self.alone_share is None:
            return self.type
        about = "" if self.exact else "about "
        values = "1 value" if self.distinct == 1 else f"{self.distinct:,} values"
        return f"{about}{values}, {self.alone_share:.1%} of the rows alone with theirs"

    @property
    def hierarchy_value(self) -> str | None:
        """As the policy says it."""
        if self.file is not None:
            return written_value(self.file)
        return self.hierarchy.toml if self.hierarchy else None

    def as_json(self) -> dict[str, Any]:
        hierarchy = self.file if self.file is not None else self.hierarchy.spec if self.hierarchy else None
        told = {
            "name": self.name,
            "type": self.type,
            "distinct": self.distinct,
            "alone_share": self.alone_share,
            "role": self.role,
            "hierarchy": hierarchy,
            "why": self.said,
            "todo": self.todo,
        }
        return told if self.exact else told | {"approximate": True}

    @property
    def said(self) -> str:
        """Why it has this role, and why this hierarchy."""
        return f"{self.why}; {self.hierarchy.why}" if self.hierarchy else self.why
