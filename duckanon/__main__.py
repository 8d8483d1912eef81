"""The command: `duckanon`, or `python -m duckanon`."""

from __future__ import annotations

import gc
import sys

from duckanon.cli.interrupts import starting

# Statements are trees whose nodes know each other. Python would look through all that there is of them at every 700 new
# objects, hundreds of times in a process that ends soon.
_NEW_OBJECTS = 100_000


def main() -> int:
    """Run the command line; until it is loaded, Ctrl-C has its answer already."""
    starting()
    gc.set_threshold(_NEW_OBJECTS)
    from duckanon.cli.interrupts import ended
    from duckanon.cli.words import main as command

    return ended(command())


if __name__ == "__main__":
    sys.exit(main())
