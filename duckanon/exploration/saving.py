"""What is set on the page as a new policy file, beside the one that is explored."""

from __future__ import annotations

import os
import stat
import tomllib
from decimal import Decimal
from pathlib import Path

from duckanon.census.counting import Census
from duckanon.errors import Fault, UsageError
from duckanon.exploration.setting import Field, Setting, changes, policy_at
from duckanon.policy import Policy
from duckanon.policy.load import parse_policy
from duckanon.policy.overrides import Override, overridden
from duckanon.proposal.files import write_new
from duckanon.toml.writing import written

_LONGEST = 100  # characters of a name
_SUFFIX = ".toml"
_SAID = "# saved by duckanon explore, without the comments of the file that was explored"


def policy_text(setting: Setting, policy: Policy, fields: tuple[Field, ...], census: Census, pinned: bool) -> str:
    """The policy with what is set; `pinned`: a run comes to these levels and no others."""
    asked = policy_at(setting, policy, fields)
    overrides = changes(setting, policy, fields)
    if pinned and not asked.search.is_local:
        overrides = (*overrides, *_pins(setting, policy, census))
    document = overridden(tomllib.loads(policy.text, parse_float=Decimal), overrides)
    text = f"{_SAID}\n{written(document)}"
    parse_policy(text, policy.folder, policy.file)
    return text


def _pins(setting: Setting, policy: Policy, census: Census) -> list[Override]:
    return [
        Override(("quasi_identifiers", policy.quasi_identifiers[h.index].column, bound), level, "levels")
        for h, level in zip(census.hierarchies, setting.levels, strict=True)
        for bound in ("at_least", "at_most")
    ]


def save(text: str, name: str, beside: Path) -> Path:
    """Write it as a new file beside another: never over one that is there, never elsewhere, for the same eyes."""
    path = beside.parent / _named(name)
    if os.path.lexists(path):
        raise _fault(name, "is there already, and is not overwritten", "choose another name")
    try:
        write_new({path: text}, stat.S_IMODE(beside.stat().st_mode))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no name of a file"
        raise _fault(name, f"could not be written: {why}", "") from None
    return path


def _named(name: str) -> str:
    """A plain name of a file: nothing that leads elsewhere, or that a terminal would obey."""
    odd = not name.isprintable() or any(sign in name for sign in "/\\") or name.startswith((".", "-"))
    if odd or len(name) > _LONGEST or not name.endswith(_SUFFIX):
        raise _fault(name[:_LONGEST], "is no name for a policy", "a plain name that ends in .toml, without a folder")
    return name


def _fault(name: str, what: str, remedy: str) -> UsageError:
    return UsageError([Fault(f"save as {name!r}", what, remedy)])
