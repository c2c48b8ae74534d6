"""What the log commands share: which entries, and how one is shown."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.show.bars import count_columns, fit
from claw.cli.show.output import join_lines
from claw.cli.show.times import parse_span
from claw.core.errors import NotFoundError
from claw.core.minutes import format_minute
from claw.memory import times
from claw.storage.log.entry import Entry
from claw.storage.log.reader import Filters, LogReader, open_reader
from claw.text.titles import make_title
from claw.wiring.workspace.place_names import log_path

ID_CHARS = 8
INDENT = "    "
# On a narrower terminal a title would have room for a few letters.
_WIDE = 60

IdArgument = Annotated[str | None, typer.Argument(
    metavar="[ID]", help="An entry's id, or the beginning of just one.")]
IdsArgument = Annotated[list[str] | None, typer.Argument(
    metavar="[ID]...", show_default=False,
    help="Ids of entries, or beginnings of them.")]
SessionFilter = Annotated[str | None, typer.Option(
    "--session", metavar="NAME", help="Only those of this session.")]
ModelFilter = Annotated[str | None, typer.Option(
    "-m", "--model", metavar="MODEL",
    help="Only those of models with this in the name.")]
LimitOption = Annotated[int, typer.Option(
    "-n", "--limit", metavar="N", min=1, help="At most so many.")]


def build_filters(since: str | None, until: str | None,
                  session: str | None, model: str | None, *,
                  refused: bool = False) -> Filters:
    """The filters of a command line. Raises UsageError for a time that is
    none."""
    begin, end = parse_span(since, until)
    return Filters(None if begin is None else times.lower_bound(begin),
                   None if end is None else times.upper_bound(end),
                   session, model, refused)


@contextmanager
def open_log(run: Invocation) -> Iterator[LogReader | None]:
    """A look into the log; None, and a note, where nothing is there yet."""
    try:
        reader = open_reader(log_path(run.places))
    except NotFoundError as error:
        run.out.note(f"{error.message} ({error.hint})")
        yield None
        return
    with reader:
        yield reader


def name_entry(entry: Entry) -> str:
    """What an entry is called in a list."""
    if title := make_title(entry.prompt):
        return title
    names = ", ".join(entry.passages)
    return f"({join_lines(names)})" if names else "(no words)"


def format_time(entry: Entry) -> str:
    """When it was asked, where the user is."""
    return join_lines(format_minute(entry.at))


def name_place(entry: Entry) -> str:
    """Where it was asked."""
    return join_lines(entry.origin if entry.session is None
                      or entry.origin not in ("ask", "agent")
                      else f"{entry.origin}/{entry.session}")


def format_line(run: Invocation, entry: Entry) -> str:
    """An entry on one line: id, time, place, title; what was not answered
    says so. Two on a narrow terminal, the title on the second."""
    title = name_entry(entry)
    if entry.state != "answered":
        title += f" [{entry.state}]"
    title += "".join(f" [{line}]" for line in entry.refused)
    facts = (join_lines(entry.id)[:ID_CHARS], format_time(entry),
             name_place(entry))
    if not run.out.on_terminal:
        return "\t".join((*facts, join_lines(title)))
    between = "  " if run.out.columns >= _WIDE else f"\n{INDENT}"
    return "  ".join(facts) + between + join_lines(title)


def fit_lines(run: Invocation, lines: Iterable[str]) -> str:
    """Lines, each within the width of a terminal."""
    if run.out.on_terminal:
        columns = count_columns(run.out.stdout)
        lines = (fit(line, columns).rstrip() for one in lines
                 for line in one.split("\n"))
    return "\n".join(lines)


def print_entries(run: Invocation, entries: list[Entry], *,
                  total: int | None = None, **head: str) -> bool:
    """Entries as JSON, where that is asked for."""
    return run.print_json_rows(
        "entries", ({"title": name_entry(entry), **entry.to_json(whole=False)}
                    for entry in entries), total=total, **head)
