"""Code in the colours of the terminal's own theme, on its own background.

Nothing is added to it: no frame, no margin, no line broken. What is copied
from the screen is the code.
"""

from collections.abc import Iterator

from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers import (  # type: ignore[import-untyped]
    get_lexer_by_name,
)
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Keyword,
    Name,
    Number,
    String,
    _TokenType,
)
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from claw.cli.show.look import paint

# Lines read again for the colours of the next one: a text of several lines
# begins somewhere above it.
_ABOVE = 100
_KINDS: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "comment"), (Keyword, "keyword"), (String, "string"),
    (Number, "number"), (Name.Function, "name"), (Name.Class, "name"),
    (Name.Tag, "keyword"), (Name.Decorator, "name"),
    (Name.Attribute, "name"))


def find_lexer(language: str) -> Lexer | None:
    """What reads this language; None for none that is known."""
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def split_styles(code: str, lexer: Lexer | None
                 ) -> Iterator[tuple[str, str | None]]:
    """Pieces of the code, each with its style; "code" for all of a
    language that nobody knows."""
    if lexer is None:
        yield code, "code"
        return
    for kind, text in lexer.get_tokens(code):
        yield text, next((style for token, style in _KINDS
                          if kind in token), None)


class CodeLines:
    """The lines of one block as they come."""

    def __init__(self, language: str, *, colour: bool) -> None:
        self._lexer = find_lexer(language)
        self._colour = colour
        self._lines: list[str] = []

    def add(self, lines: list[str]) -> list[str]:
        """The next lines, painted; they stay as they are."""
        shown = self.paint(lines)
        self._lines = [*self._lines, *lines][-_ABOVE:]
        return shown

    def paint(self, lines: list[str]) -> list[str]:
        """The same for lines that may still change."""
        painted = [""]
        for text, style in split_styles(
                "\n".join([*self._lines, *lines]), self._lexer):
            first, *others = text.split("\n")
            painted[-1] += self._paint(first, style)
            painted += [self._paint(part, style) for part in others]
        return painted[len(self._lines):]

    def _paint(self, text: str, style: str | None) -> str:
        return text if style is None else paint(text, style,
                                                colour=self._colour)
