"""The command: `duckanon`, or `python -m duckanon`."""

from __future__ import annotations

import sys

from duckanon.cli.interrupts import starting


def main() -> int:
    """Run the command line; until it is loaded, Ctrl-C has its answer already."""
    starting()
    from duckanon.cli.interrupts import ended
    from duckanon.cli.words import main as command

    return ended(command())


if __name__ == "__main__":
    sys.exit(main())
