"""The rooms of the house."""

from __future__ import annotations

# Each may use those before it, never those after.
ROOMS = (
    *(
        "errors",
        "version",
        "resources",
        "query",
        "toml",
        "clues",
        "models",
        "policy",
        "engine",
        "hierarchy",
        "census",
        "search",
        "local",
    ),
    *(
        "recoding",
        "release",
        "result",
        "audit",
        "ledger",
        "watch",
        "outcome",
        "run",
        "comparison",
        "analysts",
        "proposal",
        "pages",
        "exploration",
        "cli",
        "__main__",
    ),
)
