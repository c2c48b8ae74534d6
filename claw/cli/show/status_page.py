"""The status on the screen: a line a part, its mark in front, the next step
under it. In a pipe: mark, part, text and step with tabs between them."""

from datetime import datetime

from claw.cli.show.bars import count_cells, fit, wrap
from claw.cli.show.look import MARKS
from claw.cli.show.output import Output, join_lines
from claw.text.plural import plural
from claw.wiring.checks.check import Check
from claw.wiring.status.part import Status

_NARROW = 60  # below, a text stands under its name
_WIDEST_NAME = 18


def write_plain(status: Status) -> str:
    """Lines for a program."""
    return "\n".join(
        "\t".join((check.status, _name(check), join_lines(check.detail),
                   join_lines(check.hint or ""))).rstrip()
        for check in status.checks)


def write_page(status: Status, out: Output, columns: int) -> list[str]:
    """Lines with our own escapes, none of them wider than `columns`."""
    checks = status.checks
    names = 0 if columns < _NARROW else min(
        max(count_cells(_name(check)) for check in checks), _WIDEST_NAME)
    lines = _write_head(status, out, columns)
    for check in checks:
        lines += _write_check(check, names, out, columns)
    return lines


def _write_head(status: Status, out: Output, columns: int) -> list[str]:
    odd, bad = (sum(check.status == wanted for check in status.checks)
                for wanted in ("warn", "fail"))
    words = [*([plural(bad, "failure")] if bad else []),
             *([plural(odd, "warning")] if odd else [])]
    style = "fail" if bad else "warn" if odd else "ok"
    verdict = ", ".join(words) or "all is well"
    moment = datetime.fromisoformat(status.at).astimezone()
    place = f"{join_lines(out.redact(status.workspace))}, " \
        f"{moment:%Y-%m-%d %H:%M:%S}"
    return [*(out.paint(line, style) for line in wrap(verdict, columns)),
            *(out.paint(line, "quiet") for line in wrap(place, columns)), ""]


def _write_check(check: Check, names: int, out: Output, columns: int
                 ) -> list[str]:
    mark = out.paint(MARKS[check.status], check.status)
    name = join_lines(_name(check))
    left = 5 + (names + 2 if names else 0)
    text = wrap(join_lines(out.redact(check.detail)), columns - left)
    if names and count_cells(name) <= names:
        first = [f"{mark} {fit(name, names)}  {text.pop(0)}"]
    else:
        first = [f"{mark} {line}" if not number else "     " + line
                 for number, line in enumerate(wrap(name, columns - 5))]
    hint = [] if check.hint is None or check.status == "ok" else wrap(
        "-> " + join_lines(out.redact(check.hint)), columns - left)
    return [*first, *(" " * left + line for line in text),
            *(" " * left + out.paint(line, "quiet") for line in hint)]


def _name(check: Check) -> str:
    """What a line is about: of channels the name of each."""
    parts = check.id.split(".")
    return parts[1] if check.group == "channels" else check.id
