"""Answers in WhatsApp's markup; pure.

*bold*, _italic_, ~strike~, `code`, ```a block```, > a quote. There is no
link with words of its own: its address stands behind them. There is no
escape either, and signs that do not touch words mean nothing.
Source: faq.whatsapp.com, "How to format your messages", read 2026-11.
"""

from collections.abc import Collection, Sequence

from claw.channels.rendering import render_spans, split_rendered
from claw.channels.spans import Span
from claw.channels.splitting import utf16_len

TEXT_UNITS = 4096
_MARKS = {"bold": "*", "italic": "_", "strikethrough": "~"}


def split_markdown(markdown: str, limit: int,
                   links: Collection[str] | None) -> list[str]:
    """Markdown as messages; [] for a blank one. `links` are the only
    addresses that may be live, None: all."""
    return split_rendered(markdown, limit=limit, render=_render, links=links,
                          length=utf16_len)


def _render(text: str, spans: Sequence[Span]) -> str:
    """Quotes are marked line by line."""
    parts: list[str] = []
    at = 0
    for mark in (span for span in spans if span.kind == "blockquote"):
        if mark.start < at:
            continue
        parts.append(_inside(text, spans, at, mark.start))
        inner = _inside(text, spans, mark.start, mark.end)
        parts.append("\n".join(f"> {line}" for line in inner.split("\n")))
        at = mark.end
    return "".join([*parts, _inside(text, spans, at, len(text))])


def _inside(text: str, spans: Sequence[Span], start: int, end: int) -> str:
    return render_spans(text[start:end], [
        span._replace(start=span.start - start, end=span.end - start)
        for span in spans if span.kind != "blockquote"
        and start <= span.start and span.end <= end],
        _mark, lambda words: words,
        lambda code: code.replace("```", "`\u200b``"))


def _mark(span: Span, plain: str) -> tuple[str, str]:
    if span.kind == "pre":
        return "```", "```"
    if span.kind == "code":
        return ("```", "```") if "`" in plain else ("`", "`")
    if span.kind == "text_link":
        return ("", "") if span.extra in (plain, f"mailto:{plain}") \
            else ("", f" ({span.extra})")
    # A sign marks the lines of one paragraph, none that go over several.
    sign = "" if "\n" in plain else _MARKS.get(span.kind, "")
    return sign, sign
