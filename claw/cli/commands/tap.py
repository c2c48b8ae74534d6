"""claw tap: what comes in on a channel, for programs of the owner's own."""

import asyncio
import shutil
import sys
from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.event_log import EventLog
from claw.cli.show.output import is_terminal
from claw.core.errors import UsageError
from claw.core.failpoint import install_from_environment
from claw.core.log import Log
from claw.wiring.workspace.trust import require_trust


@examples("claw tap telegram -- ./handle.sh",
          "claw tap webhook -- sh -c 'jq -r .text >> notes.txt'",
          "claw tap telegram --auto | jq --unbuffered -r '.text'",
          "mkfifo acks; claw tap telegram < acks | ./reader > acks")
def tap(context: typer.Context,
        channel: Annotated[str, typer.Argument(
            metavar="CHANNEL", help="Channel that is set up.")],
        command: Annotated[list[str] | None, typer.Argument(
            metavar="[-- COMMAND [ARG]...]", show_default=False,
            help="The program that is run once for each message.")] = None,
        auto: Annotated[bool, typer.Option(
            "--auto", help="Count a message as handled once its line is "
                           "written.")] = False,
        jobs: Annotated[int | None, typer.Option(
            "-j", "--jobs", metavar="N", min=1, max=64,
            help="Largest number of commands at once, 1 where nothing is "
                 "said; a conversation has one.")] = None,
        tries: Annotated[int, typer.Option(
            "--tries", metavar="N", min=0,
            help="Give a message up that was refused so often; 0: never."
        )] = 0) -> None:
    """Hand what comes in on a channel to a program, in place of the agent.

    A message is one line of JSON: id, sender, chat, text, attachments. The
    command gets it on stdin; exit code 0 says that it is handled, and what
    the command prints is sent as the answer. Without a command the lines go
    to stdout, and a message counts as handled once its id comes back as a
    line on stdin, or {"id": ..., "reply": "..."} with an answer, or
    {"id": ..., "error": "..."} for a refusal. What is not handled comes
    again: after a refusal within a minute, else after a restart. An answer
    is sent once. No claw listen may run in this workspace meanwhile.
    """
    run = Invocation.of(context)
    command = command or []
    if command and auto:
        raise UsageError("--auto is for lines on stdout",
                         hint="the exit code of the command decides")
    if jobs is not None and not command:
        raise UsageError("-j is for a command, and there is none",
                         hint=f"claw tap {channel} -j {jobs} -- COMMAND")
    if command and shutil.which(command[0]) is None:
        raise UsageError(f"there is no command {command[0]!r}",
                         hint="is it executable, and its path right? "
                              "e.g. ./handle.sh")
    if not command and not auto and is_terminal(sys.stdin):
        run.out.note("a message counts as handled once its id comes on "
                     "stdin (--auto: once it is written)")
    require_trust(run.use_workspace(asks=True))
    install_from_environment()
    asyncio.run(_serve(run, channel, command, auto=auto, jobs=jobs or 1,
                       tries=tries))


async def _serve(run: Invocation, channel: str, command: list[str], *,
                 auto: bool, jobs: int, tries: int) -> None:
    from claw.runtime.tap.pipe import Pipe
    from claw.runtime.tap.program import Program
    from claw.wiring.listen.tap import open_tap
    log: Log = EventLog(run.out, verbose=run.verbose)

    def build() -> Program | Pipe:
        return Program(command, limit=jobs) if command else Pipe(
            run.out.stdout.fileno(), None if auto else sys.stdin.fileno(),
            log)
    async with open_tap(run.places, channel, log, build, tries=tries) as it:
        await it.run()
