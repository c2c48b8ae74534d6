"""Answers as cards: Markdown in the platform's own, buttons below it. Pure
but for the keys, which are drawn.

A card is what the platform shows Markdown in, and no link of one is
previewed. Signs that are Markdown's stand as HTML entities, so that what a
person reads is what was meant, and nobody is rung by an <at>.
Source: "Card JSON 2.0 structure" and "Rich text (Markdown)".
"""

import html
import json
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from claw.channels.rendering import render_spans, split_rendered
from claw.channels.spans import Span

# A card may have 30 KB; the rest is for its frame and its buttons.
TEXT_BYTES = 26_000
MOST_BUTTONS, LABEL_CHARS = 10, 60
NOTE_BYTES = 64  # kept free, for the mark of one that repeats
_SIGNS = re.compile(r"[&<>*_~`\[\]\\#$]")
_RUN = re.compile("`+")
_AROUND = {"bold": ("**", "**"), "italic": ("*", "*"),
           "strikethrough": ("~~", "~~"), "blockquote": ("> ", "")}


def draw_key(now: float) -> str:
    """A new key of a message: the time of it first, 28 characters (of fifty
    that a uuid may have)."""
    return f"{int(now * 1000):012x}{secrets.token_hex(8)}"


def read_drawn(key: Any) -> float | None:
    """When a key was drawn, in Unix seconds."""
    try:
        return int(key[:12], 16) / 1000 if isinstance(key, str) \
            and len(key) == 28 else None
    except ValueError:
        return None


def element_id(key: Any) -> str:
    """What names the text of a card, so that it is found in a history: a
    letter first, at most twenty characters."""
    return "c" + re.sub("[^0-9a-zA-Z]", "", str(key))[-16:]


def measure(text: str) -> int:
    """Bytes of a text in JSON."""
    return len(json.dumps(text, ensure_ascii=False).encode(
        "utf-8", "replace")) - 2


def split_markdown(markdown: str, links: Collection[str] | None
                   ) -> list[str]:
    """Markdown as pieces of the platform's."""
    return split_rendered(markdown, limit=TEXT_BYTES - NOTE_BYTES,
                          render=render, links=links, length=measure)


def render(text: str, spans: Sequence[Span]) -> str:
    return render_spans(text, spans, _marks, escape)


def escape(text: str) -> str:
    """Text that is shown as it is."""
    return _SIGNS.sub(lambda found: f"&#{ord(found[0])};", text)


def _marks(span: Span, inside: str) -> tuple[str, str]:
    if span.kind in ("code", "pre"):
        ticks = "`" * (1 + max(map(len, _RUN.findall(inside)), default=0))
        if span.kind == "code":
            gap = " " if "`" in inside else ""
            return ticks + gap, gap + ticks
        fence = max(ticks, "```", key=len)
        return f"{fence}{span.extra or ''}\n", f"\n{fence}"
    if span.kind == "text_link":
        return "[", f"]({_escape_address(str(span.extra or ''))})"
    return _AROUND.get(span.kind, ("", ""))


def _escape_address(url: str) -> str:
    return re.sub(r"[\s()<>]", lambda found: "".join(
        f"%{byte:02X}" for byte in found[0].encode()), url)


def text_body(data: Mapping[str, Any], *, bare: bool = False
              ) -> dict[str, Any]:
    """Type, content and key of a text's message; `bare`: without its
    Markdown, which was refused."""
    return {"msg_type": "interactive", "uuid": data["key"],
            "content": json.dumps(make_card(data, bare=bare),
                                  ensure_ascii=False)}


def make_card(data: Mapping[str, Any], *, bare: bool = False
              ) -> dict[str, Any]:
    text = str(data["text"])
    element: dict[str, Any] = {
        "tag": "markdown", "content": escape(text) if data.get("plain")
        else text}
    if bare:
        element = {"tag": "div", "text": {
            "tag": "plain_text",
            "content": text if data.get("plain") else html.unescape(text)}}
    element["element_id"] = element_id(data["key"])
    buttons = data.get("buttons") or ()
    return {"schema": "2.0", "config": {"update_multi": True},
            "body": {"elements": [element, *(_row(buttons)
                                             if buttons else ())]}}


def _row(buttons: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    return [{
        "tag": "column_set", "flex_mode": "flow", "columns": [{
            "tag": "column", "width": "auto", "elements": [{
                "tag": "button", "type": "default",
                "text": {"tag": "plain_text",
                         "content": label[:LABEL_CHARS]},
                "behaviors": [{"type": "callback",
                               "value": {"claw": action}}]}]}
            for label, action in buttons]}]
