"""What is known of a mark wherever it stands: in a comment, a file, or a folder of its own."""

from __future__ import annotations

import json


def is_mark(text: str | None) -> bool:
    """Whether a run wrote it, of whatever policy."""
    try:
        found = json.loads(text or "")
    except ValueError:
        return False
    return isinstance(found, dict) and "duckanon" in found
