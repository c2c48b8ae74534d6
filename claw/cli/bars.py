"""Columns, and bars of block characters, as wide as the terminal allows.

Widths are those of a terminal: a Chinese, Japanese or Korean character
takes two cells, a combining mark none (Unicode, UAX #11).
"""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

_PARTS = " ▏▎▍▌▋▊▉"
_FULL = "█"
_LEAST = 8  # cells of a bar


@lru_cache(maxsize=4096)
def _cells(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in (
            "Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def count_cells(text: str) -> int:
    """How many cells a text takes."""
    return sum(map(_cells, text))


def fit(text: str, cells: int) -> str:
    """A text in exactly so many cells, cut or filled."""
    if count_cells(text) > cells:
        kept, used = "", 0
        for letter in text:
            if used + _cells(letter) > cells - 1:
                break
            kept, used = kept + letter, used + _cells(letter)
        text = kept + "…"
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


def draw_bar(share: float, cells: int) -> str:
    """A bar of a share, 0 to 1; what is more than nothing is seen."""
    eighths = round(max(0.0, min(share, 1.0)) * cells * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return _FULL * full + (_PARTS[rest] if rest else "")


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
