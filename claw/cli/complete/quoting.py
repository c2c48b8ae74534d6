"""Values as each shell takes them: none may run or break the line.

Source: GNU Readline's rl_find_completion_word (bash replaces what stands
behind the last word break or open quote), bash(1) QUOTING, fish's
`complete` (value, tab, description).
"""

import re
from collections.abc import Iterable, Iterator

Row = tuple[str, str]  # a value and what it is

_PLAIN = re.compile(r"[\w./,:=@%+-]", re.ASCII)
# What a terminal acts on or reorders, and what no line can hold.
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SPACE = " "


def leave_out_unfit(rows: Iterable[Row], prefix: str) -> Iterator[Row]:
    """Rows whose value begins with the prefix and can stand on a line as it
    is: no control character, and none that would be an option."""
    for value, meaning in rows:
        if value.startswith(prefix) and not _UNFIT.search(value) \
                and not value.startswith("-"):
            yield value, _UNFIT.sub(_SPACE, meaning)


def to_bash(rows: Iterable[Row], current: str, breaks: str, *,
            described: bool = False) -> str:
    """A line for each value: what Readline puts in the place of the end of
    `current`, the word as it is typed. `breaks` is COMP_WORDBREAKS. Where
    values are only listed, several may be `described`: what they have in
    common goes onto the line, and that ends before a description."""
    start, quote = _find_replaced(current, breaks)
    kept = unquote(current[:start])
    return "".join(_quote(value[len(kept):], quote)
                   + (f"  -- {meaning}" if described else "") + "\n"
                   for value, meaning in rows if value.startswith(kept))


def to_zsh(rows: Iterable[Row]) -> str:
    """Value, NUL, what is shown, NUL; `compadd` quotes the value."""
    rows = list(rows)
    width = min(max((len(value) for value, _ in rows), default=0), 30)
    return "".join(f"{value}\0{value:<{width}}"
                   + (f"  -- {meaning}" if meaning else "") + "\0"
                   for value, meaning in rows)


def to_fish(rows: Iterable[Row]) -> str:
    """Value, tab, description; fish quotes the value."""
    return "".join(f"{value}\t{meaning}\n" for value, meaning in rows)


def unquote(word: str) -> str:
    """A word as bash would read it, but for what it would run or replace;
    an open quote counts to the end."""
    text, quote, skips = [], "", False
    for char in word:
        if skips:
            text.append(char if not quote or char in '"\\$`' else "\\" + char)
            skips = False
        elif char == "\\" and quote != "'":
            skips = True
        elif quote and char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote = char
        else:
            text.append(char)
    return "".join(text)


def _find_replaced(word: str, breaks: str) -> tuple[int, str]:
    """Where the part that Readline replaces begins, and the open quote
    before it ("" = none)."""
    start, quote, skips = 0, "", False
    for at, char in enumerate(word):
        if skips:
            skips = False
        elif char == "\\" and quote != "'":
            skips = True
        elif quote:
            if char == quote:
                quote = ""
                start = at + 1 if char in breaks else start
        elif char in "'\"":
            start, quote = at + 1, char
        elif char in breaks:
            start = at if char == "@" else at + 1
    return start, quote


def _quote(text: str, quote: str) -> str:
    """Text that goes on behind an open quote, or behind none."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == '"':  # "!" is history there, whatever stands before it
        return re.sub(r'[\\"$`]', r"\\\g<0>", text).replace("!", "\"'!'\"")
    return "".join(char if _PLAIN.match(char) or not char.isascii()
                   else "\\" + char for char in text)
