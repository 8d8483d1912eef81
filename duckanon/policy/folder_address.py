"""The address of a folder that the servers of a warehouse see: s3://bucket/folder, file:///folder, and others."""

from __future__ import annotations

import re

# A container, whose name stands where others have a user.
_CONTAINED = re.compile(r"(?:abfss?|wasbs?)://[a-z0-9$-]+@")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+-]*://")
# No sign that a server may take for an option, a pattern or another sign, and nothing that it would not list.
_PLACE = re.compile(r"[A-Za-z0-9._-]*(?::[0-9]+)?(?:/(?![._])[^/@?#%*\[\]{}\\:\x00-\x1f\x7f]+)+")


def is_folder_address(text: str) -> bool:
    """Whether it names one folder and nothing else: no user, no password, no option with a token."""
    begin = _CONTAINED.match(text) or _SCHEME.match(text)
    return begin is not None and _PLACE.fullmatch(text, begin.end()) is not None
