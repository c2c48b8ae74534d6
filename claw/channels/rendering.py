"""An answer in the markup of a platform; pure.

    split_rendered("**hi**", limit=2000, links=None,
                   render=lambda text, spans: ...)

Markdown is read into text and spans (markup.py), cut where a reader would
(splitting.py), and written by `render_spans` with what the platform puts
around each kind. Where only some links may be live the others are code: a
platform makes links of bare addresses by itself.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from claw.channels.markup import parse_markdown
from claw.channels.spans import Span, order
from claw.channels.splitting import split_text
from claw.text.addresses import find_addresses
from claw.text.segment import clean

Render = Callable[[str, Sequence[Span]], str]
MOST_SPANS = 100
_SOLID = ("code", "pre")
_SHRINK = 0.8
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffc]")


def split_rendered(markdown: str, *, limit: int, render: Render,
                   links: Collection[str] | None = None,
                   length: Callable[[str], int] = len) -> list[str]:
    """Markdown as pieces of the platform's markup, each of at most `limit`
    by `length`; [] for a blank text. `links` are the only addresses that
    may be live, None: all."""
    text, spans = parse_markdown(markdown)
    if links is not None:
        spans = disarm_spans(text, spans, links)
    return list(_fit(text, spans, limit, limit, render, length))


def _fit(text: str, spans: Sequence[Span], room: int, limit: int,
         render: Render, length: Callable[[str], int]) -> Iterable[str]:
    """Pieces that fit once they are rendered: signs of formats and escapes
    make a text longer, so what is too long is cut again."""
    for piece, inside in split_text(text, spans, limit=room, length=length,
                                    max_spans=MOST_SPANS):
        if not piece.strip():
            continue
        shown = render(piece, inside)
        if length(shown) <= limit:
            yield shown
            continue
        smaller = int(min(room, length(piece)) * _SHRINK)
        if smaller < 1 or len(piece) == 1:
            yield piece  # one sign with its escape: as it is
        else:
            yield from _fit(piece, inside, smaller, limit, render, length)


def disarm_spans(text: str, spans: Iterable[Span],
                 links: Collection[str]) -> list[Span]:
    """The spans of a text in which nothing but `links` is a link: what
    else is one, or would become one, is code. This judges what really goes
    out, however its Markdown was read."""
    found = list(spans)
    linked = [span for span in found
              if span.kind == "text_link" and span.extra not in links]
    bare = [Span("code", start, end) for start, end in find_addresses(text)
            if text[start:end] not in links]
    kept = [span for span in found if span not in linked]
    code = [span for span in kept if span.kind in _SOLID]
    for new in (*bare, *(Span("code", s.start, s.end) for s in linked)):
        if any(old.start <= new.start and new.end <= old.end
               for old in code):
            continue
        kept = [span for span in kept if span.kind == "blockquote"
                or not _overlap(span, new)]
        code = [span for span in code if not _overlap(span, new)]
        kept.append(new)
        code.append(new)
    return sorted(kept, key=order)


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def render_plain(markdown: str) -> str:
    """What a person reads of Markdown where there are no formats: without
    marks and controls; a link keeps its address."""
    text, spans = parse_markdown(clean(markdown))
    return _CONTROLS.sub("", render_spans(text, spans, mark_link, str))


def mark_link(span: Span, plain: str) -> tuple[str, str]:
    """Nothing but its address behind a link with words of its own."""
    return "", (f" ({span.extra})" if span.kind == "text_link"
                and span.extra != plain else "")


def disarm(text: str, links: Collection[str]) -> str:
    """A plain text with nothing that would be made a link of and fetched,
    but for `links`."""
    for start, end in reversed(find_addresses(text)):
        address = text[start:end]
        if address not in links:
            text = (text[:start] + re.sub(r"(?<=\w)\.(?=\w)", "[.]", address)
                    .replace("://", "[:]//") + text[end:])
    return text


def render_spans(text: str, spans: Sequence[Span],
                 marks: Callable[[Span, str], tuple[str, str]],
                 escape: Callable[[str], str],
                 escape_code: Callable[[str], str] = lambda code: code
                 ) -> str:
    """The text with what `marks` puts before and behind each span, given
    the span and its plain text. `escape` is for what stands outside of
    code, `escape_code` for the inside. Spans that cross an outer one are
    left out."""
    def walk(start: int, end: int, inner: Sequence[Span],
             write: Callable[[str], str]) -> str:
        parts: list[str] = []
        at, number = start, 0
        while number < len(inner):
            span = inner[number]
            number += 1
            if span.start < at or span.end > end or span.end <= span.start:
                continue
            held = []
            while number < len(inner) and inner[number].start < span.end:
                held.append(inner[number])
                number += 1
            opening, closing = marks(span, text[span.start:span.end])
            parts += [write(text[at:span.start]), opening, walk(
                span.start, span.end, held,
                escape_code if span.kind in _SOLID else write), closing]
            at = span.end
        return "".join([*parts, write(text[at:end])])
    return walk(0, len(text), sorted(spans, key=order), escape)

