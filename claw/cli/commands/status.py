"""claw status: how claw is, on one screen."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import Output, wants_styles
from claw.cli.show.status_page import write_page, write_plain
from claw.core.errors import ExitCode
from claw.wiring.status import read_status
from claw.wiring.status.part import Status

EVERY_S = 2.0
# Another screen without a cursor, and back (xterm's control sequences,
# private modes 1049 and 25).
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _END_OF_LINE, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


@examples("claw status", "claw status --watch",
          "claw status --json | jq '.channels[] | .name, .last_receive'",
          "claw status | grep ^fail")
def status(context: typer.Context,
           watch: Annotated[bool, typer.Option(
               "--watch", help="Look again every 2 seconds, until Ctrl-C; "
                               "with --json one object a line.")] = False
           ) -> None:
    """Show how claw is: channels, queue, memory, spending, last errors.

    What a running claw listen knows and what is kept is read; nothing is
    changed and nobody is asked over the network (claw doctor does that).
    Exits 1 when something is broken: a channel, a file, the settings, claw
    listen not running although channels are set up, an emergency stop, a
    limit that is reached. Warnings do not count. --watch ends with 0.
    """
    run = Invocation.of(context)
    if not watch:
        found = read_status(run.places)
        _print(run, found)
        raise typer.Exit(ExitCode.DONE if found.ok else ExitCode.NEGATIVE)
    try:
        _watch(run)
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.DONE) from None


def _print(run: Invocation, found: Status) -> None:
    if run.as_json:
        run.out.document(found.to_json())
    elif run.out.on_terminal:
        run.out.styled("\n".join(write_page(found, run.out,
                                            run.out.columns)))
        run.out.end()
    else:
        run.out.result(write_plain(found))


def _watch(run: Invocation) -> None:
    if run.as_json or not (run.out.on_terminal and wants_styles(
            run.out.stdout)):
        while True:
            _print(run, read_status(run.places))
            time.sleep(EVERY_S)
    with _own_screen(run.out):
        while True:
            _redraw(run.out, read_status(run.places))
            time.sleep(EVERY_S)


@contextmanager
def _own_screen(out: Output) -> Iterator[None]:
    """What was on the terminal comes back at the end, however it comes."""
    def leave(*_: Any) -> None:
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGTERM, leave)
    out.stdout.write(_ENTER)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        out.stdout.write(_LEAVE)
        out.stdout.flush()


def _redraw(out: Output, found: Status) -> None:
    """Over what is there, in one write: nothing flickers."""
    columns, rows = os.get_terminal_size(out.stdout.fileno())
    lines = write_page(found, out, columns)
    if len(lines) > rows:
        hidden = len(lines) - rows + 1
        lines = [*lines[:rows - 1],
                 out.paint(f"{hidden} more lines: claw status", "quiet")]
    out.stdout.write(_HOME + "\n".join(
        line + _END_OF_LINE for line in lines) + _BELOW)
    out.stdout.flush()
