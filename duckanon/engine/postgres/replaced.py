"""What stands in the place of a release, until the new one takes it over with all its rights."""

from __future__ import annotations

from collections.abc import Callable

from duckanon.engine.postgres.rights import Fetch, read_rights
from duckanon.engine.relation import Relation


class Replaced:
    """A table or view of the last release. Its rights outlive it."""

    def __init__(self, relation: Relation, fetch: Fetch, fetch_apart: Fetch, run: Callable[[str], None]) -> None:
        self.relation, self._fetch, self._fetch_apart, self._run = relation, fetch, fetch_apart, run
        self.rights = read_rights(relation, fetch)
        self._stands = True

    def remove(self) -> None:
        """Whoever reads it comes to the end first, and from here on waits for the new one."""
        if not self._stands:
            return
        if self.relation.kind == "table":
            self._run(f"LOCK TABLE {self.relation.spelled} IN ACCESS EXCLUSIVE MODE")
        self.rights = self.rights.as_they_are_now(self._fetch, self._fetch_apart)
        self._run(f"DROP {self.relation.kind.upper()} {self.relation.spelled}")
        self._stands = False

    def hand_over(self, relation: Relation) -> None:
        for statement in self.rights.passed_on(relation, self._fetch):
            self._run(statement)
