"""An answer as lines, and each of them on its way.

A part is one line, so that a line is what is repeated or found after a crash.
It counts as sent once the server has shown it to us (echo-message) or has
answered the PING behind it.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from claw.channels.irc.line import Line, strip_controls, write_line
from claw.channels.irc.people import AwayError, People
from claw.channels.irc.session import Session
from claw.channels.markers import parse_markers
from claw.channels.markup import parse_markdown
from claw.channels.rendering import render_spans
from claw.channels.spans import Span
from claw.channels.splitting import split_text
from claw.core.channel import Part, SendMessage
from claw.core.errors import (
    ClawError,
    RateLimitedError,
    RequestRefusedError,
)
from claw.text.addresses import find_addresses
from claw.text.segment import clean

NOTE_BYTES = 32  # kept free in a line, for the mark of one that repeats
# 512 less the line's end and the longest address that is usual:
# ":nick!user@host PRIVMSG target :" with 30, 11, 63 and 64 bytes
LINE_BYTES = 512 - 2 - 30 - 11 - 63 - 13 - 64 - NOTE_BYTES
_REFUSED = ("401", "402", "403", "404", "407", "411", "412", "413", "414",
            "415", "416", "417", "447", "461", "477", "482", "486", "487",
            "488", "489", "492", "494", "531", "716")
# IRC clients keep what begins with "/" to themselves (see intake.py).
_COMMAND = re.compile(r"(?<![^\s(])/(?=[a-z]+ )")
_SLOWLY = ("263", "439")
_WAIT_S = 30.0


def make_parts(message: SendMessage) -> list[Part]:
    """The lines of a message, in order."""
    text, markers = (parse_markers(message.content) if message.files
                     else (message.content, []))
    named = [(m.kind, m.target) for m in markers]
    named += [("document", file.file_name or file.path)
              for file in message.attachments]
    if message.buttons:  # the last line says what can be written instead
        above, end, last = text.rpartition("\n")
        text = above + end + _COMMAND.sub("!", last)
    lines = [*_lines(text), *(_describe(kind, target)
                              for kind, target in named)]
    if message.links is not None:
        lines = [_disarm(line, message.links) for line in lines]
    return [Part("text", piece) for line in lines
            for piece in split_line(line, LINE_BYTES)]


def _lines(markdown: str) -> Iterator[str]:
    """What a person reads, without marks; code keeps its signs and a link
    its address."""
    text, spans = parse_markdown(clean(markdown))
    whole = render_spans(text, spans, _mark, str).replace("\t", "    ")
    for line in whole.split("\n"):
        if line.strip():
            yield strip_controls(line).rstrip()


def _mark(span: Span, text: str) -> tuple[str, str]:
    if span.kind == "code":
        return "`", "`"
    return "", (f" ({span.extra})" if span.kind == "text_link"
                and span.extra != text else "")


def _describe(kind: str, target: str) -> str:
    if target.startswith(("http://", "https://")):
        return f"{kind.capitalize()}: {target}"
    name = strip_controls(PurePosixPath(target).name)
    return f"({kind.capitalize()} {name}: IRC can't carry files)"


def _disarm(line: str, links: tuple[str, ...]) -> str:
    """The line with nothing that a client or a bot would fetch, but for
    `links`."""
    for start, end in reversed(find_addresses(line)):
        address = line[start:end]
        if address not in links:
            line = (line[:start] + re.sub(r"(?<=\w)\.(?=\w)", "[.]", address)
                    .replace("://", "[:]//") + line[end:])
    return line


def split_line(line: str, limit: int) -> list[str]:
    """A line in pieces of so many bytes; one of code keeps its
    indentation."""
    code = [Span("pre", 0, len(line))] if line[:1] == " " else []
    return [piece for piece, _ in split_text(line, code, limit=limit,
                                             length=_count_bytes)]


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


async def send_line(session: Session, people: People, recipient: str,
                    text: str, leaving: Callable[[], None]) -> str | None:
    """Send a part; the server's id of it, where it gives one. Raises
    AwayError, RequestRefusedError, RateLimitedError, UnavailableError."""
    target = await people.find(session, recipient)
    if session.is_channel(target.lstrip("@+%~")):
        await _enter(session, target)
    waits = recipient != target or not people.has_accounts(session)
    found: str | None = None
    for piece in split_line(text, session.room(target)):
        found = await _send_piece(session, target, piece, leaving,
                                  waits=waits)
    return found


async def _enter(session: Session, target: str) -> None:
    """Be in the channel; many take nothing from outside. Where we can't
    come in now, though we should, a message waits."""
    channel = target.lstrip("@+%~")
    entry = session.find_entry(channel)
    if session.fold(channel) not in session.joined:
        await session.join(entry or channel)
    if entry and session.fold(channel) not in session.joined:
        raise AwayError(f"the bot is not in {channel}",
                        hint="it is sent once the bot may join")


async def _send_piece(session: Session, target: str, text: str,
                      leaving: Callable[[], None], *, waits: bool
                      ) -> str | None:
    key = session.fold(target)

    def is_echo(line: Line) -> bool:
        return (line.command == "PRIVMSG" and session.is_ours(line)
                and session.fold(line.param(0)) == key)

    def is_refusal(line: Line) -> bool:
        return ((line.command in (*_REFUSED, *_SLOWLY)
                 and key in map(session.fold, line.params[1:-1]))
                or (line.command == "FAIL" and line.param(0) == "PRIVMSG"))

    def is_end(line: Line) -> bool:
        return is_echo(line) or is_refusal(line)

    echoes = "echo-message" in session.caps
    found = await session.ask(
        write_line("PRIVMSG", target, text), takes=is_end,
        ends=is_end if echoes else None, leaving=leaving)
    for line in found:
        if is_refusal(line):
            raise _explain(line, target, is_channel=session.is_channel(
                target.lstrip("@+%~")), waits=waits)
    if echoes and not found:
        raise RequestRefusedError(
            f"the server took a line to {target} and showed it to nobody",
            hint="a filter of the server or of the channel is in the way")
    return found[0].tags.get("msgid") if found else None


def _explain(line: Line, target: str, *, is_channel: bool, waits: bool
             ) -> ClawError:
    """What a refusal means for a message: gone, or later again."""
    words = f"{target}: {strip_controls(line.last)[:200]} ({line.command})"
    if line.command in _SLOWLY:
        return RateLimitedError(words, retry_after_s=_WAIT_S)
    if line.command == "401" and not is_channel and waits:
        return AwayError(words, hint="it is sent when they are back")
    return RequestRefusedError(words, hint=(
        "may the bot speak in that channel?" if is_channel else
        "is that nick right? See: /whois in an IRC client"))
