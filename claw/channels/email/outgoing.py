"""An answer as one mail: its part, and its bytes.

The part holds all that makes two sendings the same mail: the Message-ID,
which is drawn here, and where it stands in its thread. Source: RFC 5322,
3834 (automatic answers), 8255 where a reader has no HTML: the text comes
first and is the Markdown as it was written.
"""

import html
import mimetypes
import re
import secrets
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime

from claw.channels.email.envelope import normalise, reply_subject
from claw.channels.email.robots import OURS
from claw.channels.email.threads import Threads
from claw.channels.outfiles import OutFile
from claw.channels.rendering import render_spans, split_rendered
from claw.channels.spans import Span
from claw.core.channel import Part, SendMessage
from claw.core.errors import RequestRefusedError
from claw.core.value import Value
from claw.text.addresses import drop_controls, make_plain
from claw.text.segment import clean

_SUBJECT = re.compile(r"\s*Subject:[ \t]*([^\n]*)(?:\n|$)", re.IGNORECASE)
_MOST_SUBJECT = 200
_MOST_CHARS = 5_000_000
_HTML_CHARS = 200_000  # a longer text goes as text alone
_SCHEMES = ("https://", "http://", "mailto:")
_TAGS = {"bold": "strong", "italic": "em", "strikethrough": "s",
         "underline": "u", "blockquote": "blockquote", "code": "code",
         "pre": "pre"}
# No folding inside: the library would write ids as encoded words.
_LINE_CHARS = 998


class OutMail(Value):
    """A mail that goes out."""

    sender: str
    recipient: str
    message_id: str
    data: bytes
    needs_utf8: bool


def parse_recipient(recipient: str) -> str:
    """The address of a recipient. Raises RequestRefusedError."""
    address = normalise(clean(recipient))
    if address is None:
        raise RequestRefusedError(
            f"{clean(recipient)[:80]!r} is no mail address",
            hint="write to one address, e.g. you@example.org")
    return address


def make_part(message: SendMessage, text: str, files: Sequence[OutFile],
              threads: Threads, own: str, default_subject: str
              ) -> Part | None:
    """The mail of a message; None for one without anything in it."""
    first, body = split_subject(drop_controls(clean(text))[:_MOST_CHARS])
    if message.links is not None:
        body = make_plain(body, message.links)
    problems = [file.text for file in files if not file.path]
    body = "\n\n".join(filter(None, (body.strip("\n"), *problems)))
    sent = [file for file in files if file.path]
    if not body.strip() and not sent:
        return None
    root = clean(message.thread_ts or "")
    thread = threads.find(root, normalise(clean(message.recipient)) or "") \
        if root.startswith("<") else None
    subject = message.subject or (
        reply_subject(thread.subject) if thread and thread.subject
        else first or default_subject)
    return Part("mail", body, {
        "message_id": f"<{OURS}{secrets.token_hex(16)}@"
                      f"{own.rpartition('@')[2] or 'localhost'}>",
        "subject": _one_line(subject)[:_MOST_SUBJECT],
        "references": [_one_line(one) for one in thread.references]
        if thread else [],
        "files": [{"path": file.path, "name": file.name} for file in sent],
        "links": None if message.links is None else list(message.links)})


def split_subject(text: str) -> tuple[str, str]:
    """The subject that a text begins with, and the rest."""
    found = _SUBJECT.match(text)
    return (found[1].strip(), text[found.end():]) if found else ("", text)


def _one_line(text: str) -> str:
    """Without anything that could end a header: the library decodes
    encoded words, newlines and all."""
    return " ".join("".join(
        c if c.isprintable() else " " for c in clean(text)).replace(
            "=?", "= ?").split())


def build(part: Part, recipient: str, own: str,
          files: Sequence[tuple[str, bytes]]) -> OutMail:
    """The bytes of a part; `files` are (name, content)."""
    data = part.data
    needs_utf8 = not f"{recipient}{own}".isascii()
    policy = SMTPUTF8 if needs_utf8 else SMTP
    mail = EmailMessage(policy=policy.clone(cte_type="7bit"))
    mail["From"] = own
    mail["To"] = recipient
    mail["Subject"] = _one_line(str(data.get("subject", "")))
    mail["Date"] = format_datetime(datetime.now(UTC))
    mail["Message-ID"] = str(data["message_id"])
    references = [one for one in map(str, data.get("references") or ())
                  if "=?" not in one]
    if references:
        mail["In-Reply-To"] = references[-1]
        mail["References"] = " ".join(references)
    mail["Auto-Submitted"] = ("auto-replied" if references
                              else "auto-generated")
    mail["X-Auto-Response-Suppress"] = "All"
    mail["X-Loop"] = own
    text = part.text or " "
    mail.set_content(text, charset="utf-8")
    page = render_html(text, data.get("links"))
    if page:
        mail.add_alternative(page, subtype="html", charset="utf-8")
    for name, content in files:
        main, sub = guess_type(name)
        mail.add_attachment(content, maintype=main, subtype=sub,
                            filename=_one_line(name))
    wide = policy.clone(cte_type="7bit", max_line_length=_LINE_CHARS)
    return OutMail(own, recipient, str(data["message_id"]),
                   mail.as_bytes(policy=wide), needs_utf8)


def render_html(markdown: str, links: Collection[str] | None) -> str:
    """The text as a page, nothing in it fetched from anywhere; "" where
    there is no format to show, or too much to read."""
    if len(markdown) > _HTML_CHARS:
        return ""
    pieces = split_rendered(markdown, limit=2**30, render=_render,
                            links=links)
    page = "<br>\n".join(pieces)
    if not re.search(r"<(?!br>)", page):
        return ""
    return (f'<html><body><div style="white-space:pre-wrap">{page}</div>'
            "</body></html>\n")


def _render(text: str, spans: Sequence[Span]) -> str:
    return render_spans(text, spans, _tags, html.escape, html.escape)


def _tags(span: Span, text: str) -> tuple[str, str]:
    url = str(span.extra or "")
    if span.kind == "text_link":
        if not url.lower().startswith(_SCHEMES):
            return "", ""
        return f'<a href="{html.escape(url)}">', "</a>"
    tag = _TAGS.get(span.kind)
    return (f"<{tag}>", f"</{tag}>") if tag else ("", "")


def guess_type(name: str) -> tuple[str, str]:
    """The type and subtype of a file by its name."""
    kind, coding = mimetypes.guess_type(name)
    main, _, sub = (kind or "").partition("/")
    if coding or not sub or main in ("text", "message", "multipart"):
        return "application", "octet-stream"
    return main, sub
