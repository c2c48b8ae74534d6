"""An answer as the events that deliver it. Pure but for looking where a
file lies.

Text goes first, in pieces whose event stays below 65,536 bytes, then each
file. `data` holds `txn`, the key that the server and the room know the
event by, `at`, when it was drawn, and `body` with perhaps `html`, or `path`,
`name` and `mime` of a file.
"""

import json
import mimetypes
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from claw.channels.matrix.events import KEY
from claw.channels.outfiles import OutFiles
from claw.channels.rendering import render_spans, split_rendered
from claw.channels.spans import Span
from claw.core.channel import Part, SendMessage
from claw.core.value import replace

# Of a body and its HTML. An encrypted event is a third larger, and the
# server adds its own: together they stay below 65,536.
CONTENT_BYTES = 40_000
HTML = "org.matrix.custom.html"
_TAGS = {"bold": "strong", "italic": "em", "strikethrough": "del",
         "code": "code", "blockquote": "blockquote"}
_AROUND_BLOCKS = re.compile("<br>(?=<(?:pre|blockquote)>)|"
                            "(?<=</pre>)<br>|(?<=</blockquote>)<br>")
MSGTYPES = {"image": "m.image", "video": "m.video", "audio": "m.audio",
            "voice": "m.audio"}


def make_parts(message: SendMessage, files: OutFiles, chat: str
               ) -> list[Part]:
    """The events, in order; [] for a blank message without files."""
    text, named = (files.split(message.content, chat) if message.files
                   else (message.content, []))
    parts = text_parts(text, message.links)
    for file in (*named, *files.attached(message.attachments)):
        if file.path:
            parts.append(_part(file.kind, file.text, {
                "path": file.path, "name": file.name}))
        else:  # nothing is fetched: people get the address
            parts += text_parts(file.text, message.links)
    return parts


def text_parts(markdown: str, links: Sequence[str] | None = None
               ) -> list[Part]:
    """A text as parts; [] for a blank one."""
    return [_part("text", body, {"body": body, **(
        {"html": html} if html else {})}) for body, html in map(
            json.loads, split_rendered(
                markdown, limit=CONTENT_BYTES, render=_render_both,
                links=links, length=_count_bytes))]


def _part(kind: str, text: str, data: Mapping[str, Any]) -> Part:
    return Part(kind, text, {"txn": f"claw-{secrets.token_hex(16)}",
                             "at": int(time.time()), **data})


def mark(part: Part, note: str) -> Part:
    """The part with a note in front of what people read of it."""
    data = dict(part.data)
    data["body"] = note + str(data.get("body", "")) if part.kind == "text" \
        else note.strip()
    if "html" in data:
        data["html"] = escape(note, quote=False) + str(data["html"])
    return replace(part, text=note + part.text, data=data)


# -- contents of events

def make_content(data: Mapping[str, Any], msgtype: str = "m.text"
                 ) -> dict[str, Any]:
    """The content of a text. Nobody is mentioned, and no link has a
    preview."""
    content = {"msgtype": msgtype, "body": data["body"], "m.mentions": {},
               "com.beeper.linkpreviews": [], "m.url_previews": []}
    if data.get("html"):
        content |= {"format": HTML, "formatted_body": data["html"]}
    if "txn" in data:
        content[KEY] = data["txn"]
    return content


def make_file_content(part: Part, size_bytes: int) -> dict[str, Any]:
    """The content of a file, but for where it lies."""
    name = str(part.data["name"])
    content = {
        "msgtype": MSGTYPES.get(part.kind, "m.file"),
        "body": str(part.data.get("body") or name), "filename": name,
        "info": {"mimetype": guess_type(name), "size": size_bytes},
        "m.mentions": {}, KEY: part.data["txn"]}
    if part.kind == "voice":
        content |= {"org.matrix.msc3245.voice": {},
                    "org.matrix.msc1767.audio": {}}
    return content


def guess_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def in_thread(content: dict[str, Any], thread_ts: str | None
              ) -> dict[str, Any]:
    """The content as it stands in a thread. Clients that know no threads
    show an answer to its root."""
    if not thread_ts or not thread_ts.startswith("$"):
        return content
    return {**content, "m.relates_to": {
        "rel_type": "m.thread", "event_id": thread_ts,
        "is_falling_back": True, "m.in_reply_to": {"event_id": thread_ts}}}


def make_edit(event_id: str, content: dict[str, Any]) -> dict[str, Any]:
    """The content that takes the place of an event's."""
    return {**content, "body": f"* {content['body']}",
            "m.new_content": content, "m.relates_to": {
                "rel_type": "m.replace", "event_id": event_id}}


# -- HTML

def _render_both(text: str, spans: Sequence[Span]) -> str:
    """Body and HTML as JSON: what a piece weighs is both. A text without
    formats has no HTML."""
    return json.dumps([text, render_html(text, spans) if spans else ""],
                      ensure_ascii=False)


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def render_html(text: str, spans: Sequence[Span]) -> str:
    """The text as HTML; a block ends its line by itself."""
    return _AROUND_BLOCKS.sub("", render_spans(
        text, spans, _tag, lambda words: escape(words, quote=False).replace(
            "\n", "<br>"), lambda code: escape(code, quote=False)))


def _tag(span: Span, _: str) -> tuple[str, str]:
    if span.kind == "text_link":
        return f'<a href="{escape(span.extra)}">', "</a>"
    if span.kind == "pre":
        language = (f' class="language-{escape(span.extra)}"' if span.extra
                    else "")
        return f"<pre><code{language}>", "</code></pre>"
    name = _TAGS.get(span.kind, "span")
    return f"<{name}>", f"</{name}>"
