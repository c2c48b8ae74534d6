"""A text in chunks of 100 to 200 words, each with its lines. Pure.

A chunk ends where a paragraph or a section does, and never inside a line:
only one of more than 4,000 characters is cut, and says at which column. In
Markdown a heading stands with what is below it, and a chunk further down
knows the headings above. Elsewhere blank lines part the blocks.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# Sizes are in letters of an alphabet, about six a word; a Chinese character
# counts as half a word.
MOST = 1_200
LEAST = 200       # what is smaller joins what stands before it
LONGEST = 4_000   # of a line
_HEADING_CHARACTERS = 200
_WIDE = 0x2E80    # from here on the scripts of wide characters

_line_end = re.compile(r"\r\n|\n|\r")
_heading = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_underline = re.compile(r"(?:=|-){3,}[ \t]*\Z")
_fence = re.compile(r" {0,3}(```|~~~)")


class Chunk(NamedTuple):
    """Lines `start` to `end`, from 1, both inside. `heading` is what stands
    above and not in the text: "Setup > Linux". `column`: where in an
    overlong line it begins, 0 for whole lines."""

    start: int
    end: int
    text: str
    heading: str = ""
    column: int = 0

    @property
    def place(self) -> str:
        """ "12-30", "12", or "12:4001" within a line."""
        if self.column:
            return f"{self.start}:{self.column}"
        return (str(self.start) if self.start == self.end
                else f"{self.start}-{self.end}")


class _Block(NamedTuple):
    """Lines that belong together, by index, both inside. `level` and
    `title` of the heading that it begins with, which takes `head` lines."""

    first: int
    last: int
    size: int
    level: int = 0
    title: str = ""
    head: int = 0

    @property
    def is_bare(self) -> bool:
        """Whether it is a heading and no more."""
        return self.last - self.first < self.head


_Heading = tuple[int, str]


def split_chunks(text: str, *, markdown: bool = False) -> list[Chunk]:
    """The chunks of a text, in order: all of it that is not blank."""
    lines = _line_end.split(text)
    groups: list[list[_Block]] = []
    for block in _blocks(lines, markdown):
        for piece in _pieces(lines, block):
            if groups and _joins(groups[-1], piece):
                groups[-1].append(piece)
            else:
                groups.append([piece])
    chunks: list[Chunk] = []
    above: list[_Heading] = []
    for group in _join_small(groups):
        heading = _name(above, group[0])
        chunks += _cut(lines, group[0].first, group[-1].last, heading)
        for block in group:
            if block.level:
                _enter(above, block)
    return chunks


def measure(line: str) -> int:
    """The size of a line."""
    if line.isascii():
        return len(line)
    return len(line) + 2 * sum(ord(letter) >= _WIDE for letter in line)


def _blocks(lines: Sequence[str], markdown: bool) -> Iterator[_Block]:
    """Paragraphs; fenced code and what stands under a heading without a
    blank line as one."""
    first, size, fence = -1, 0, ""
    heading: tuple[int, str, int] = (0, "", 0)
    last = -1  # the last line that is not blank
    for number, line in enumerate(lines):
        if not line.strip() and not fence:
            if first >= 0:
                yield _Block(first, last, size, *heading)
            first, size, heading = -1, 0, (0, "", 0)
            continue
        mark = _fence.match(line) if markdown else None
        if mark is not None and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif markdown and not fence:
            found = _read_heading(lines, number)
            if found is not None:
                if first >= 0:
                    yield _Block(first, last, size, *heading)
                first, size, heading = -1, 0, found
        if line.strip():
            first, last = number if first < 0 else first, number
        size += measure(line) + 1
    if first >= 0:
        yield _Block(first, last, size, *heading)


def _read_heading(lines: Sequence[str], number: int
                  ) -> tuple[int, str, int] | None:
    """Level, title and number of lines of the heading that begins here."""
    line = lines[number]
    found = _heading.match(line)
    if found:
        return len(found[1]), _on_one_line(found[2].rstrip("# \t")), 1
    under = lines[number + 1] if number + 1 < len(lines) else ""
    if line[:1] not in " \t-*+>|=" and _underline.match(under) and (
            number == 0 or not lines[number - 1].strip()):
        return 1 if under[0] == "=" else 2, _on_one_line(line), 2
    return None


def _on_one_line(title: str) -> str:
    """A title without what ends a line elsewhere (U+2028, form feed)."""
    return " ".join(title.split())


def _pieces(lines: Sequence[str], block: _Block) -> Iterator[_Block]:
    """A block in runs of lines that are not too large together."""
    if block.size <= MOST:
        yield block
        return
    start, size, head = block.first, 0, block[3:]
    for number in range(block.first, block.last + 1):
        more = measure(lines[number]) + 1
        if size and size + more > MOST:
            yield _Block(start, number - 1, size, *head)
            start, size, head = number, 0, (0, "", 0)
        size += more
    yield _Block(start, block.last, size, *head)


def _joins(group: Sequence[_Block], block: _Block) -> bool:
    """Whether a block goes on with a chunk."""
    size = sum(one.size for one in group)
    if max(size, block.size) > LONGEST:
        return False
    if size < MOST and all(one.is_bare for one in group):
        return True
    if block.level and size >= LEAST:
        return False
    return size + block.size <= MOST


def _join_small(groups: Sequence[list[_Block]]) -> list[list[_Block]]:
    """The little that is left of a section goes with what is before it."""
    joined: list[list[_Block]] = []
    for group in groups:
        size = sum(block.size for block in group)
        if joined and size < LEAST and not any(
                block.level for block in group) and size + sum(
                block.size for block in joined[-1]) <= MOST + LEAST:
            joined[-1] += group
        else:
            joined.append(group)
    return joined


def _cut(lines: Sequence[str], first: int, last: int, heading: str
         ) -> Iterator[Chunk]:
    """The chunk of these lines; several of one overlong line."""
    text = "\n".join(lines[first:last + 1])
    if first < last or measure(text) <= LONGEST:
        if text.strip():
            yield Chunk(first + 1, last + 1, text, heading)
        return
    most = MOST * len(text) // measure(text)
    start = 0
    while start < len(text):
        space = text.rfind(" ", start + most // 2, start + most)
        stop = space + 1 if space > 0 else start + most
        if text[start:stop].strip():
            yield Chunk(first + 1, first + 1, text[start:stop], heading,
                        start + 1)
        start = stop


def _enter(above: list[_Heading], block: _Block) -> None:
    """Go into the section that a block begins."""
    while above and above[-1][0] >= block.level:
        above.pop()
    above.append((block.level, block.title))


def _name(above: Sequence[_Heading], first: _Block) -> str:
    """The headings above a block, but for those that it ends."""
    return " > ".join(
        title for level, title in above
        if title and not (first.level and level >= first.level)
    )[:_HEADING_CHARACTERS]
