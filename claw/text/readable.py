"""What a page is about, without what stands around it on every page. Pure.

The page is read once, as html.py reads it, into blocks: paragraphs,
headings, entries of lists, cells. A block counts by its words outside links;
menus, footers and forms are left out by their element, by what their class
calls them, and by having little but links. Where too little is left the
whole page is the answer: a reader can pass over a menu, but not read what
is not there.

The idea of counting words and links is that of Kohlschütter, Fankhauser and
Nejdl, "Boilerplate Detection using Shallow Text Features", 2010.
"""

import re
from collections import Counter

from claw.core.value import Value
from claw.text.html import PageReader, read_attributes, tidy

# Elements that are never what a page is about.
_AROUND = frozenset(("nav", "footer", "aside", "form", "button", "menu",
                     "fieldset", "label"))
_AROUND_ROLES = frozenset(("navigation", "banner", "contentinfo", "search",
                           "complementary", "menu", "menubar", "toolbar",
                           "dialog", "alertdialog", "form"))
# Words of classes and ids that stand for the same.
_AROUND_WORDS = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|menus|submenu|footer|sidebar"
    r"|side-?bar|breadcrumbs?|cookies?|consent|gdpr|share|sharing|social"
    r"|sharedaddy|related|recommended|newsletter|subscribe|subscription"
    r"|advert|adverts|advertisement|ads?|sponsored|promo|teaser|teasers"
    r"|comments?|commentlist|respond|disqus|pagination|pager|tags?|tagcloud"
    r"|widget|widgets|popup|modal|skip|hidden|sr-only|visually-hidden"
    r"|screen-reader-text|login|signup|toolbar|banner|masthead|meta|byline"
    r"|author-box|copyright|jp-relatedposts|toc|outbrain|taboola)(?:$|[\s_-])",
    re.IGNORECASE)
_HEADINGS = {f"h{n}": "#" * n + " " for n in range(1, 7)}
_BLOCKS = frozenset(("p", "div", "section", "article", "main", "li", "ul",
                     "ol", "dl", "dt", "dd", "table", "tr", "td", "th",
                     "blockquote", "pre", "figure", "figcaption", "header",
                     "body", "hr", "center", "address", *_HEADINGS,
                     *_AROUND))
_MAIN = frozenset(("article", "main"))
_ENOUGH_CHARS = 250
_LONG_CHARS = 80  # a sentence; shorter blocks need one beside them
_NEAR = 2
_MOST_LINKED = 0.5
_MOST_AROUND = 0.4
_MOST_LINKS = 500
_MOST_DEPTH = 12


class Article(Value):
    """A page as it is read. `links` are (words, address as written)."""

    title: str
    text: str
    links: tuple[tuple[str, str], ...] = ()


class _Block(Value):
    text: str
    chars: int
    linked: int
    mark: str
    around: tuple[int, ...]  # the menus and the like that it is in
    main: bool

    @property
    def is_prose(self) -> bool:
        return (self.chars >= _LONG_CHARS
                and self.linked <= _MOST_LINKED * self.chars)


def read_article(page: str) -> Article:
    """The title, the text that the page is about, and its links. Linear in
    the length of the page, whatever it holds."""
    reader = _BlockReader(page, len(page))
    reader.read()
    reader.end_block()
    kept = _pick(reader.blocks)
    size = sum(block.chars for block in kept)
    if size < _ENOUGH_CHARS and 2 * size < sum(
            block.chars for block in reader.blocks):
        kept = reader.blocks
    text = "\n".join(block.mark + block.text for block in kept)
    return Article(" ".join(reader.title.split()), text,
                   tuple(reader.links))


def _pick(blocks: list[_Block]) -> list[_Block]:
    """The blocks that are neither menus nor lone scraps."""
    misnamed = _find_misnamed(blocks)
    blocks = [block for block in blocks if misnamed.issuperset(block.around)]
    main = [block for block in blocks if block.main]
    if sum(block.chars for block in main
           if block.is_prose) >= _ENOUGH_CHARS:
        blocks = main
    prose = [block.is_prose for block in blocks]
    kept = []
    for at, block in enumerate(blocks):
        near = prose[max(0, at - _NEAR):at + _NEAR + 1]
        if prose[at] or (any(near) and (
                block.linked <= _MOST_LINKED * block.chars)):
            kept.append(block)
    return kept


def _find_misnamed(blocks: list[_Block]) -> set[int]:
    """The regions that hold too much of the page to stand around it,
    whatever they are called: a form around everything, a body whose class
    names its sidebar."""
    held: Counter[int] = Counter()
    for block in blocks:
        if block.is_prose:
            held.update(dict.fromkeys(block.around, block.chars))
            held[0] += block.chars
    return {region for region, chars in held.items()
            if chars >= _MOST_AROUND * held[0]}


class _BlockReader(PageReader):
    """Reads a page into blocks."""

    def __init__(self, page: str, enough: int) -> None:
        super().__init__(page, enough)
        self.blocks: list[_Block] = []
        self.links: list[tuple[str, str]] = []
        self._states: list[tuple[bool, bool, bool]] = []
        self._around: tuple[int, ...] = ()
        self._regions = 0
        self._main = self._linked_depth = 0
        self._linked = 0
        self._mark = ""
        self._href = ""
        self._link_at = 0

    def _begin(self, tag: str, rest: str) -> None:
        if tag in _BLOCKS:
            self.end_block()
            self._mark = _HEADINGS.get(tag, "- " if tag == "li" else "")
        elif tag == "br":
            self._see("\n")
        if tag == "body":
            self._states.clear()
            self._around = ()
            self._main = self._linked_depth = 0
        super()._begin(tag, rest)
        if len(self._open) == len(self._states):  # it is not left open
            return
        state = (tag not in ("body", "html", *_MAIN)
                 and len(self._around) < _MOST_DEPTH
                 and (tag in _AROUND or _stands_around(rest)),
                 tag in _MAIN, tag == "a")
        self._states.append(state)
        if state[0]:
            self._regions += 1
            self._around = (*self._around, self._regions)
        self._main += state[1]
        self._linked_depth += state[2]
        if tag == "a":
            self._href = next((value for name, value
                               in read_attributes(rest)
                               if name == "href"), "")
            self._link_at = len(self.text)

    def _pop(self) -> str:
        tag = super()._pop()
        if self._states:
            around, main, linked = self._states.pop()
            if linked:
                self._note_link()
            if tag in _BLOCKS:
                self.end_block()
            if around:
                self._around = self._around[:-1]
            self._main -= main
            self._linked_depth -= linked
        return tag

    def _see(self, text: str) -> None:
        before = len(self.text)
        super()._see(text)
        if self._linked_depth:
            self._linked += sum(len(part.strip())
                                for part in self.text[before:])

    def _note_link(self) -> None:
        words = " ".join("".join(self.text[self._link_at:]).split())
        if self._href and words and len(self.links) < _MOST_LINKS:
            self.links.append((words, self._href))

    def end_block(self) -> None:
        """What was seen since the last one is a block."""
        text = tidy("".join(self.text))
        if text:
            self.blocks.append(_Block(
                text, len(text), self._linked, self._mark,
                self._around, self._main > 0))
            self._mark = ""
        self.text.clear()
        self._linked = 0
        self._link_at = 0


def _stands_around(rest: str) -> bool:
    """Whether the attributes of an element say that it is a menu or the
    like."""
    if len(rest) < len("id=x"):
        return False
    for name, value in read_attributes(rest):
        if name in ("class", "id") and _AROUND_WORDS.search(value[:300]):
            return True
        if name == "role" and value.lower() in _AROUND_ROLES:
            return True
    return False
