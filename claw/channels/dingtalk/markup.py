"""Answers in DingTalk's Markdown; pure.

It knows bold, italic, links, images, quotes, headings and lists, and a line
ends with two blanks. Nothing but http and mail addresses is ever a link: a
dtmd: link writes in the name of who clicks it, so that of a button is the
only one, and no model writes it. An image would be fetched unasked.
Source: open.dingtalk.com/document/development/robot-message-type.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from urllib.parse import quote

from claw.channels.markup import parse_markdown
from claw.channels.rendering import render_spans, split_rendered
from claw.channels.spans import Span
from claw.core.channel import Button
from claw.text.addresses import find_addresses
from claw.text.segment import clean

TITLE_CHARS = 40
_NO_BREAK = "\u2060"  # word joiner: of no width
# Begin and end of a quote, until its lines are known.
_OPEN, _CLOSE = "\ue0f0", "\ue0f1"
_QUOTE = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}(\n(?!\n))?")
_PLACEHOLDERS = re.compile(f"[{_OPEN}{_CLOSE}]")
_LINKS = re.compile(r"https?://|mailto:|(?![a-z][a-z0-9+.-]*:)", re.I)
# Where a link or an image would begin; what follows a text may be a link.
_TARGET = re.compile(r"(?<=\])(?=[(\[])|(?<=!)(?=\[|\Z)")
_TAG = re.compile(r"<(?=[A-Za-z/!])")
# Who draws no code would still fetch what stands in it.
_IN_CODE = re.compile(r"(?<=\])(?=\(\s*<?(?:[a-z][a-z0-9+.-]*:|//))"
                      r"|(?<=<)(?=img\b)", re.I)
_LINE_START = re.compile(r"^(?=[ \t]*[#>])", re.M)
_BREAK = re.compile(r"(?<!\n)\n(?!\n)")
_MARKS = {"bold": "**", "italic": "*"}
_SIGNS = re.compile(r"[*`#>\[\]\u2060]|\(https?://[^\s)]*\)")
_WRITE = "dtmd://dingtalkclient/sendMessage?content="
_PRESSED = re.compile(r"▸ [^\n]{1,60} \(([!-'*-~]{1,64})\)")


def split_markdown(text: str, limit: int,
                   links: Collection[str] | None) -> list[str]:
    """Pieces of at most `limit` bytes. `links` are the only addresses that
    may be links, None: all that lead to a page or to mail."""
    text = _PLACEHOLDERS.sub("", text)
    if links is None:
        plain, spans = parse_markdown(text)
        links = {*(span.extra for span in spans), *(
            plain[start:end] for start, end in find_addresses(plain))}
    return split_rendered(
        text, limit=limit, render=_render, length=count_bytes,
        links=[link for link in links if _LINKS.match(link)])


def count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def escape(text: str) -> str:
    """Text that is no link, no image, no heading and no HTML."""
    text = _TARGET.sub(_NO_BREAK, _TAG.sub(f"<{_NO_BREAK}", text))
    return _BREAK.sub("  \n", _LINE_START.sub(_NO_BREAK, text))


def _render(text: str, spans: Sequence[Span]) -> str:
    shown = render_spans(text, spans, _mark, escape,
                         partial(_IN_CODE.sub, _NO_BREAK))
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
        return f"\n{fence}{span.extra}\n", f"\n{fence}\n"
    if span.kind == "code":
        ticks = "`" * (_longest_run(plain) + 1)
        pad = " " if plain[:1] == "`" or plain[-1:] == "`" else ""
        return ticks + pad, pad + ticks
    mark = _MARKS.get(span.kind, "")
    return mark, mark


def _escape_address(address: str) -> str:
    return re.sub(r"[\s()<>\\\[\]`]", lambda sign: quote(sign[0], safe=""),
                  address)


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def title(text: str) -> str:
    """What a phone shows of a message before it is opened."""
    plain = _SIGNS.sub("", text).strip()
    line = " ".join(plain.partition("\n")[0].split())
    return line[:TITLE_CHARS] or "claw"


# -- buttons: links that write for whoever clicks

def draw_buttons(buttons: Iterable[Button]) -> str:
    """The buttons as links below a text."""
    return "　".join(
        f"[{_label(button)}]({_WRITE}{quote(_say(button), safe='')})"
        for button in buttons if _PRESSED.fullmatch(_say(button)))


def read_button(text: str) -> str | None:
    """The action of a button, where a text is what it wrote."""
    found = _PRESSED.fullmatch(text.strip())
    return found[1] if found else None


def _say(button: Button) -> str:
    return f"▸ {_label(button)} ({button.action})"


def _label(button: Button) -> str:
    plain = re.sub(r"[\[\]()\\`*_<>]", " ", clean(button.label))
    return " ".join(plain.split())[:60] or "?"
