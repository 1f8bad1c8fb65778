"""`python -m serialization`: see `serialization.inspect.cli`."""

import sys

from serialization.inspect.cli import main

if __name__ == "__main__":
    sys.exit(main())
