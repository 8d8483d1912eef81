"""The command with sqlglot as it is where nothing of it is compiled: `python -m tests.support.plain_sqlglot sql …`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType


class _OnlySources(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("sqlglot."):
            return None
        found = (FileFinder(folder, (SourceFileLoader, [".py"])).find_spec(fullname) for folder in path or ())
        return next(filter(None, found), None)


if __name__ == "__main__":
    sys.meta_path.insert(0, _OnlySources())
    from sqlglot import generator

    from duckanon.cli.words import main

    assert str(generator.__file__).endswith(".py")
    sys.exit(main(sys.argv[1:]))
