"""Whose words a mail holds: its writer's, and those it quotes or forwards.

Pure. An answer is written above, between or below what it answers. What
stands below is history; between, it is needed to understand the answer.
"""

import re

from claw.channels.answers import is_answer, parse_reply
from claw.core.value import Value
from claw.text.html import tidy, title_and_text

MOST_CHARS = 100_000
_WROTE = (r"wrote|writes|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|"
          r"skrev|napisał\(?a?\)?|napsal\(?a?\)?|написал\(?а?\)?|пишет|写道|寫道|"
          r"のメール|님이 작성")
# "On 1 May, A wrote:", on one line or broken over two or three.
_ATTRIBUTION = re.compile(
    rf"(?!>)[^\n]{{0,200}}(?:\n(?![>\n])[^\n]{{0,200}}){{0,2}}(?:{_WROTE})"
    r"[^\n]{0,100}[:：]?[ \t]{0,20}$", re.IGNORECASE)
_OPENING = re.compile(r"(?:On|Am|Le|El|Il|Em|Op|Den|Dne|W dniu|\d|[^\n]*<)",
                      re.IGNORECASE)
_RULE = re.compile(
    r"^(?:[-_ ]*(?:Original Message|Ursprüngliche Nachricht|Message d'origine|"
    r"Mensaje original|Messaggio originale|Oorspronkelijk bericht|"
    r"Исходное сообщение|原始邮件)[-_ ]*+)[ \t]*+$",
    re.IGNORECASE | re.MULTILINE)
_FORWARD = re.compile(
    r"^[-_ ]*(?:Forwarded message|Weitergeleitete Nachricht|"
    r"Begin forwarded message:?|Message transféré|Mensaje reenviado|"
    r"Messaggio inoltrato|Doorgestuurd bericht|Пересылаемое сообщение|"
    r"转发的邮件|転送メッセージ)[-_ ]*+:?[ \t]*+$",
    re.IGNORECASE | re.MULTILINE)
_FORWARDED_SUBJECT = re.compile(r"(?:fwd?|wg|tr|rv|i|enc|doorst|пер)\s*:",
                                re.IGNORECASE)
_HEADERS = re.compile(
    r"^(?:_{20,}[ \t]*\n+)?\*?(?:From|Von|De|Da|Van|Från|Fra|Od|Kimden|От|Від|"
    r"Lähettäjä|Feladó|Από|发件人|寄件者|差出人|보낸 사람)\*?\s?[:：][^\n]+\n"
    r"(?:\*?[^\n:：]{2,20}\*?\s?[:：][^\n]*\n){1,6}", re.MULTILINE)
_SIGNATURE = re.compile(r"^-- ?$", re.MULTILINE)
_HTML_QUOTE = re.compile(
    r"""<(?:blockquote\b|(?:div|p|span|hr)\b[^<>]{0,300}?(?:gmail_quote|"""
    r"""moz-cite-prefix|divRplyFwdMsg|appendonsend|yahoo_quoted|"""
    r"""protonmail_quote|mail-editor-reference))""", re.IGNORECASE)
_HTML_LINES = re.compile(
    r"<(?=/?(?:p|div|br|tr|li|h[1-6]|blockquote|pre|table|hr)\b)",
    re.IGNORECASE)
_HTML_BLANKS = re.compile(r"(?<![ \t\r\f])[ \t\r\f]*+\n[ \t\r\f\n]*+")


class Words(Value):
    """What a mail says. `own` are its writer's words, `foreign` those
    below (or around) them, `label` what they are: "quoted", "forwarded" or
    "". `mixed`: the answers stand between quotes, all in `own`."""

    own: str
    foreign: str = ""
    label: str = ""
    mixed: bool = False


def read_html(page: str) -> Words:
    """Of a page, by its marks and by its text."""
    page = page[:20 * MOST_CHARS]
    quote = _HTML_QUOTE.search(page)
    at = quote.start() if quote else len(page)
    words = read_plain(_page_text(page[:at]))
    below = _page_text(page[at:]) if quote else ""
    if not below:
        return words
    return Words(words.own, "\n".join(filter(None, (words.foreign, below))),
                 words.label or "quoted", words.mixed)


def _page_text(page: str) -> str:
    page = _HTML_LINES.sub("\n<", _HTML_BLANKS.sub(" ", page))
    return tidy(title_and_text(page, MOST_CHARS)[1])


def read_plain(text: str) -> Words:
    """Of a text."""
    text = text[:MOST_CHARS].strip("\n")
    forward = _FORWARD.search(text)
    starts = [found.start() for found in (forward, _RULE.search(text),
                                          _find_headers(text)) if found]
    at = min(starts, default=len(text))
    head, tail = text[:at], text[at:].strip()
    label = "" if not tail else (
        "forwarded" if forward and forward.start() == at else "quoted")
    own, below = _cut_quote(head)
    mixed = any(line.startswith(">") for line in own.split("\n"))
    foreign = "\n".join(filter(None, (below, tail)))
    signature = _SIGNATURE.search(own)
    if signature and not mixed:
        own = own[:signature.start()]
    return Words(own.strip(), foreign, label or ("quoted" if below else ""),
                 mixed)


def _find_headers(text: str) -> re.Match[str] | None:
    """Where headers of a mail are quoted. "From: Paris, To: Rome" is a
    wish: an address is among them, or there are four."""
    return next((found for found in _HEADERS.finditer(text)
                 if "@" in found[0] or found[0].count(":") > 3), None)


def _cut_quote(text: str) -> tuple[str, str]:
    """The text without the quote at its end, and that quote with the line
    that says whose it is."""
    lines = text.rstrip().split("\n")
    signature = next((n for n, line in enumerate(lines)
                      if line.rstrip() == "--"), len(lines))
    end = len(lines)
    if signature < len(lines) and not any(
            line.startswith(">") for line in lines[signature:]):
        end = signature  # below the quote
    first = end
    while first and (not lines[first - 1].strip()
                     or lines[first - 1].startswith(">")):
        first -= 1
    if not any(line.startswith(">") for line in lines[first:end]):
        return text, ""
    while first and not lines[first - 1].strip():
        first -= 1
    for size in (3, 2, 1):
        above = first - size
        line = "\n".join(lines[max(above, 0):first])
        if above >= 0 and _ATTRIBUTION.fullmatch(line) and (
                size == 1 or _OPENING.match(line)):
            first = above
            break
    return ("\n".join([*lines[:first], *lines[end:]]),
            "\n".join(lines[first:end]).strip("\n"))


def is_forwarded(subject: str) -> bool:
    return _FORWARDED_SUBJECT.match(subject) is not None


def find_command(own: str) -> str | None:
    """What a mail orders ("/stop") or answers to a question ("yes k7m3p"),
    which is its first line that is its writer's own; a whole text for what
    takes one. None where that is neither."""
    lines = [line for line in own.split("\n")
             if not line.startswith(">") and not _ATTRIBUTION.fullmatch(line)]
    text = "\n".join(lines).strip()
    if parse_reply(text) is not None or text.lower().startswith("/reply"):
        return text
    first = text.split("\n", 1)[0].strip()
    return first if first.startswith("/") or is_answer(first) else None
