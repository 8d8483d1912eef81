"""Who may read a release stays as it is: a new table is open to nobody to whom the one it replaces was not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from duckanon.engine.postgres.catalog import literal
from duckanon.engine.relation import Relation
from duckanon.errors import ReleaseError
from duckanon.query.names import quoted

Fetch = Callable[[str], list[tuple[Any, ...]]]

_OWNER = """
    SELECT CAST(pg_get_userbyid(c.relowner) AS text), c.relrowsecurity, CAST(current_user AS text)
    FROM pg_class AS c WHERE c.oid = to_regclass({relation})
"""
_GRANTS = """
    SELECT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
        a.privilege_type, a.is_grantable, CAST(NULL AS text)
    FROM pg_class AS c, aclexplode(c.relacl) AS a
    WHERE c.oid = to_regclass({relation}) AND a.grantee <> c.relowner
    UNION ALL
    SELECT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
        a.privilege_type, a.is_grantable, CAST(t.attname AS text)
    FROM pg_class AS c JOIN pg_attribute AS t ON t.attrelid = c.oid, aclexplode(t.attacl) AS a
    WHERE c.oid = to_regclass({relation}) AND a.grantee <> c.relowner AND NOT t.attisdropped
"""
_COMMENTS = """
    SELECT CAST(t.attname AS text), col_description(t.attrelid, t.attnum) FROM pg_attribute AS t
    WHERE t.attrelid = to_regclass({relation}) AND t.attnum > 0 AND NOT t.attisdropped
        AND col_description(t.attrelid, t.attnum) IS NOT NULL
"""


@dataclass(frozen=True)
class Rights:
    """Owner, grants and the comments on columns, of a relation that a release takes the place of."""

    relation: Relation
    owner: str
    user: str
    grants: tuple[tuple[str, str, bool, str | None], ...]  # to whom, what, with the right to pass it on; of a column
    comments: tuple[tuple[str, str], ...]

    def passed_on(self, relation: Relation, fetch: Fetch) -> Iterator[str]:
        """The statements that give a new relation these rights, and no others."""
        columns = {row[0] for row in fetch(_names(relation))}
        for grantee in {grant[0] for grant in fetch(_GRANTS.format(relation=literal(relation.spelled)))}:
            yield f"REVOKE ALL ON TABLE {relation.spelled} FROM {grantee}"
        for grantee, privilege, grantable, column in self.grants:
            of = f" ({quoted(column)})" if column else ""
            if column is None or column in columns:
                option = " WITH GRANT OPTION" if grantable else ""
                yield f"GRANT {privilege}{of} ON TABLE {relation.spelled} TO {grantee}{option}"
        for column, said in self.comments:
            if column in columns:
                yield f"COMMENT ON COLUMN {relation.spelled}.{quoted(column)} IS {literal(said)}"
        if self.owner != self.user:
            yield f"ALTER TABLE {relation.spelled} OWNER TO {quoted(self.owner)}"


def read_rights(relation: Relation, fetch: Fetch) -> Rights:
    named = literal(relation.spelled)
    ((owner, secured, user),) = fetch(_OWNER.format(relation=named))
    if secured:
        what = "has row-level security, which a new table would not have"
        raise ReleaseError(f"release.to: {relation.spelled} {what}; release to another name, and grant on that")
    grants = tuple((who, what, bool(on), column) for who, what, on, column in fetch(_GRANTS.format(relation=named)))
    return Rights(
        relation, owner, user, grants, tuple((name, said) for name, said in fetch(_COMMENTS.format(relation=named)))
    )


def _names(relation: Relation) -> str:
    return (
        "SELECT CAST(attname AS text) FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped "
        f"AND attrelid = to_regclass({literal(relation.spelled)})"
    )
