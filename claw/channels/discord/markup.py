"""Markdown as Discord shows it. Pure.

Discord reads Markdown of its own: what is meant as a format is written for
it, everything else that it would take for one is escaped. Addresses stay as
they are. Source: support.discord.com, "Markdown Text 101", read 2026-11.
"""

import re
from collections.abc import Collection, Sequence

from claw.channels.rendering import render_spans, split_rendered
from claw.channels.spans import Span

TEXT_CHARS = 2000
_MARKS = {"bold": "**", "italic": "*", "strikethrough": "~~"}
# An address; signs of formats; what begins a line as a heading, a small
# text, a quote or a list. An underscore inside of a word is one.
_SIGN = re.compile(
    r"(?P<address>https?://[^\s<>`*|]+)"
    r"|[*`]|~~+|\|\|+|(?<![^\W_])_|_(?![^\W_])|\\(?=[^\w\s])"
    r"|<(?![@#]!?\d)|\[(?=[^\]\n]*\]\()"
    r"|^(?P<indent>[ \t]*)(?P<line>#{1,3}|-#|>{1,3}|[-+])(?=\s|$)",
    re.MULTILINE)


def split_markdown(markdown: str, limit: int = TEXT_CHARS,
                   links: Collection[str] | None = None) -> list[str]:
    """Markdown as messages that Discord takes; [] for a blank one. `links`
    are the only addresses that may be live, None: all."""
    return split_rendered(markdown, limit=limit, render=render, links=links)


def render(text: str, spans: Sequence[Span]) -> str:
    """A text and its formats. Quotes are marked line by line."""
    parts: list[str] = []
    at = 0
    for quote in (span for span in spans if span.kind == "blockquote"):
        if quote.start < at:
            continue
        parts.append(_render(text, spans, at, quote.start))
        inner = _render(text, spans, quote.start, quote.end)
        parts.append("\n".join(f"> {line}" for line in inner.split("\n")))
        at = quote.end
    return "".join([*parts, _render(text, spans, at, len(text))])


def _render(text: str, spans: Sequence[Span], start: int, end: int) -> str:
    return render_spans(text[start:end], [
        span._replace(start=span.start - start, end=span.end - start)
        for span in spans if span.kind != "blockquote"
        and start <= span.start and span.end <= end],
        _mark, escape, _escape_code)


def _mark(span: Span, plain: str) -> tuple[str, str]:
    if span.kind == "pre":
        return f"```{span.extra}\n", "\n```"
    if span.kind == "code":
        return ("`` ", " ``") if "`" in plain else ("`", "`")
    if span.kind == "text_link":
        return "[", f"](<{span.extra}>)"
    sign = _MARKS.get(span.kind, "")
    return sign, sign


def escape(text: str) -> str:
    """A text in which nothing is a format. People who copy it copy the
    backslashes too, so there are no more than are needed."""
    return _SIGN.sub(_escape_sign, text)


def _escape_sign(sign: re.Match[str]) -> str:
    if sign["address"]:
        return sign[0]
    if sign["line"]:
        return f"{sign['indent']}\\{sign['line']}"
    return "".join(f"\\{char}" for char in sign[0])


def _escape_code(code: str) -> str:
    """Code that does not end the block it stands in."""
    return code.replace("```", "`\u200b``")
