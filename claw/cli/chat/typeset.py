"""Markdown as lines of a terminal: what claw sets otherwise than rich.

Nothing of a text is left out (HTML is text, an image its address), line
breaks stay, --- under a line is a rule and makes no heading of it, code has
no frame, and a table that does not fit is set as a list of its rows. A link
shows where it leads: behind words that hide it an answer could have a
person click anything.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from claw.cli.chat.code import find_lexer, split_styles
from claw.cli.show.look import READING_COLUMNS, STYLES

_THEME = Theme({f"markdown.{name}": STYLES[style] for name, style in {
    "h1": "h1", "h2": "h2", "h3": "h3", "h4": "h3", "h5": "h3", "h6": "h3",
    "strong": "strong", "em": "em", "code": "code", "link": "link",
    "link_url": "address", "hr": "rule", "block_quote": "quote",
    "table.border": "border", "table.header": "head"}.items()} | {
    f"markdown.{name}": "none" for name in (
        "list", "item", "item.bullet", "item.number", "code_block")})
_WIDE = 10_000  # columns to measure a table in
_PARSER = MarkdownIt().enable(["strikethrough", "table"]).disable(
    ["html_inline", "html_block", "lheading"])


class _Heading(Heading):
    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Code(CodeBlock):
    """Within a list or quote: broken where it does not fit."""

    def __rich_console__(self, console: Console, options: ConsoleOptions
                         ) -> RenderResult:
        text = Text(overflow="fold")
        for part, style in split_styles(str(self.text).rstrip(),
                                        find_lexer(self.lexer_name)):
            text.append(part, STYLES[style] if style else None)
        yield text


class _Table(TableElement):
    """In columns where each word fits into its own, else row by row."""

    def __rich_console__(self, console: Console, options: ConsoleOptions
                         ) -> RenderResult:
        heads = [] if self.header is None or self.header.row is None else [
            cell.content for cell in self.header.row.cells]
        rows = [[cell.content for cell in row.cells]
                for row in (self.body.rows if self.body else [])]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False,
                      border_style="markdown.table.border",
                      header_style="markdown.table.header")
        for head in heads:
            table.add_column(head, justify=head.justify or "default",
                             overflow="fold")
        for row in rows:
            table.add_row(*row)
        if options.max_width == READING_COLUMNS:
            options = options.update(width=options.size.width)
        needed = Measurement.get(console, options.update(width=_WIDE), table)
        if needed.minimum <= options.max_width:
            yield from console.render(table, options)
        else:
            yield from _set_rows(heads, rows)


def _set_rows(heads: list[Text], rows: list[list[Text]]) -> Iterator[Text]:
    for number, row in enumerate(rows):
        if number:
            yield Text()
        for head, cell in zip(heads, row, strict=False):
            yield Text.assemble((head.plain, STYLES["head"]), ": ", cell)


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _Heading,
                          "fence": _Code, "code_block": _Code,
                          "table_open": _Table}

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = _PARSER.parse(text)
        for token in self.parsed:
            if token.children:
                token.children = [*_simplify(token.children)]


def _simplify(tokens: Iterable[Token]) -> Iterator[Token]:
    """Line breaks as they are, an image as its words and its address, an
    address that is its own link once."""
    kept = list(tokens)
    for number, token in enumerate(kept):
        if token.type == "softbreak":
            token.type = "hardbreak"
        elif token.type == "image":
            token = Token("text", "", 0, content=(
                f"{token.content} ({token.attrs.get('src', '')})").strip())
        elif token.info == "auto" or (
                token.type in ("link_open", "link_close")
                and _is_bare(kept, number)):
            continue
        yield token


def _is_bare(tokens: list[Token], number: int) -> bool:
    """Whether this opens or closes a link whose words are its address."""
    start = number if tokens[number].type == "link_open" else number - 2
    return start >= 0 and tokens[start].type == "link_open" \
        and tokens[start + 2].type == "link_close" \
        and tokens[start + 1].content == tokens[start].attrs.get("href")


class Typesetter:
    """Sets Markdown for a terminal with or without colours."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._console = Console(theme=_THEME, highlight=False,
                                legacy_windows=False)

    def set_lines(self, text: str, columns: int
                  ) -> tuple[list[str], list[str]]:
        """Its lines with escapes, and the same without; none ends in
        blanks, and none but the inner ones is empty."""
        self._console.size = (columns, 25)
        options = self._console.options.update(
            width=min(columns, READING_COLUMNS))
        shown, plain = [], []
        for row in Segment.split_lines(
                self._console.render(_Markdown(text), options)):
            row = _strip(row)
            shown.append("".join(map(self._escape, row)))
            plain.append("".join(segment.text for segment in row))
        filled = [number for number, line in enumerate(plain) if line]
        part = slice(filled[0], filled[-1] + 1) if filled else slice(0)
        return shown[part], plain[part]

    def _escape(self, segment: Segment) -> str:
        style = segment.style or Style.null()
        if not self._colour:
            style = style.without_color
        return style.render(segment.text,
                            color_system=ColorSystem.STANDARD)


def _strip(row: list[Segment]) -> list[Segment]:
    """The row without the blanks at its end."""
    while row and not row[-1].text.strip(" "):
        row = row[:-1]
    if row:
        last = row[-1]
        row = [*row[:-1], Segment(last.text.rstrip(" "), last.style)]
    return row
