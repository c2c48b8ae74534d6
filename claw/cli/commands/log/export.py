"""claw log export."""

from collections.abc import Iterator
from typing import Annotated

import typer

from claw.cli.commands.log.common import (
    IdsArgument,
    ModelFilter,
    SessionFilter,
    build_filters,
    format_time,
    name_entry,
    name_place,
    open_log,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import join_lines, to_json
from claw.cli.show.times import SinceOption, UntilOption
from claw.storage.log.entry import Entry
from claw.storage.log.reader import Filters, LogReader


@examples("claw log export > log.jsonl",
          "claw log export --markdown --session work > work.md",
          "claw log export 3f2a91c0 | jq -r .answer")
def export(
        context: typer.Context,
        ids: IdsArgument = None,
        since: SinceOption = None,
        until: UntilOption = None,
        session: SessionFilter = None,
        model: ModelFilter = None,
        markdown: Annotated[bool, typer.Option(
            "--markdown", help="As a Markdown text.")] = False,
) -> None:
    """Print entries whole, as lines of JSON or as Markdown.

    The oldest first; all of them unless some are named. A copy is whole:
    nothing is left out of it.
    """
    run = Invocation.of(context)
    filters = build_filters(since, until, session, model)
    run.out.redactor = None  # a copy is whole
    with open_log(run) as reader:
        entries = () if reader is None else _choose(reader, ids, filters)
        if markdown:
            for entry in entries:
                run.out.result("\n".join(_render(entry)))
        elif run.json:
            run.print_json_rows("entries", map(_to_json, entries))
        else:
            for entry in entries:
                run.out.result(to_json(_to_json(entry)))


def _choose(reader: LogReader, ids: list[str] | None, filters: Filters
            ) -> Iterator[Entry]:
    if not ids:
        return reader.walk(filters)
    return iter([reader.get(start) for start in ids])


def _to_json(entry: Entry) -> dict[str, object]:
    return {"title": name_entry(entry), **entry.to_json()}


def _render(entry: Entry) -> Iterator[str]:
    """An entry as Markdown. What was asked is a quote, so that no heading
    in it is one of the document."""
    yield f"# {name_entry(entry)}"
    yield ""
    yield "*" + ", ".join(filter(None, (
        format_time(entry), name_place(entry), entry.model and join_lines(
            entry.model), join_lines(entry.id)))) + "*"
    yield ""
    for line in (entry.prompt + entry.under).splitlines():
        yield f"> {line}".rstrip()
    for call in entry.tool_calls:
        yield ""
        yield f"- `{join_lines(call['name'])}` {join_lines(call['arguments'])}"
    if entry.answer:
        yield ""
        yield entry.answer
    if entry.state != "answered":
        yield ""
        yield f"*{entry.state}*"
    yield "\n"  # a heading follows: one empty line before it
