"""`python -m dln` is the command `dln`."""

import sys

from dln.cli import main

if __name__ == "__main__":
    sys.exit(main())
