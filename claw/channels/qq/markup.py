"""An answer as plain text and as QQ's Markdown; pure.

What a model writes is read and written anew: no picture that QQ would fetch,
no link but its bare address, and nobody is rung, since <@id> and its kin are
broken by a word joiner. QQ refuses addresses of sites that were not entered
for the bot: `disarm` writes them so that people can still read them.
Source: bot.q.qq.com/wiki, API v2: message/type/markdown, trans/text-chain.
"""

import re
from collections.abc import Collection

from claw.channels.markup import parse_markdown
from claw.channels.rendering import mark_link, render_spans
from claw.channels.spans import Span
from claw.channels.splitting import split_text
from claw.core.value import Value
from claw.text.addresses import find_addresses

TEXT_CHARS = 5000
_ROOM = 4000  # of a piece before signs and addresses are added
_NO_BREAK = "\u2060"  # word joiner: of no width
_RINGS = re.compile(r"<(?=@|#|qqbot-|emoji:|faceType)|@(?=everyone\b)"
                    r"|!(?=\[)", re.I)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.I)
_STYLES = {"bold": "**", "italic": "*", "strikethrough": "~~", "code": "`"}
_QUOTE, _QUOTE_END = "\ue0f0", "\ue0f1"
_HOLDERS = re.compile(f"[{_QUOTE}{_QUOTE_END}]")
_QUOTED = re.compile(f"{_QUOTE}([^{_QUOTE_END}]*){_QUOTE_END}")


class Piece(Value):
    """A piece of an answer in both forms; `markdown` is "" where it would
    say no more than the text, or is too long."""

    text: str
    markdown: str = ""


def split_answer(markdown: str, links: Collection[str] | None = None
                 ) -> list[Piece]:
    """Pieces of at most TEXT_CHARS in each form; [] for a blank text.
    `links` are the only addresses that may be live, None: all."""
    text, spans = parse_markdown(_HOLDERS.sub("", markdown))
    found: list[Piece] = []
    for piece, inside in split_text(text, spans, limit=_ROOM):
        plain = _guard(render_spans(piece, inside, mark_link, str))
        rich = _guard(_quote(render_spans(piece, inside, _mark, str)))
        if links is not None:
            plain, rich = disarm(plain, links), disarm(rich, links)
        pieces = [plain] if len(plain) <= TEXT_CHARS else [
            part for part, _ in split_text(plain, limit=TEXT_CHARS)]
        found += [Piece(part, rich if rich != plain and len(pieces) == 1
                        and len(rich) <= TEXT_CHARS else "")
                  for part in pieces]
    return found


def _mark(span: Span, text: str) -> tuple[str, str]:
    if span.kind == "pre":
        return f"```{span.extra}\n", "\n```"
    if span.kind == "blockquote":
        return _QUOTE, _QUOTE_END
    if span.kind == "text_link":
        return mark_link(span, text)
    sign = _STYLES.get(span.kind, "")
    return sign, sign


def _quote(text: str) -> str:
    return _QUOTED.sub(lambda found: "\n".join(
        f"> {line}" for line in found[1].split("\n")), text)


def _guard(text: str) -> str:
    """Signs that would ring somebody or fetch a picture, broken."""
    return _RINGS.sub(lambda sign: sign[0] + _NO_BREAK, text)


def disarm(text: str, links: Collection[str] = ()) -> str:
    """The text with every address but `links` written so that it is none:
    without its scheme, and with [.] for each dot of its host."""
    parts, at = [], 0
    for start, end in find_addresses(text):
        if start < at or text[start:end] in links:
            continue
        address = _SCHEME.sub("", text[start:end])
        host, slash, rest = address.partition("/")
        parts += [text[at:start], host.replace(".", "[.]"), slash, rest]
        at = end
    return "".join([*parts, text[at:]])


def find_hosts(text: str) -> set[str]:
    """The hosts of its addresses."""
    return {_SCHEME.sub("", text[start:end]).partition("/")[0].lower()
            for start, end in find_addresses(text)}
