"""The title of a web page and the text that a reader sees. Pure.

One pass over the page, linear in its length whatever it holds: the standard
library's parser takes minutes for 256 KiB made to slow it down. Reads like
a browser where that changes what is seen: raw text of scripts, comments,
quoted attributes, tags that end themselves, elements hidden by attribute or
style, character references.
Source: the HTML standard, "Tokenization", read 2026-11.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator

# Elements whose content nobody reads, and those whose content is no markup.
_UNSEEN = frozenset(("noscript", "template", "svg", "math", "object", "head",
                     "select", "canvas", "audio", "video", "dialog"))
_RAW = frozenset(("script", "style", "textarea", "title", "iframe", "xmp",
                  "noembed", "noframes"))
_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input",
                   "link", "meta", "source", "track", "wbr"))
# These end where the next of their kind begins.
_ENDLESS = frozenset(("p", "li", "td", "th", "tr", "dt", "dd", "option"))
# Text goes on through these; at the edge of others words do not touch.
_INLINE = frozenset(("a", "abbr", "b", "bdi", "bdo", "cite", "code", "em",
                     "font", "i", "kbd", "mark", "q", "s", "small", "span",
                     "strong", "sub", "sup", "u", "wbr"))
_ATTRIBUTE_CHARS = 2000

_BLANKS = re.compile(r"[^\S\n]+")
_GAPS = re.compile(r" ?\n\s*")
_NAME = re.compile(r"</?([a-zA-Z][^\s/>]{0,40})")
# The rest of a tag; possessive, so a missing end costs one look.
_REST = re.compile(r"""(?>[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+>""")
_ATTRIBUTE = re.compile(r"""([^\s=/>"']++)(?:\s*+=\s*+
                            ("[^"]*"|'[^']*'|[^\s>]*+))?+""", re.VERBOSE)
_STYLED_AWAY = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|"
    r"opacity:0(?:\.0*)?(?![.\d])|font-size:0(?:\.0*)?(?![.\d])")


def title_and_text(page: str, enough: int) -> tuple[str, str]:
    """The title and the seen text of a page, blanks as they come; reading
    stops when there are about `enough` characters of text and a title."""
    reader = PageReader(page, enough)
    reader.read()
    return reader.title, "".join(reader.text)


def tidy(text: str) -> str:
    """The text of a page without its blanks and empty lines."""
    return _GAPS.sub("\n", _BLANKS.sub(" ", text)).strip()


class PageReader:
    """One pass over a page; what it sees goes to `text` and `title`."""

    def __init__(self, page: str, enough: int) -> None:
        self._page = page
        self._enough = enough
        self._open: list[tuple[str, bool]] = []
        self._names: Counter[str] = Counter()
        self._unseen = 0
        self._chars = 0
        self.text: list[str] = []
        self.title = ""

    def read(self) -> None:
        page, at = self._page, 0
        while 0 <= at < len(page):
            if self._chars > self._enough and self.title:
                return
            tag = page.find("<", at)
            self._see(page[at:] if tag < 0 else page[at:tag])
            at = tag if tag < 0 else self._markup(tag)

    def _markup(self, at: int) -> int:
        """Where to go on after the markup at this place; -1: nowhere."""
        page = self._page
        if page.startswith("<!--", at):
            end = page.find("-->", at + 2)
            return -1 if end < 0 else end + 3
        name = _NAME.match(page, at)
        if name is None and page.startswith(("<!", "<?", "</"), at):
            return page.find(">", at) + 1 or -1
        if name is None:
            self._see("<")
            return at + 1
        rest = _REST.match(page, name.end())
        if rest is None:
            return -1
        tag = name[1].lower()
        if tag not in _INLINE:
            self._see(" ")
        if page[at + 1] == "/":
            self._close(tag)
            return rest.end()
        if tag in _RAW:
            return self._raw(tag, rest.end())
        self._begin(tag, rest[0])
        return rest.end()

    def _raw(self, tag: str, at: int) -> int:
        """Past the content of an element that holds no markup."""
        end = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(
            self._page, at)
        content = self._page[at:end.start() if end else None]
        if tag == "title" and not self.title and not self._names["svg"]:
            self.title = _decode(content[:self._enough])
        return end.start() if end else -1

    def _begin(self, tag: str, rest: str) -> None:
        if tag in _VOID:
            return
        if tag == "body":  # a head that nobody closed
            self._open.clear()
            self._names.clear()
            self._unseen = 0
        if tag in _ENDLESS and self._open and self._open[-1][0] == tag:
            self._pop()
        unseen = tag in _UNSEEN or _is_hidden(rest)
        if tag in ("svg", "math", "path") and rest.endswith("/>"):
            return
        self._open.append((tag, unseen))
        self._names[tag] += 1
        self._unseen += unseen

    def _close(self, tag: str) -> None:
        """Close an element and what is open inside it; nothing where no
        such element is open."""
        while self._names[tag]:
            if self._pop() == tag:
                return

    def _pop(self) -> str:
        tag, unseen = self._open.pop()
        self._names[tag] -= 1
        self._unseen -= unseen
        return tag

    def _see(self, text: str) -> None:
        if text and not self._unseen:
            self.text.append(_decode(text))
            self._chars += len(text)


def _decode(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # the number of a character with 4,300 digits
        return text


def read_attributes(rest: str) -> Iterator[tuple[str, str]]:
    """The attributes of a tag, names in lower case, as they are written."""
    for match in _ATTRIBUTE.finditer(rest[:_ATTRIBUTE_CHARS]):
        yield match[1].lower(), (match[2] or "").strip("\"'")


def _is_hidden(rest: str) -> bool:
    """Whether the attributes of an element hide it."""
    if len(rest) < len("hidden"):
        return False
    for name, value in read_attributes(rest):
        value = value.lower()
        if name == "hidden" or (name == "aria-hidden" and value == "true"):
            return True
        if name == "style" and _STYLED_AWAY.search("".join(
                html.unescape(value[:500]).split())):
            return True
    return False
