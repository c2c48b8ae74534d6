"""claw send: one message out."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.stdin import is_piped, read_text
from claw.core.channel import SendMessage
from claw.core.errors import UsageError
from claw.security.estop import EmergencyStop
from claw.text.plural import plural
from claw.wiring.listen.send import (
    collect_attachments,
    parse_target,
    require_sent,
)
from claw.wiring.listen.send import send as sent_by
from claw.wiring.workspace.trust import require_trust

LIMIT_BYTES = 1 << 20


@examples('claw send telegram:12345 "the backup is done"',
          "make 2>&1 | tail -20 | claw send telegram:12345",
          "claw send telegram:12345 -f chart.png \"today's chart\"")
def send(context: typer.Context,
         target: Annotated[str, typer.Argument(
             metavar="TARGET", help="CHANNEL:RECIPIENT, e.g. "
                                    "telegram:12345.")],
         text: Annotated[list[str] | None, typer.Argument(
             metavar="[TEXT]...", help="The message; from stdin when "
                                       "absent.")] = None,
         file: Annotated[list[Path] | None, typer.Option(
             "-f", "--file", metavar="FILE",
             help="File to attach; repeatable.")] = None,
         thread: Annotated[str | None, typer.Option(
             "--thread", metavar="ID",
             help="Thread or topic to send to.")] = None,
         timeout: Annotated[float, typer.Option(
             "--timeout", metavar="SECONDS", min=0,
             help="Seconds to wait for delivery.")] = 30.0) -> None:
    """Send one message through a channel.

    The message goes through the outbox. If it can't be sent now it stays
    queued for claw listen, and the command exits 5.
    """
    run = Invocation.of(context)
    EmergencyStop(run.places.home).check()
    require_trust(run.use_workspace(asks=True))
    message = _message(run, text or [], file or [], thread, target)
    failures: Counter[tuple[str, str]] = Counter()
    with run.out.waiting("sending"):
        outcome = asyncio.run(sent_by(
            run.settings, message[0], message[1], _log(run, failures),
            timeout_s=timeout))
    for reason, error in list(failures)[-1:]:
        if error not in (outcome.error or ""):
            run.out.note(reason)
    if failures.total() > len(failures):
        run.out.note(f"it was tried {plural(failures.total(), 'time')}")
    require_sent(outcome)
    run.print_result({"source": outcome.source, "state": outcome.state,
                      "message_ids": list(outcome.message_ids)},
                     "\n".join(outcome.message_ids))


def _message(run: Invocation, words: list[str], files: list[Path],
             thread: str | None, target: str) -> tuple[str, SendMessage]:
    channel, recipient = parse_target(run.settings, target)
    content = " ".join(words)
    if not content.strip() and is_piped():
        content = read_text(LIMIT_BYTES, say=run.out.note).rstrip("\n")
    if not content.strip() and not files:
        raise UsageError("there is nothing to send",
                         hint=f'claw send {target} "TEXT", or pipe it in')
    return channel, SendMessage(content, recipient, thread_ts=thread,
                                attachments=collect_attachments(files))


def _log(run: Invocation, failures: Counter[tuple[str, str]]) -> Any:
    """A log that counts the failures of a send, and says each one once as
    the next other one comes: the last is what the command ends with."""
    def log(event: str, **fields: Any) -> None:
        if event != "send.error":
            return
        error = str(fields.get("error"))
        failure = f"{fields.get('channel')}: {error}", error
        if failures and failure not in failures:
            run.out.note(next(reversed(failures))[0])
        failures[failure] += 1
    return log
