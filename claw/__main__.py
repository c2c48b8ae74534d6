"""The entry point of the `claw` command.

`--version` answers before Typer is imported: that import is five times the
price of Python itself.
"""

import sys

from claw.version import __version__


def main() -> int:
    """Run one command; returns its exit code (CLI.md)."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"claw {__version__}")  # noqa: T201
        return 0
    try:
        from claw.cli.app import run  # noqa: PLC0415
    except KeyboardInterrupt:
        return 130
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
