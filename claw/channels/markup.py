"""Markdown as models write it, as plain text with spans; pure.

What is sent as text and spans can't be refused for its markup: headers
become bold, fences and tables pre, "- " becomes "• ", and what is no proper
Markdown stays in the text as it was written.
"""

import re

from claw.channels.inline import parse_inline
from claw.channels.spans import Span, tidy

_FENCE = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([^`~]*+)")
_HEADER = re.compile(r" {0,3}#{1,6}[ \t]++(?=\S)")
_BULLET = re.compile(r"([ \t]*+)[-*+][ \t]++(?=\S)")
_NUMBER = re.compile(r"[ \t]*+\d{1,9}[.)][ \t]++(?=\S)")
_QUOTE = re.compile(r" {0,3}>(?:[ \t]*>)*(?:[ \t]|$)")
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}(?=\s|$)")
_LINE_ENDS = re.compile("\r\n?|[\v\f\u0085\u2028\u2029]")
# Platforms take no control characters and no halves of pairs.
_CONTROLS = re.compile("[\0-\x08\x0e-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_markdown(text: str) -> tuple[str, list[Span]]:
    """What a person reads, and its formats.

    Only markers that pair are taken out. A link's address and a fence's
    language move into the spans. Linear in the length of the text; never
    raises. There may be many spans: `split_text` keeps them few a piece.
    """
    page = _Page()
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode(
            "utf-16-le", "replace")
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    _blocks(text.split("\n"), page, quoted=False)
    plain = "\n".join(page.parts)
    return plain, tidy(plain, page.spans)


class _Page:
    """Blocks that are done, one under the other."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.spans: list[Span] = []
        self._size = 0

    def add(self, text: str, spans: list[Span]) -> None:
        if self.parts:
            self._size += 1
        self.spans.extend(span._replace(start=span.start + self._size,
                                        end=span.end + self._size)
                          for span in spans)
        self.parts.append(text)
        self._size += len(text)


def _blocks(lines: list[str], page: _Page, *, quoted: bool) -> None:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip() or _is_rule(line):
            page.add(line, [])
            at += 1
        elif _FENCE.fullmatch(line):
            at = _fence(lines, at, page)
        elif not quoted and _QUOTE.match(line):
            at = _quote(lines, at, page)
        elif _is_table(lines, at):
            at = _table(lines, at, page)
        elif head := _HEADER.match(line):
            _header(line[head.end():], page)
            at += 1
        else:
            at = _paragraph(lines, at, page, quoted=quoted)


def _starts_block(lines: list[str], at: int, *, quoted: bool) -> bool:
    line = lines[at]
    return bool(not line.strip() or _BULLET.match(line)
                or _NUMBER.match(line) or _HEADER.match(line)
                or _FENCE.fullmatch(line)
                or (not quoted and _QUOTE.match(line))
                or _is_rule(line) or _is_table(lines, at))


def _paragraph(lines: list[str], at: int, page: _Page, *,
               quoted: bool) -> int:
    """A list item or lines of prose, up to the next block."""
    end = at + 1
    while end < len(lines) and not _starts_block(lines, end, quoted=quoted):
        end += 1
    text = "\n".join(lines[at:end])
    lead = ""
    if bullet := _BULLET.match(text):
        lead, text = bullet[1] + "• ", text[bullet.end():]
    plain, spans = parse_inline(text)
    page.add(lead + plain, [
        span._replace(start=span.start + len(lead),
                      end=span.end + len(lead)) for span in spans])
    return end


def _header(text: str, page: _Page) -> None:
    text = text.rstrip()
    bare = text.rstrip("#")
    if bare and bare[-1] in " \t":
        text = bare.rstrip()
    plain, spans = parse_inline(text)
    page.add(plain, [*spans, Span("bold", 0, len(plain))])


def _fence(lines: list[str], at: int, page: _Page) -> int:
    """A code block; without an end it runs to the end of the text."""
    head = _FENCE.fullmatch(lines[at])
    assert head is not None
    indent, mark, info = head.groups()
    end = at + 1
    while end < len(lines) and not (lines[end].strip().startswith(mark)
                                    and not lines[end].strip().strip(mark[0])):
        end += 1
    body = [line[min(len(indent), len(line) - len(line.lstrip(" \t"))):]
            for line in lines[at + 1:end]]
    known = _LANGUAGE.match(info)
    language = known[0] if known else ""
    rest = info[len(language):].strip()
    after = min(end + 1, len(lines))
    if not any(line.strip() for line in body):
        page.add("\n".join(lines[at:after]), [])
        return after
    code = "\n".join([rest, *body] if rest else body)
    page.add(code, [Span("pre", 0, len(code), language)])
    return after


def _quote(lines: list[str], at: int, page: _Page) -> int:
    inner: list[str] = []
    end = at
    while end < len(lines) and (sign := _QUOTE.match(lines[end])):
        inner.append(lines[end][sign.end():])
        end += 1
    if not any(line.strip() for line in inner):
        page.add("\n".join(lines[at:end]), [])
        return end
    quote = _Page()
    _blocks(inner, quote, quoted=True)
    plain = "\n".join(quote.parts)
    page.add(plain, [*quote.spans, Span("blockquote", 0, len(plain))])
    return end


def _is_rule(line: str) -> bool:
    """--- and its kin; stays as it is."""
    signs = "".join(line.split())
    return (len(signs) >= 3 and signs[0] in "-*_"
            and signs == signs[0] * len(signs))


def _is_table(lines: list[str], at: int) -> bool:
    """A row with a line of dashes and bars under it."""
    if "|" not in lines[at] or at + 1 == len(lines):
        return False
    under = lines[at + 1]
    return "|" in under and "-" in under and not under.strip(" \t|:-")


def _table(lines: list[str], at: int, page: _Page) -> int:
    end = at + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    table = "\n".join(lines[at:end])
    page.add(table, [Span("pre", 0, len(table))])
    return end
