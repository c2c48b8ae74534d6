"""Bars of block characters, as wide as the terminal allows.

Widths are those of a terminal: a Chinese, Japanese or Korean character
takes two cells, a combining mark none (Unicode, UAX #11).
"""

import unicodedata
from collections.abc import Mapping
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


def width(text: str) -> int:
    """How many cells a text takes."""
    return sum(map(_cells, text))


def fitted(text: str, cells: int) -> str:
    """A text in exactly so many cells, cut or filled."""
    if width(text) > cells:
        kept, used = "", 0
        for letter in text:
            if used + _cells(letter) > cells - 1:
                break
            kept, used = kept + letter, used + _cells(letter)
        text = kept + "…"
    return text + " " * (cells - width(text))


def bar(share: float, cells: int) -> str:
    """A bar of a share, 0 to 1; what is more than nothing is seen."""
    eighths = round(max(0.0, min(share, 1.0)) * cells * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return _FULL * full + (_PARTS[rest] if rest else "")


def chart(numbers: Mapping[str, int], columns: int,
          said: Mapping[str, str] | None = None) -> list[str]:
    """A line a number: its name, a bar, and how it is `said`."""
    if not numbers:
        return []
    texts = {name: (said or {}).get(name, f"{number:,}")
             for name, number in numbers.items()}
    longest = max(map(width, numbers))
    names = max(1, min(longest, columns // 3))
    cells = max(_LEAST, columns - names - 6
                - max(map(len, texts.values())))
    most = max(*numbers.values(), 1)
    return [f"  {fitted(name, names)}  "
            f"{bar(number / most, cells)} {texts[name]}".rstrip()
            for name, number in numbers.items()]
