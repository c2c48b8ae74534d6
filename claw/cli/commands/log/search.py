"""claw log search."""

from typing import Annotated

import typer

from claw.cli.commands.log.common import (
    INDENT,
    LimitOption,
    ModelFilter,
    SessionFilter,
    build_filters,
    fit_lines,
    format_line,
    open_log,
    print_entries,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.bars import count_columns, fit
from claw.cli.show.output import visible
from claw.cli.show.times import SinceOption, UntilOption
from claw.core.errors import ExitCode
from claw.storage.log.entry import Entry
from claw.storage.log.query import split_query
from claw.text.excerpts import Excerpt, find_excerpt

_EXCERPT_CHARS = 160
_BOLD, _PLAIN = "\x1b[1m", "\x1b[22m"


@examples('claw log search "rent in Bonn"', "claw log search tar --since 30d",
          "claw log search 'deploy*' --json | jq -r '.entries[0].answer'")
def search(
        context: typer.Context,
        query: Annotated[list[str], typer.Argument(
            metavar="QUERY", help="Words to look for; word* finds what "
            'begins so, "" lists the newest.')],
        limit: LimitOption = 10,
        since: SinceOption = None,
        until: UntilOption = None,
        session: SessionFilter = None,
        model: ModelFilter = None,
) -> None:
    """Search questions and answers, the latest first.

    Words are found in any form and language, as memory's search finds them.
    Where no entry has all of them, those that have most are shown. Exits 1
    when nothing is found.
    """
    run = Invocation.of(context)
    words = " ".join(query)
    filters = build_filters(since, until, session, model)
    terms = split_query(words)
    found: list[Entry] = []
    has_all = True
    with open_log(run) as reader:
        if reader is not None and terms:
            found, has_all = reader.search(terms, filters, limit)
        elif reader is not None and not words.strip():
            found = reader.page(filters, limit)
    if not print_entries(run, found, query=words) and found:
        _show(run, found, words)
    if not found:
        if not run.json:
            run.out.note("nothing found")
        raise typer.Exit(ExitCode.NEGATIVE)
    if not has_all:
        run.out.note("no entry has all of these words")


def _show(run: Invocation, entries: list[Entry], query: str) -> None:
    """A line for each entry, and one for where the words stand."""
    for entry in entries:
        run.out.result(fit_lines(run, [format_line(run, entry)]))
        if excerpt := _find(entry, query):
            run.out.styled(f"{INDENT}{_mark(run, excerpt)}\n")


def _find(entry: Entry, query: str) -> Excerpt | None:
    return next((found for text in (entry.answer, entry.prompt, entry.under)
                 if text and (found := find_excerpt(
                     text, query, _EXCERPT_CHARS))), None)


def _mark(run: Invocation, excerpt: Excerpt) -> str:
    """The words of the question bold, where there are colours, and all of
    it on one line."""
    text = excerpt.text
    if run.out.on_terminal:
        columns = count_columns(run.out.stdout) - len(INDENT)
        text = fit(text, columns).rstrip()
    pieces, end = [], 0
    for start, stop in excerpt.spans if run.out.colour else ():
        if stop > len(text):
            break
        pieces += [visible(text[end:start]), _BOLD,
                   visible(text[start:stop]), _PLAIN]
        end = stop
    return "".join([*pieces, visible(text[end:])])
