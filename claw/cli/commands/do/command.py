"""claw do: one shell command for a task, run by a key."""

import os
from pathlib import Path
from typing import Annotated

import typer

from claw.cli.attachments.read import Limits
from claw.cli.commands.ask.options import TimeoutOption
from claw.cli.commands.do.terminal import decide, open_keys, run_command
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import ModelOption, ProviderOption
from claw.cli.show.output import is_terminal
from claw.cli.terminal.prompt import read_prompt
from claw.cli.terminal.stdin import LIMIT_BYTES
from claw.core.errors import DeniedError, ExitCode, UsageError
from claw.security.estop import EmergencyStop
from claw.security.shell.proposed import Rated, rate_proposed
from claw.wiring.ask.propose import propose_command

_EXAMPLE = 'claw do "find files over 1 GB"'


@examples(_EXAMPLE,
          'claw do "which process listens on port 8080?"',
          'ls | claw do "rename these to lower case"',
          'claw do "count lines of Python" --json | jq -r .command')
def do(context: typer.Context,
       task: Annotated[list[str] | None, typer.Argument(
           metavar="TASK...", show_default=False,
           help="What the command should do.")] = None,
       model: ModelOption = None, provider: ProviderOption = None,
       timeout: TimeoutOption = None,
       no_log: Annotated[bool, typer.Option(
           "--no-log", help="As for claw ask; of a task no text is kept "
           "with or without it.")] = False) -> None:
    """Propose one shell command for a task; a key runs it.

    Its risk, the paths it names and whether it writes stand under it. y runs
    it in this folder with your own shell, outside of every sandbox; e edits
    it first, x explains it, n leaves it (exit code 6). What is dangerous, or
    was made from piped text and may do more than read, runs when the word
    "run" is typed. The exit code is that of the command. Without a terminal
    the command is printed and nothing runs. What is asked is the template
    shell; one of your own by this name goes first.
    """
    run = Invocation.of(context)
    shell = os.environ.get("SHELL") or "/bin/sh"
    cwd = os.getcwd()
    text, piped = read_prompt(" ".join(task or []).strip(),
                              Limits(LIMIT_BYTES, run.settings),
                              say=run.out.note, example=_EXAMPLE)
    if piped.images:
        raise UsageError("images were piped in", hint="give text")
    with run.out.waiting("waiting for the command"):
        proposal = propose_command(
            run.settings, text, piped.passages, shell=Path(shell).name,
            cwd=cwd, model=model, provider=provider, timeout_s=timeout,
            notify=run.out.note)
    if run.out.redact(proposal.command) != proposal.command:
        raise DeniedError("the proposed command holds one of your keys",
                          hint="keep keys out of what is piped in")
    untrusted = bool(piped.passages)

    def rate(command: str) -> Rated:
        return rate_proposed(command, shell=Path(shell).name, cwd=cwd,
                             home=os.path.expanduser("~"),
                             search=os.environ.get("PATH", os.defpath))

    # the question stands on stderr: unseen it is not asked
    asks = run.out.on_terminal and is_terminal(run.out.stderr)
    keys = open_keys() if asks and not run.as_json else None
    if keys is None:
        rated = rate(proposal.command)
        run.print_result(
            {"command": proposal.command, "risk": rated.risk,
             "reads": rated.reads, "writes": rated.writes,
             "paths": list(rated.paths), "why": rated.why,
             "untrusted": untrusted, "shell": shell, "cwd": cwd,
             "explanation": proposal.explanation}, proposal.command)
        return
    with keys:
        command = decide(run.out, keys, proposal, rate, untrusted=untrusted,
                         where=f"in {cwd}, with {shell}")
        if command is None:
            run.out.note("nothing was run")
            raise typer.Exit(ExitCode.DENIED)
        # it may have been set while the question stood
        EmergencyStop(run.places.home).check()
        raise typer.Exit(run_command(shell, command, keys))
