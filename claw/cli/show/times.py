"""Times on a command line: --since, --until and their like."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from claw.core.errors import UsageError
from claw.memory import times

_BEFORE_DATE = ("", "in", "im")

SinceOption = Annotated[str | None, typer.Option(
    "--since", metavar="TIME",
    help="Only what was made at or after this time: 2026-11-20, a full "
         'time, an age such as 30d, or words such as "last week".')]
UntilOption = Annotated[str | None, typer.Option(
    "--until", metavar="TIME",
    help="Only what was made at or before this time.")]


def parse_time(option: str, text: str | None, *, end: bool = False
               ) -> str | None:
    """A time, an age ("30d" ago) or the words for one ("last Tuesday") as
    a time: the start of what they name, or its end. A date stays a date."""
    if text is None:
        return None
    for read in (_read_time, _read_age, _read_words):
        with suppress(ValueError):
            return read(text, end)
    raise UsageError(
        f"{option}: {text!r} is neither a time nor an age",
        hint='write 2026-11-20, 2026-11-20T19:00:00Z, 12h, 30d, 2w, '
        '"yesterday" or "in March 2026"')


def parse_span(since: str | None, until: str | None
               ) -> tuple[str | None, str | None]:
    """--since and --until as times. Raises UsageError where nothing can lie
    between them."""
    first = parse_time("--since", since)
    last = parse_time("--until", until, end=True)
    if first and last and times.lower_bound(first) > times.upper_bound(last):
        raise UsageError(f"--since {since} is later than --until {until}",
                         hint="nothing can lie between them")
    return first, last


def _read_time(text: str, _: bool) -> str:
    times.to_utc(text)
    return text.strip()


def _read_age(text: str, _: bool) -> str:
    return times.before(text, datetime.now(UTC))


def _read_words(text: str, end: bool) -> str:
    """The date that the whole text names, "in" aside. Raises
    ValueError."""
    from claw.text.dates import find_windows
    found = [window for words in (f"in {text.strip()}", text.strip())
             for window in find_windows(words, datetime.now().astimezone())
             if len(words) == window.span[1]
             and words[:window.span[0]].strip().lower() in _BEFORE_DATE]
    if not found:
        raise ValueError(text)
    return times.canonical(found[0].end - timedelta(microseconds=1) if end
                           else found[0].start)
