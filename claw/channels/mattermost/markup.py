"""Answers in Mattermost's Markdown; pure.

What a model writes is read and written anew, so that nothing means more than
it says: a sign that is text is escaped, @all, @channel and @here ring nobody,
and an address stands in [text](address). The server fetches only bare
addresses and images for its previews, never what stands in a link.
Source: server/channels/app/post_metadata.go (getFirstLink, getImages).
"""

import re
from collections.abc import Collection, Iterable, Sequence

from claw.channels.rendering import render_spans, split_rendered
from claw.channels.spans import Span, order
from claw.text.addresses import find_addresses

_MARKS = {"bold": "**", "italic": "*", "strikethrough": "~~"}
# Begin and end of a quote, until its lines are known.
_OPEN, _CLOSE = "\ue0f0", "\ue0f1"
_PLACEHOLDERS = re.compile(f"[{_OPEN}{_CLOSE}]")
_ANYWHERE = re.compile(r"[\\`*\[\]]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
                       r"|~(?=~)|(?<=~)~|(?<=!)(?=\[)")
_LINE_START = re.compile(r"^([ \t]*)([#>+-])", re.M)
_RINGS_ALL = re.compile(r"@(?=(?:all|channel|here)\b)", re.I)
# Mattermost reads "&#64;all" as "@all", and "&lt;" as "<".
_REFERENCE = re.compile(r"&(?=#?\w+;)", re.ASCII)
_QUOTE = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}(\n(?!\n))?")
_BARE = re.compile(r"www\.|[a-z][a-z0-9+.-]*://", re.I)
_NO_BREAK = "\u2060"  # word joiner: of no width


def split_markdown(text: str, limit: int,
                   links: Collection[str] | None) -> list[str]:
    """Pieces of at most `limit` characters. `links` are the only addresses
    that may be links, None: all."""
    return split_rendered(_PLACEHOLDERS.sub("", text), limit=limit,
                          render=_render, links=links)


def escape(text: str) -> str:
    """Text that means nothing but itself."""
    text = _ANYWHERE.sub(lambda sign: f"\\{sign[0]}" if sign[0] else "",
                         text)
    text = _LINE_START.sub(r"\1\\\2", text)
    text = _REFERENCE.sub(f"&{_NO_BREAK}", text)
    return _RINGS_ALL.sub(f"@{_NO_BREAK}", text)


def _render(text: str, spans: Sequence[Span]) -> str:
    shown = render_spans(text, _add_links(text, spans), _mark, escape)
    return _QUOTE.sub(
        lambda found: "\n".join(
            f"> {line}" for line in found[1].split("\n"))
        + ("\n\n" if found[2] else ""), shown)


def _mark(span: Span, plain: str) -> tuple[str, str]:
    if span.kind == "blockquote":
        return _OPEN, _CLOSE
    if span.kind == "text_link":
        return "[", f"]({_escape_address(span.extra)})"
    if span.kind == "pre":
        fence = "`" * max(3, _longest_run(plain) + 1)
        return f"{fence}{span.extra}\n", f"\n{fence}"
    if span.kind == "code":
        ticks = "`" * (_longest_run(plain) + 1)
        pad = " " if plain[:1] == "`" or plain[-1:] == "`" else ""
        return ticks + pad, pad + ticks
    mark = _MARKS.get(span.kind, "")
    return mark, mark


def _add_links(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans, and one for each address that stands bare."""
    found = list(spans)
    solid = [s for s in found if s.kind in ("code", "pre", "text_link")]
    for start, end in find_addresses(text):
        if _BARE.match(text, start) and not any(
                s.start < end and start < s.end for s in solid):
            found.append(Span("text_link", start, end, text[start:end]))
    return sorted(found, key=order)


def _escape_address(address: str) -> str:
    """An address as a link's destination."""
    if address.lower().startswith("www."):
        address = f"http://{address}"
    return re.sub(r"[\s()<>\\\[\]`]", lambda sign: "".join(
        f"%{byte:02X}" for byte in sign[0].encode()), address)


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
