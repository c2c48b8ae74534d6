"""python -m claw.cli.docs: write the generated files of a checkout."""

import sys

from claw.cli.docs.write import main

if __name__ == "__main__":
    sys.exit(main())
