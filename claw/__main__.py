"""The entry point of the `claw` command.

`--version` answers before Typer is imported: that import is five times the
price of Python itself.
"""

import gc
import os
import sys

from claw.version import __version__


def main() -> int:
    """Run one command; returns its exit code (CLI.md)."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        try:
            os.write(1, f"claw {__version__}\n".encode())
        except OSError:  # full or closed: what is below says it
            pass
        else:
            return 0
    if sys.argv[1:2] == ["__complete"]:  # a Tab: Typer is too slow for it
        from claw.cli.complete.entry import main as complete
        return complete(sys.argv[2:])
    # What is imported stays until the end: to look through it for garbage,
    # on the way and at exit, is a seventh of the CPU of a short command.
    # It is looked for once the command is loaded (cli/lazy.py).
    gc.disable()
    try:
        from claw.cli.app import run
    except KeyboardInterrupt:
        return 130
    try:
        return run(sys.argv[1:])
    finally:
        gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
