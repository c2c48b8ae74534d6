"""Columns, and bars of block characters, as wide as the terminal allows.

Widths are those of a terminal: a Chinese, Japanese or Korean character
takes two cells, a combining mark none (Unicode, UAX #11).
"""

import os
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TextIO

from claw.cli.show.look import BAR, BAR_PARTS, CUT

_LEAST = 8  # cells of a bar
_LEAST_LAST = 24  # cells in which the last column of a table is broken
# What is drawn as one: a sign and what is joined to it (ZWJ), coloured
# (skin tones) or asked for as a picture (U+FE0F); two letters of a flag.
_CLUSTER = (
    "[\U0001f1e6-\U0001f1ff]{2}"
    "|.[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*"
    "(?:\u200d[^\x00-\u200c][\ufe0f\U0001f3fb-\U0001f3ff]*)*")
_PICTURES = ("So", "Sk", "Sm", "Po", "Nd")  # what U+FE0F makes two cells wide


# Formatting characters that are drawn: the soft hyphen, and signs that stand
# above Arabic and Syriac numbers.
_DRAWN = frozenset("\xad\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f")
# Behind these a word that is too long is broken: addresses, paths, settings.
_JOINTS = "/._-:=&?,"


@lru_cache(maxsize=4096)
def _cells(cluster: str) -> int:
    letter = cluster[0]
    if letter in _DRAWN:
        return 1
    if unicodedata.combining(letter) or unicodedata.category(letter) in (
            "Mn", "Me", "Cf") or "\u1160" <= letter <= "\u11ff":
        return 0  # the latter are the inner letters of a Korean syllable
    if len(cluster) > 1 and ("\ufe0f" in cluster or letter > "\U0001f000") \
            and unicodedata.category(letter) in _PICTURES:
        return 2
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def count_columns(stream: TextIO) -> int:
    """How wide a terminal is."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def split_clusters(text: str) -> Iterator[str]:
    """The text in pieces that a terminal draws as one."""
    return (found[0] for found in re.finditer(_CLUSTER, text, re.DOTALL))


def count_cells(text: str) -> int:
    """How many cells a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, split_clusters(text)))


def cut(text: str, cells: int) -> str:
    """A text in at most so many cells; where it was longer it ends so: …"""
    if count_cells(text) <= cells:
        return text
    return _take(text, cells - 1) + CUT


def wrap(text: str, cells: int) -> list[str]:
    """A text in lines of at most so many cells, broken between words; a
    word that is longer is broken too, where it has joints behind one."""
    cells = max(cells, 2)
    lines: list[str] = []
    line: str | None = None
    for word in text.split(" "):
        if line is None:
            line = word
        elif line.strip() and count_cells(line) + 1 + count_cells(
                word) > cells:
            lines.append(line)
            line = word
        else:
            line += " " + word
        while count_cells(line) > cells:
            part = _take(line, cells)
            joint = max(map(part.rfind, _JOINTS)) + 1
            part = part[:joint] if joint > len(part) // 2 else part
            lines.append(part)
            line = line[len(part):]
    return [*lines, line or ""]


def _take(text: str, cells: int) -> str:
    """So much of a text as has room."""
    kept, used = "", 0
    for cluster in split_clusters(text):
        used += _cells(cluster)
        if used > cells:
            break
        kept += cluster
    return kept


def fit(text: str, cells: int) -> str:
    """A text in exactly so many cells, cut or filled."""
    text = cut(text, cells)
    return text + " " * (cells - count_cells(text))


def align(rows: Sequence[Sequence[str]],
          right: Collection[int] = ()) -> list[str]:
    """Rows as lines, each column as wide as its widest cell; the numbers
    in `right` are columns that end flush."""
    widths = [max(map(count_cells, column))
              for column in zip(*rows, strict=True)]
    return ["  ".join(
        " " * (cells - count_cells(cell)) + cell if number in right
        else cell + " " * (cells - count_cells(cell))
        for number, (cell, cells) in enumerate(zip(row, widths, strict=True))
    ).rstrip() for row in rows]


def lay_out(rows: Sequence[Sequence[str]], columns: int, *,
            right: Collection[int] = (), head: bool = False) -> list[str]:
    """`align`, where the lines fit into so many columns or their last cells
    can be broken within their own; else each row as its first cell and
    under it the others, with the names of the `head` where the first row is
    one."""
    lines = align(rows, right)
    if not lines or max(map(count_cells, lines)) <= columns:
        return lines
    begun = align([[*row[:-1], ""] for row in rows], right)
    left = max(map(count_cells, begun)) + 2
    if columns - left >= _LEAST_LAST and len(rows[0]) - 1 not in right:
        return [line for row, beginning in zip(rows, begun, strict=True)
                for line in _hang(beginning, row[-1], left, columns)]
    names = [f"{name}: " for name in rows[0]] if head \
        else [""] * len(rows[0])
    return [line for row in rows[1 if head else 0:]
            for line in _pile([row[0], *(
                name + cell for name, cell in zip(
                    names[1:], row[1:], strict=True) if cell)],
                columns, alone=head)]


def _pile(cells: Sequence[str], columns: int, *, alone: bool) -> list[str]:
    """Cells in lines, as many in each as fit, the first of them `alone`;
    all but the first line set in."""
    piled = [cells[0]]
    for cell in cells[1:]:
        line = f"{piled[-1]}  {cell}"
        if (alone and len(piled) == 1) \
                or count_cells(line) > columns - 2 * (len(piled) > 1):
            piled.append(cell)
        else:
            piled[-1] = line
    first, *others = piled
    return [*wrap(first, columns),
            *(f"  {line}" for other in others
              for line in wrap(other, columns - 2))]


def _hang(beginning: str, text: str, left: int, columns: int) -> list[str]:
    """A text behind the beginning of its line, and under itself."""
    first, *others = wrap(text, columns - left)
    return [(fit(beginning, left) + first).rstrip(),
            *(" " * left + other for other in others)]


def draw_bar(share: float, cells: int) -> str:
    """A bar of a share, 0 to 1; what is more than nothing is seen."""
    eighths = round(max(0.0, min(share, 1.0)) * cells * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return BAR * full + (BAR_PARTS[rest] if rest else "")


def draw_chart(numbers: Mapping[str, int], columns: int,
               labels: Mapping[str, str] | None = None) -> list[str]:
    """A line a number: its name, a bar, and its label (the number)."""
    if not numbers:
        return []
    texts = {name: (labels or {}).get(name, f"{number:,}")
             for name, number in numbers.items()}
    names = max(1, min(max(map(count_cells, numbers)), columns // 3))
    cells = max(_LEAST, columns - names - 6
                - max(map(len, texts.values())))
    most = max(*numbers.values(), 1)
    return [f"  {fit(name, names)}  "
            f"{draw_bar(number / most, cells)} {texts[name]}".rstrip()
            for name, number in numbers.items()]
