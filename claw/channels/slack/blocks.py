"""How a text looks at Slack: rich text, and the same in mrkdwn. Pure.

Rich text is text and styles as JSON: nothing has to be escaped and nothing
is taken for markup, which mrkdwn can't promise (`2 * 3 * 4`, Korean after a
bold word). The mrkdwn beside it is what notifications and searches show,
and clients that draw no blocks.

A piece has at most 3,900 characters: Slack takes 40,000, but shows no more
than 4,000 of a text unfolded, and blocks with 12,000 in all are refused.
Source: docs.slack.dev/reference/block-kit/blocks/rich-text-block.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from claw.channels.rendering import disarm_spans, render_spans
from claw.channels.slack.reading import escape
from claw.channels.spans import Span, tidy
from claw.core.errors import RequestRefusedError
from claw.text.addresses import find_addresses

TEXT_CHARS = 3_900
VALUE_CHARS, LABEL_CHARS, MOST_BUTTONS = 2_000, 75, 25
_STYLES = {"bold": "bold", "italic": "italic", "strikethrough": "strike",
           "code": "code"}
_OUTER = {"pre": "rich_text_preformatted", "blockquote": "rich_text_quote"}
_SIGNS = {"bold": "*", "italic": "_", "strikethrough": "~", "code": "`",
          "pre": "```\n", "blockquote": "> "}
_RECIPIENT = re.compile(
    r"(#?[\w-]{1,80})(?::([0-9]{1,12}(?:\.[0-9]{1,9})?))?", re.UNICODE)
Block = dict[str, Any]


def parse_recipient(recipient: str, thread_ts: str | None = None
                    ) -> tuple[str, str | None]:
    """Channel and thread of `<channel>` or `<channel>:<thread ts>`. Raises
    RequestRefusedError for what is none."""
    found = _RECIPIENT.fullmatch(recipient.strip())
    if found is None:
        raise RequestRefusedError(
            f"{recipient[:80]!r} is no place of Slack", status=400,
            hint="a channel is C..., G..., D... or #name, a person U...; a "
                 "thread is written <channel>:<ts>")
    return found[1], found[2] or thread_ts or None


def judge_links(text: str, spans: Iterable[Span],
                links: Collection[str] | None) -> list[Span]:
    """The spans of a text in which every address is a link, or code where
    it is none of `links` (None: all may be)."""
    found = list(spans) if links is None else disarm_spans(text, spans, links)
    taken = [s for s in found if s.kind in ("code", "pre", "text_link")]
    for start, end in find_addresses(text):
        address = text[start:end]
        if address.startswith(("http://", "https://")) and not any(
                s.start < end and start < s.end for s in taken):
            found.append(Span("text_link", start, end, address))
    return tidy(text, found)


def to_mrkdwn(text: str, spans: Sequence[Span]) -> str:
    """The text in Slack's own markup."""
    return render_spans(text, spans, _marks, escape, _escape_code)


def _marks(span: Span, inner: str) -> tuple[str, str]:
    if span.kind == "text_link":
        if inner == span.extra:
            return "", ""
        url = escape(span.extra).replace("|", "%7C")
        return f"<{url}|", ">"
    sign = _SIGNS.get(span.kind, "")
    return sign, "" if span.kind == "blockquote" else sign[::-1]


def _escape_code(code: str) -> str:
    return escape(code).replace("`", "ˋ")


def rich_text(text: str, spans: Sequence[Span]) -> Block:
    """The block that shows a text."""
    outer = [span for span in spans if span.kind in _OUTER]
    edges = sorted({0, len(text), *(
        edge for span in outer for edge in (span.start, span.end))})
    elements: list[Block] = []
    for start, end in pairwise(edges):
        kinds = {s.kind for s in outer if s.start <= start and end <= s.end}
        kind = ("rich_text_preformatted" if "pre" in kinds else
                "rich_text_quote" if kinds else "rich_text_section")
        # A block begins on a line of its own.
        if elements and text[start] == "\n":
            start += 1
        if end < len(text) and end > start and text[end - 1] == "\n" \
                and kind == "rich_text_section":
            end -= 1
        if inner := _inline(text, start, end, spans):
            elements.append({"type": kind, "elements": inner})
    return {"type": "rich_text", "elements": elements}


def _inline(text: str, start: int, end: int, spans: Sequence[Span]
            ) -> list[Block]:
    """text[start:end] as elements, each with one style."""
    here = [s for s in spans if s.start < end and s.end > start
            and s.kind not in _OUTER]
    edges = sorted({start, end, *(edge for s in here for edge in (
        s.start, s.end) if start < edge < end)})
    found: list[Block] = []
    for left, right in pairwise(edges):
        inside = [s for s in here if s.start <= left and right <= s.end]
        link = next((s.extra for s in inside if s.kind == "text_link"), "")
        style = {_STYLES[s.kind]: True for s in inside if s.kind in _STYLES}
        element: Block = {"type": "text", "text": text[left:right]}
        if link.startswith(("http://", "https://")):
            element = {"type": "link", "url": link, "text": text[left:right]}
        found.append({**element, "style": style} if style else element)
    return found


def actions(buttons: Iterable[Sequence[str]]) -> Block:
    """The row of buttons under a text."""
    return {"type": "actions", "block_id": "claw", "elements": [
        {"type": "button", "action_id": f"claw_{number}", "value": action,
         "text": {"type": "plain_text", "text": label[:LABEL_CHARS],
                  "emoji": True}}
        for number, (label, action) in enumerate(buttons)]}


def read_spans(data: Mapping[str, Any]) -> list[Span]:
    """The spans as a part keeps them."""
    return [Span(str(kind), int(start), int(end), str(extra))
            for kind, start, end, extra in data.get("spans") or ()]


def section(text: str) -> Block:
    """The mrkdwn as a block, for servers that take no rich text."""
    return {"type": "section", "text": {"type": "mrkdwn",
                                        "text": text[:3_000]}}


