"""claw session list, show, clear, export: kept conversations."""

from itertools import starmap
from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import to_json, visible
from claw.core.errors import ExitCode, UsageError
from claw.core.minutes import format_minute
from claw.storage.sessions import SessionInfo
from claw.wiring.workspace.sessions import (
    SpokenMessage,
    open_sessions,
    read_messages,
    read_title,
)

_RESULT_CHARS = 300
_SPEAKERS = {"user": "you", "assistant": "claw", "tool": "result",
             "system": "system"}

Name = Annotated[str, typer.Argument(
    metavar="NAME", help="The session, as `claw session list` shows it.")]


@examples("claw session list", "claw session list --json | jq '.sessions'")
def list_(context: typer.Context) -> None:
    """List conversations, latest first.

    A line each: time of the last message, number of messages, name, and
    the first words.
    """
    run = Invocation.of(context)
    store = open_sessions(run.places)
    found = [(info, read_title(store, info.key)) for info in store.list()]
    if not run.print_json_rows("sessions", starmap(_info_json, found)):
        run.out.table([_list_cells(info, title, short=run.out.on_terminal)
                       for info, title in found], right=[1])
        if not found:
            run.out.note("no conversations are kept "
                         "(claw ask --session NAME begins one)")


def _list_cells(info: SessionInfo, title: str, *, short: bool) -> list[str]:
    """A line of the list; `short` for a person."""
    name = visible(info.key.replace("\\", "\\\\")).replace(
        "\n", "\\n").replace("\t", "\\t")
    archived = "archived" if info.archived else ""
    if short:
        return [format_minute(info.updated_at), str(info.messages), name,
                f"{title} ({archived})" if archived else title]
    return [info.updated_at, str(info.messages), name, visible(title),
            archived]


def _info_json(info: SessionInfo, title: str) -> dict[str, object]:
    return {"name": info.key, "title": title, "messages": info.messages,
            "updated_at": info.updated_at, "size_bytes": info.size_bytes,
            "path": str(info.path), "archived": info.archived}


@examples("claw session show work", "claw session show work -n 4",
          "claw session show work --json | jq -r '.messages[-1].text'")
def show(context: typer.Context, name: Name,
         count: Annotated[int | None, typer.Option(
             "-n", "--limit", metavar="N", min=1,
             help="Only the last N messages.")] = None) -> None:
    """Show what was said in a conversation.

    Long results of tools are cut; --json has all of them.
    """
    run = Invocation.of(context)
    session = open_sessions(run.places).read(name)
    messages = list(read_messages(session))
    last = messages if count is None else messages[-count:]
    if session.damaged:
        run.out.warn(f"{session.damaged} damaged lines were passed over")
    if not run.print_json_rows(
            "messages", (m.to_json() for m in last), total=len(messages),
            name=session.key, created_at=session.created_at):
        run.out.result("\n\n".join(map(_format_message, last)))


def _format_message(message: SpokenMessage) -> str:
    parts = [message.text] if message.text else []
    parts += [f"[{name} {arguments}]" for name, arguments in message.calls]
    text = "\n".join(parts)
    if message.role == "tool" and len(text) > _RESULT_CHARS:
        text = text[:_RESULT_CHARS] + "..."
    return f"{_SPEAKERS.get(message.role, message.role)}: {text}"


@examples("claw session clear work", "claw session clear --all --yes")
def clear(context: typer.Context,
          names: Annotated[list[str] | None, typer.Argument(
              metavar="[NAME]...", show_default=False,
              help="Sessions to remove.")] = None,
          every: Annotated[bool, typer.Option(
              "--all", help="Remove every session; needs --yes.")] = False,
          yes: Annotated[bool, typer.Option(
              "--yes", help="Do not ask.")] = False) -> None:
    """Remove conversations. Exits 1 when one is not there."""
    run = Invocation.of(context)
    store = open_sessions(run.places)
    names = names or []
    if bool(names) == every:
        raise UsageError("name the sessions to remove, or give --all",
                         hint="list them with: claw session list")
    if every:
        if not yes:
            raise UsageError("--all removes every conversation",
                             hint="say so with --yes")
        names = [info.key for info in store.list()]
    cleared = [name for name in names if store.clear(name)]
    missing = [name for name in names if name not in cleared]
    if run.as_json:
        run.out.document({"cleared": cleared, "missing": missing,
                          "total": len(cleared)})
    for name in missing:
        run.out.warn(f"there is no session {name!r} "
                     "(list them with: claw session list)")
    if missing and not every:
        raise typer.Exit(ExitCode.NEGATIVE)


@examples("claw session export work > work.jsonl",
          "claw session export work | jq -r .type")
def export(context: typer.Context, name: Name) -> None:
    """Print a conversation as stored: one JSON object a line.

    The first line names the session; each other line is a message.
    """
    run = Invocation.of(context)
    run.out.redactor = None  # a copy is whole
    records = open_sessions(run.places).export(name)
    if run.json:
        head, *messages = records
        run.out.document({**head, "records": messages,
                          "total": len(messages)})
        return
    for record in records:
        run.out.result(to_json(record))
