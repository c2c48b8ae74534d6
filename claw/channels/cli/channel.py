"""CLI channel: one message a line on stdin, answers on stdout.

With `jsonl` each line is an object, so that another program can talk:

    in   {"content": "...", "id", "sender", "reply_target", "thread_id"}
    out  {"type": "message", "content", "recipient", "thread_id"}
         {"error": {"kind", "message", "hint"}} for a line that is none

Lines with an `id` can be sent again: what was accepted before adds nothing.
`/quit`, `/exit` and the end of input end it. Without jsonl a question with
buttons is answered by a word: y or yes, n or no, always.
"""

import asyncio
import errno
import io
import json
import os
import select
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Annotated, Any, BinaryIO
from uuid import uuid4

import msgspec

from claw.core.abilities import HearsReceives
from claw.core.channel import (
    Channel,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)
from claw.core.errors import UnavailableError
from claw.core.streams import get_stdout
from claw.core.value import replace
from claw.text.segment import clean

MAX_LINE_BYTES = 1 << 20
_READ_BYTES = 64 * 1024
_ENDS = ("/quit", "/exit")
_USER = "user"
_ANSWERS = {"y": "yes", "yes": "yes", "n": "no", "no": "no",
            "always": "always"}
# What a terminal would act on, newline and tab left out.
_ACTED_ON = dict.fromkeys(c for c in (*range(32), *range(0x7F, 0xA0))
                          if c not in (9, 10))

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class CliSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How `claw listen --channel cli` speaks.

    jsonl: one JSON object a line in both directions
    """

    jsonl: bool = False


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of jsonl; other keys are ignored."""

    content: str | None = None
    message: str | None = None
    id: Name | int | None = None
    sender: Name = _USER
    reply_target: Name | None = None
    thread_id: Name | None = None


class BadLine(ValueError):
    """What is wrong with it, for who wrote it."""


class CliChannel(Channel):
    """The terminal, a pipe or a file."""

    name = "cli"
    Settings = CliSettings
    setup = ("Messages are lines of stdin, answers go to stdout. It needs no "
             "settings; `channels_config.cli = false` forbids it.")

    def __init__(self, settings: CliSettings, deps: ChannelDeps, *,
                 stdin: BinaryIO | None = None,
                 stdout: BinaryIO | None = None) -> None:
        self._jsonl = settings.jsonl
        self._log = deps.log
        self._lines = _Lines(stdin or getattr(sys.stdin, "buffer", None))
        self._stdout = stdout or getattr(get_stdout(), "buffer", None)
        self._writing = threading.Lock()
        self._unkept: ChannelMessage | None = None
        # What a word of _ANSWERS does to the question that was sent last.
        self._actions: dict[str, str] = {}

    async def listen(self, inbox: Inbox) -> None:
        """A message that could not be kept is the first of the next
        call."""
        while True:
            if self._unkept is None:
                line = await self._lines.next()
                if line is None or line.strip() in map(str.encode, _ENDS):
                    return
                self._unkept = await self._message(line)
                if self._unkept is None:
                    continue
            await inbox.put(self._unkept)
            self._unkept = None
            if isinstance(inbox, HearsReceives):
                inbox.received()

    async def send(self, message: SendMessage) -> None:
        """Raises UnavailableError when stdout is closed."""
        if not self._jsonl:
            text = clean(message.content)
            self._actions = {
                button.action.rpartition(":")[2]: button.action
                for button in message.buttons}
            if "yes" in self._actions:
                text += "\n" + " / ".join(
                    dict.fromkeys(_ANSWERS[word] for word in _ANSWERS
                                  if _ANSWERS[word] in self._actions)) + "?"
            if _is_terminal(self._stdout):
                text = text.translate(_ACTED_ON)
            await self._write(text)
            return
        await self._write(_json({
            "type": "message", "content": clean(message.content),
            "recipient": message.recipient, "thread_id": message.thread_ts}))

    async def _message(self, line: bytes) -> ChannelMessage | None:
        """The message of a line, None for one that is blank or bad."""
        try:
            found = read_message(line, self._jsonl, time.time())
            return None if found is None else self._read_answer(found)
        except BadLine as error:
            self._log("cli_line_refused", error=str(error))
            if self._jsonl:
                await self._write(_json({"error": {
                    "kind": "usage", "message": str(error),
                    "hint": 'write one {"content": "..."} a line'}}))
            return None

    def _read_answer(self, message: ChannelMessage) -> ChannelMessage:
        """The button that was meant, where a question is open."""
        action = self._actions.get(_ANSWERS.get(message.content.lower(), ""))
        if action is None:
            return message
        self._actions = {}
        return replace(message, kind="action", content=action)

    async def _write(self, text: str) -> None:
        """One line, on a thread of its own: who reads it may be slow, and
        must not hold up the end of the process either."""
        data = text.encode("utf-8", "replace") + b"\n"
        loop = asyncio.get_running_loop()
        written: asyncio.Future[Exception | None] = loop.create_future()

        def tell(error: Exception | None) -> None:
            if not written.done():
                written.set_result(error)

        def write() -> None:
            error: Exception | None = None
            try:
                with self._writing:
                    _write_all(self._stdout, data)
            except (OSError, ValueError) as broken:
                error = broken
            with suppress(RuntimeError):  # the loop is closed by now
                loop.call_soon_threadsafe(tell, error)

        threading.Thread(target=write, daemon=True).start()
        error = await written
        if error is not None:
            raise UnavailableError(
                "stdout is closed: an answer can't be shown",
                hint="nobody reads it any more") from error


def read_message(line: bytes, jsonl: bool, now: float
               ) -> ChannelMessage | None:
    """The message of a line, None for a blank one. Raises BadLine."""
    if len(line) > MAX_LINE_BYTES:
        raise BadLine(f"a line of more than {MAX_LINE_BYTES:,} bytes was "
                      "dropped; write it to a file and name the file")
    text = line.decode("utf-8", "replace").strip("\ufeff \t\r\n\f\v")
    if not text:
        return None
    given = _parse_line(text) if jsonl else Line(content=text)
    content = clean(given.content or given.message or "").strip()
    if not content:
        raise BadLine('"content" is missing or empty')
    sender = clean(given.sender)
    number = "" if given.id is None else clean(str(given.id))
    return ChannelMessage(
        id=number or str(uuid4()), sender=sender,
        reply_target=clean(given.reply_target or sender), content=content,
        channel="cli", timestamp=int(now),
        thread_ts=clean(given.thread_id) if given.thread_id else None)


def _parse_line(text: str) -> Line:
    try:
        return msgspec.convert(json.loads(text), Line)
    except msgspec.ValidationError as error:
        raise BadLine(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise BadLine(f"a line of input is no JSON: {error}") from error


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_terminal(stream: BinaryIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _write_all(stream: BinaryIO | None, data: bytes) -> None:
    """Past the stream's buffer where there is a file: a daemon thread that
    holds its lock would break the end of the process."""
    if stream is None:
        raise ValueError("no stdout")
    stream.flush()
    try:
        number = stream.fileno()
    except io.UnsupportedOperation:  # no file, e.g. in a test
        stream.write(data)
        return
    while data:
        try:
            data = data[os.write(number, data):]
        except BlockingIOError:  # another program made it non-blocking
            select.select((), (number,), ())


class _Lines:
    """Lines of a file, pipe or terminal, as they come.

    A line is longer than MAX_LINE_BYTES where too much came: such a one is
    cut there and its rest dropped.
    """

    def __init__(self, stream: BinaryIO | None) -> None:
        self._stream = stream
        self._ready: deque[bytes] = deque()
        self._partial = bytearray()
        self._ended = False

    async def next(self) -> bytes | None:
        """The next line; None at the end, now and later."""
        while not self._ready:
            if self._ended:
                return None
            data = await self._read()
            self._take(data)
        return self._ready.popleft()

    def _take(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._grow(piece)
            self._ready.append(bytes(self._partial))
            self._partial.clear()
        self._grow(rest)
        if not data:
            self._ended = True
            if self._partial:
                self._ready.append(bytes(self._partial))

    def _grow(self, piece: bytes) -> None:
        self._partial += piece[:MAX_LINE_BYTES + 1 - len(self._partial)]

    async def _read(self) -> bytes:
        """Some bytes; b"" at the end. A pipe or terminal is waited for by
        the loop, so that waiting can be cancelled and no thread is left
        holding stdin; a regular file is always ready."""
        if self._stream is None or self._stream.closed:
            return b""
        try:
            number = self._stream.fileno()
        except io.UnsupportedOperation:  # no file, e.g. in a test
            return self._stream.read(_READ_BYTES)
        while True:
            await _readable(number)
            try:
                return os.read(number, _READ_BYTES)
            except BlockingIOError:  # another reader was faster
                continue
            except OSError as error:
                if error.errno == errno.EIO:  # the terminal is gone
                    return b""
                raise


async def _readable(number: int) -> None:
    """Wait until a read would not block."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(number, ready.set)
    except PermissionError:  # epoll takes no regular files
        return
    try:
        await ready.wait()
    finally:
        loop.remove_reader(number)
