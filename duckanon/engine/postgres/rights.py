"""Who may read a release stays as it is: a new table is open to nobody to whom the one it replaces was not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from duckanon.engine.postgres.catalog import literal
from duckanon.engine.relation import Relation
from duckanon.errors import ReleaseError
from duckanon.query.names import quoted

_UNDER_WAY = "replaced, given to another owner or secured by rows, by somebody under way; run again"
Fetch = Callable[[str], list[tuple[Any, ...]]]

_OWNER = """
    SELECT CAST(c.oid AS bigint), CAST(pg_get_userbyid(c.relowner) AS text), CAST(current_user AS text),
        c.relrowsecurity, c.relispartition OR c.relhassubclass OR EXISTS (
            SELECT 1 FROM pg_inherits AS i WHERE i.inhrelid = c.oid
        ) OR EXISTS (SELECT 1 FROM pg_publication_rel AS p WHERE p.prrelid = c.oid) OR EXISTS (
            SELECT 1 FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal
        ), obj_description(c.oid, 'pg_class')
    FROM pg_class AS c WHERE c.oid = to_regclass({relation})
"""
# The transaction sees the catalog as it was when it began; these functions see it as it is.
_STILL = "SELECT has_table_privilege({role}, {relation}, {privilege})"
_STILL_OF_A_COLUMN = "SELECT has_column_privilege({role}, {relation}, {column}, {privilege})"
_GRANTS = """
    SELECT CASE WHEN a.grantee <> 0 THEN CAST(pg_get_userbyid(a.grantee) AS text) END,
        a.privilege_type, a.is_grantable, CAST(NULL AS text)
    FROM pg_class AS c, aclexplode(c.relacl) AS a
    WHERE c.oid = to_regclass({relation}) AND a.grantee <> c.relowner
    UNION ALL
    SELECT CASE WHEN a.grantee <> 0 THEN CAST(pg_get_userbyid(a.grantee) AS text) END,
        a.privilege_type, a.is_grantable, CAST(t.attname AS text)
    FROM pg_class AS c JOIN pg_attribute AS t ON t.attrelid = c.oid, aclexplode(t.attacl) AS a
    WHERE c.oid = to_regclass({relation}) AND a.grantee <> c.relowner AND NOT t.attisdropped
"""
_COMMENTS = """
    SELECT CAST(t.attname AS text), col_description(t.attrelid, t.attnum) FROM pg_attribute AS t
    WHERE t.attrelid = to_regclass({relation}) AND t.attnum > 0 AND NOT t.attisdropped
        AND col_description(t.attrelid, t.attnum) IS NOT NULL
"""

_SECURED = """
    WITH RECURSIVE read (oid) AS (
        SELECT CAST(to_regclass({relation}) AS oid)
        UNION SELECT d.refobjid FROM read JOIN pg_rewrite AS r ON r.ev_class = read.oid
            JOIN pg_depend AS d ON d.classid = CAST('pg_rewrite' AS regclass) AND d.objid = r.oid
        WHERE d.refclassid = CAST('pg_class' AS regclass)
    )
    SELECT CAST(c.relname AS text) FROM read JOIN pg_class AS c USING (oid)
    WHERE c.relkind IN ('r', 'p') AND row_security_active(c.oid) ORDER BY 1
"""


@dataclass(frozen=True)
class Grant:
    """What somebody may do with a relation, or with one of its columns."""

    grantee: str | None  # None: everybody
    privilege: str
    passed_on: bool
    column: str | None

    @property
    def to(self) -> str:
        return "PUBLIC" if self.grantee is None else quoted(self.grantee)

    def on(self, relation: Relation) -> str:
        of, option = f" ({quoted(self.column)})" if self.column else "", " WITH GRANT OPTION" if self.passed_on else ""
        return f"GRANT {self.privilege}{of} ON TABLE {relation.spelled} TO {self.to}{option}"

    def still_holds(self, relation: Relation, fetch: Fetch) -> bool:
        option = " WITH GRANT OPTION" if self.passed_on else ""
        parts = {"role": self.grantee or "public", "relation": relation.spelled, "column": self.column or ""}
        parts = {name: literal(part) for name, part in parts.items()} | {"privilege": literal(self.privilege + option)}
        return bool(fetch((_STILL_OF_A_COLUMN if self.column else _STILL).format(**parts))[0][0])


@dataclass(frozen=True)
class Rights:
    """Owner, grants and the comments on columns, of a relation that a release takes the place of."""

    relation: Relation
    oid: int
    owner: str
    user: str
    grants: tuple[Grant, ...]
    comments: tuple[tuple[str, str], ...]

    def as_they_are_now(self, fetch: Fetch, fetch_apart: Fetch) -> Rights:
        """Without what was revoked since the transaction began. What somebody else has put there is not replaced, nor
        what has got another owner or row-level security, as only who asks outside of the transaction can see."""
        found = fetch_apart(_OWNER.format(relation=literal(self.relation.spelled)))
        if not found or found[0][:2] != (self.oid, self.owner) or any(found[0][3:5]):
            raise ReleaseError(f"release.to: {self.relation.spelled} was {_UNDER_WAY}")
        return replace(self, grants=tuple(grant for grant in self.grants if grant.still_holds(self.relation, fetch)))

    def must_be_ours(self) -> None:
        """A view reads its source with the rights of its owner, so it cannot be given away."""
        if self.owner != self.user:
            what = f"belongs to {quoted(self.owner)}, with whose rights a view would read the source"
            raise ReleaseError(f"release.to: {self.relation.spelled} {what}; run as that role, or release a table")

    def passed_on(self, relation: Relation, fetch: Fetch) -> Iterator[str]:
        """The statements that give a new relation these rights, and no others."""
        columns = {row[0] for row in fetch(_names(relation))}
        yield from closed(relation, fetch)
        for grant in self.grants:
            if grant.column is None or grant.column in columns:
                yield grant.on(relation)
        for column, said in self.comments:
            if column in columns:
                yield f"COMMENT ON COLUMN {relation.spelled}.{quoted(column)} IS {literal(said)}"
        if self.owner != self.user:
            yield f"ALTER TABLE {relation.spelled} OWNER TO {quoted(self.owner)}"


def read_rights(relation: Relation, fetch: Fetch) -> Rights:
    named = literal(relation.spelled)
    found = fetch(_OWNER.format(relation=named))
    if not found or found[0][-1] != relation.comment:
        raise ReleaseError(f"release.to: {relation.spelled} was {_UNDER_WAY}")
    ((oid, owner, user, secured, bound, _),) = found
    if bound:
        what = "is part of another table, has parts or triggers, or is published: a new table would not be"
        raise ReleaseError(f"release.to: {relation.spelled} {what}; release to another name")
    if secured:
        what = "has row-level security, which a new table would not have"
        raise ReleaseError(f"release.to: {relation.spelled} {what}; release to another name, and grant on that")
    comments = tuple((name, said) for name, said in fetch(_COMMENTS.format(relation=named)))
    return Rights(relation, oid, owner, user, _grants(relation, fetch), comments)


def closed(relation: Relation, fetch: Fetch) -> Iterator[str]:
    """The statements that take a new relation from all to whom new ones are open by default."""
    for to in sorted({grant.to for grant in _grants(relation, fetch)}):
        yield f"REVOKE ALL ON TABLE {relation.spelled} FROM {to}"


def must_show_all_the_same(view: Relation, fetch: Fetch) -> None:
    """Refuse a view over a table of which every reader would be shown other rows, and so other classes."""
    for (name,) in fetch(_SECURED.format(relation=literal(view.spelled))):
        what = f"the source reads {quoted(name)}, whose row-level security would show other classes to every reader"
        raise ReleaseError(f"release.kind: {what}; release a table, or let the role of the run bypass it")


def _grants(relation: Relation, fetch: Fetch) -> tuple[Grant, ...]:
    found = fetch(_GRANTS.format(relation=literal(relation.spelled)))
    return tuple(Grant(who, what, bool(on), column) for who, what, on, column in found)


def _names(relation: Relation) -> str:
    return (
        "SELECT CAST(attname AS text) FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped "
        f"AND attrelid = to_regclass({literal(relation.spelled)})"
    )
