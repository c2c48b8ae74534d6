"""Server-sent events: bytes in, events out. Pure.

Source: html.spec.whatwg.org, "Server-sent events", read 2026-11. One
leniency: an event that the end of the stream cut off before its blank line
is still given, since some servers end with "data: [DONE]" and no newline.
"""

import codecs

from claw.core.errors import UnavailableError
from claw.core.value import Value

EVENT_CHARS = 8 * 1024 * 1024


class Event(Value):
    """One event; lines of data are joined with newlines."""

    data: str
    event: str = "message"
    id: str | None = None


class Decoder:
    """Feed it what arrives, cut anywhere. An event of more than
    `event_chars` raises UnavailableError that names `who`."""

    def __init__(self, who: str = "the server",
                 event_chars: int = EVENT_CHARS) -> None:
        self._who = who
        self._limit = event_chars
        self._text = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._after_cr = False
        self._line: list[str] = []
        self._line_chars = 0
        self._data: list[str] = []
        self._data_chars = 0
        self._event = ""
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        return self._take(self._text.decode(chunk))

    def end(self) -> list[Event]:
        """The event that was left open, if it has data."""
        found = self._take(self._text.decode(b"", final=True))
        if self._line:
            self._end_line()
        return [*found, *self._dispatch()]

    def _take(self, text: str) -> list[Event]:
        found: list[Event] = []
        if self._after_cr and text:
            self._after_cr = False
            text = text.removeprefix("\n")
        if text.endswith("\r"):
            self._after_cr = True
        *ended, rest = text.replace("\r\n", "\n").replace(
            "\r", "\n").split("\n")
        for piece in ended:
            self._grow(piece)
            if self._line:
                self._end_line()
            else:
                found += self._dispatch()
        self._grow(rest)
        return found

    def _grow(self, piece: str) -> None:
        if piece:
            self._line.append(piece)
            self._line_chars += len(piece)
        if self._line_chars + self._data_chars > self._limit:
            raise UnavailableError(
                f"{self._who} sent an event of more than "
                f"{self._limit} characters",
                hint="is that the right server? check the base URL")

    def _end_line(self) -> None:
        line, self._line, self._line_chars = "".join(self._line), [], 0
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._data_chars += len(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value

    def _dispatch(self) -> list[Event]:
        data, self._data, self._data_chars = self._data, [], 0
        kind, self._event = self._event, ""
        return [Event("\n".join(data), kind or "message", self._id)] if data \
            else []
