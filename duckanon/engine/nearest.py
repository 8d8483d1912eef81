"""What to do about a name that means no table or view."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from duckanon.query.names import folded, quoted_if_odd, split_name

_MOST_NAMED = 8


def nearest(spelled: str, known: Iterable[tuple[str, str]], schema: str) -> str:
    """The relation that was meant, of those that are `known` (schema, name), or some of these, as a policy would spell
    them in the current `schema`."""
    shown = {quoted_if_odd(*((name,) if owner == schema else (owner, name))): folded(name) for owner, name in known}
    last = folded((split_name(spelled) or [spelled])[-1])
    near = difflib.get_close_matches(last, list(shown.values()), n=1)
    meant = [name for name, key in shown.items() if key in near]
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    some = ", ".join(sorted(shown)[:_MOST_NAMED]) or "no table at all"
    return f"spell it as in SQL, with its schema; there is {some}{', …' if len(shown) > _MOST_NAMED else ''}"
