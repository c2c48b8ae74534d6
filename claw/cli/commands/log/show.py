"""claw log show."""

from collections.abc import Iterator
from typing import Annotated

import typer

from claw.cli.commands.log.common import (
    ID_CHARS,
    IdArgument,
    format_time,
    name_entry,
    name_place,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import join_lines
from claw.core.errors import NotFoundError, UsageError
from claw.storage.log.entry import Entry
from claw.storage.log.reader import none_yet, open_reader
from claw.text.plural import plural
from claw.wiring.workspace.place_names import log_path

_UNDER_CHARS = 300
_STATES = {"answered": "was answered with nothing", "failed": "failed",
           "interrupted": "was interrupted", "running": "is being answered"}


@examples("claw log show", "claw log show 3f2a91c0",
          "claw log show --answer | less",
          "claw log show -l --json | jq -r .cost")
def show(
        context: typer.Context,
        wanted: IdArgument = None,
        last: Annotated[bool, typer.Option(
            "-l", "--last", help="The last one; so without an ID.")] = False,
        answer: Annotated[bool, typer.Option(
            "-r", "--answer", help="The answer alone, as it came.")] = False,
) -> None:
    """Show one entry: the question, the answer and what it took.

    Long piped text is cut; --json has all of it. claw ask --cid ID goes on
    from an entry, claw ask -c from the last question. --answer exits 1
    where there is none.
    """
    run = Invocation.of(context)
    if wanted is not None and last:
        raise UsageError("an ID and --last exclude each other",
                         hint="leave one of them out")
    with open_reader(log_path(run.places)) as reader:
        entry = reader.last() if wanted is None else reader.get(wanted)
    if entry is None:
        raise none_yet()
    if answer and entry.answer is None:
        raise NotFoundError(f"{entry.id[:ID_CHARS]} has no answer: it "
                            f"{_STATES[entry.state]}",
                            hint="claw log show has all that is known of it")
    if answer:
        run.print_result({"id": entry.id, "answer": entry.answer},
                         entry.answer or "")
        return
    run.print_result({"title": name_entry(entry), **entry.to_json()},
                     "\n".join(_format(entry)))


def _format(entry: Entry) -> Iterator[str]:
    yield f"{join_lines(entry.id)}  {'  '.join(_list_facts(entry))}"
    yield ""
    if entry.system:
        yield f"system: {entry.system}"
    yield f"you: {entry.prompt}"
    if under := entry.under.strip("\n"):
        names = join_lines(", ".join(entry.passages))
        yield f"[{names or 'with it'}]"
        yield (under if len(under) <= _UNDER_CHARS
               else under[:_UNDER_CHARS] + "...")
    for call in entry.tool_calls:
        yield f"[{join_lines(call['name'])} {join_lines(call['arguments'])}]"
    yield ""
    if entry.answer is not None:
        yield f"claw: {entry.answer}"
    if entry.state == "answered":
        yield from map(join_lines, entry.refused)
    else:
        yield f"[{entry.state}" + (
            f": {join_lines(entry.error)}]" if entry.error else "]")


def _list_facts(entry: Entry) -> Iterator[str]:
    """When, where, who answered, what it took."""
    yield format_time(entry)
    yield name_place(entry)
    if entry.sender:
        yield f"from {join_lines(entry.sender)}"
    if names := " ".join(dict.fromkeys(filter(
            None, (entry.provider, entry.model)))):
        yield join_lines(names)
    if entry.output_tokens:
        yield (f"{entry.input_tokens or 0:,} in, "
               + plural(entry.output_tokens, "token") + " out")
    if entry.cost:
        yield f"${entry.cost:.6f}".rstrip("0")
    if entry.duration_ms is not None:
        yield f"{entry.duration_ms / 1000:.1f} s"
