"""`python -m duckanon`."""

import sys

from duckanon.cli import main

sys.exit(main())
