"""Memories on a terminal: what they say first, then what they are."""

from collections.abc import Sequence

from claw.cli.commands.memory.common import format_label, preview
from claw.cli.show.bars import count_cells, cut, fit, wrap
from claw.cli.show.look import READING_COLUMNS
from claw.cli.show.output import Output, visible
from claw.core.memory import MemoryEntry
from claw.text.highlight import find_matches

_NARROW = 60  # columns under which the label has a line of its own
_INDENT = "    "


def draw_list(entries: Sequence[MemoryEntry], out: Output) -> str:
    """A line a memory: its content, and its label behind it; on a narrow
    terminal two."""
    columns = out.columns
    labels = [visible(format_label(entry)) for entry in entries]
    if columns < _NARROW:
        lines = []
        for entry, label in zip(entries, labels, strict=True):
            lines += [cut(_begin(entry, out), columns),
                      "  " + _quiet(cut(label, columns - 2), out)]
        return "\n".join(lines)
    beginnings = [_begin(entry, out) for entry in entries]
    room = min(max(map(count_cells, labels)), columns // 2)
    widest = min(max(map(count_cells, beginnings)), columns - room - 2)
    return "\n".join(
        f"{fit(beginning, widest)}  {_quiet(cut(label, room), out)}"
        for beginning, label in zip(beginnings, labels, strict=True))


def draw_found(label: str, entry: MemoryEntry, query: str, below: str,
               out: Output) -> str:
    """One memory that was found, the words of the question marked."""
    columns = min(out.columns, READING_COLUMNS)
    # secrets are taken out while their words are whole
    lines = [_mark(piece, query, out)
             for line in out.redact(entry.content).split("\n")
             for piece in wrap(visible(line), columns)]
    lines += [_INDENT + _quiet(piece, out)
              for line in filter(None, (label, below))
              for piece in wrap(visible(line), columns - len(_INDENT))]
    return "\n".join(lines)


def _mark(line: str, query: str, out: Output) -> str:
    text, end = "", 0
    for start, stop in find_matches(line, query):
        text += line[end:start] + out.paint(line[start:stop], "match")
        end = stop
    return text + line[end:]


def _begin(entry: MemoryEntry, out: Output) -> str:
    return visible(preview(out.redact(entry.content)))


def _quiet(text: str, out: Output) -> str:
    return out.paint(text, "quiet")
