"""`python -m duckanon`."""

import sys

from duckanon.cli import main

if __name__ == "__main__":
    sys.exit(main())
