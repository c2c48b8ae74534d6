"""An answer as it comes, on its way to a client.

One task makes it; whoever leaves the stream ends that task, and with it the
turn and the call of the provider. Pieces that wait are sent as one: a slow
reader gets fewer and longer ones, and soon the maker waits for him.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from typing import Any, Protocol, TypeAlias

from starlette.requests import Request
from starlette.responses import StreamingResponse

from claw.core.provider import ChatResponse
from claw.gateway.endpoint import Refused
from claw.gateway.openai.errors import ApiError, translate

KEEP_ALIVE_S = 15.0
# How long a stream waits for its first piece: an error that comes before
# has a status of its own.
FIRST_S = 5.0
_ROOM_CHARS = 64 * 1024
ALIVE = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Pipe:
    """Text between who makes an answer and who sends it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._chars = 0
        self._changed = asyncio.Event()
        self._room = asyncio.Event()

    def put(self, text: str) -> None:
        self._pieces.append(text)
        self._chars += len(text)
        self._changed.set()

    async def wait_for_room(self) -> None:
        """Returns once the reader has taken most of it."""
        while self._chars > _ROOM_CHARS:
            self._room.clear()
            await self._room.wait()

    def take(self) -> str:
        """All that waits; "" for nothing."""
        text = "".join(self._pieces)
        self._pieces.clear()
        self._chars = 0
        self._changed.clear()
        self._room.set()
        return text

    def wake(self) -> None:
        self._changed.set()

    async def wait(self, seconds: float) -> bool:
        """Whether there is something new, at latest after this time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        return self._changed.is_set()


Work: TypeAlias = Callable[[Pipe], Awaitable[ChatResponse]]
Encode: TypeAlias = Callable[[dict[str, Any]], bytes]
# Pieces of text, "" where nothing came for a while, last the whole answer.
Pieces: TypeAlias = AsyncGenerator[str | ChatResponse]


async def run(work: Work, first_s: float = FIRST_S,
              keep_alive_s: float = KEEP_ALIVE_S) -> Pieces:
    """The answer that the work makes. Raises what the work raises."""
    pipe = Pipe()
    task = asyncio.ensure_future(work(pipe))
    task.add_done_callback(lambda _: pipe.wake())
    wait_s = first_s
    try:
        while True:
            if text := pipe.take():
                yield text
            elif task.done():
                yield task.result()
                return
            else:
                if not await pipe.wait(wait_s):
                    yield ""
            wait_s = keep_alive_s
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # told, or nobody is left to hear it


async def collect(pieces: Pieces, request: Request) -> ChatResponse:
    """The whole answer. Raises Refused where the client left meanwhile,
    and what making it raises."""
    reading = asyncio.ensure_future(_read_last(pieces))
    leaving = asyncio.ensure_future(_wait_until_left(request))
    try:
        await asyncio.wait((reading, leaving),
                           return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            raise Refused(499, "the client left")
        return reading.result()
    finally:
        for task in (reading, leaving):
            task.cancel()
        await asyncio.wait((reading, leaving))


async def _read_last(pieces: Pieces) -> ChatResponse:
    async with aclosing(pieces):
        async for piece in pieces:
            if isinstance(piece, ChatResponse):
                return piece
    raise AssertionError("an answer without an end")


async def _wait_until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Writer(Protocol):
    """Writes one answer as the events of an API."""

    def begin(self) -> Iterable[dict[str, Any]]: ...

    def delta(self, text: str) -> Iterable[dict[str, Any]]: ...

    def end(self, response: ChatResponse) -> Iterable[dict[str, Any]]: ...

    def fail(self, error: ApiError) -> Iterable[dict[str, Any]]: ...


class EventStream(StreamingResponse):
    """Events whose maker is ended when the client leaves, in order."""

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(events, headers=_HEADERS,
                         media_type="text/event-stream")
        self._events = events

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)


async def open_stream(pieces: Pieces, writer: Writer,
                      encode: Encode,
                      note: Callable[[Exception], None],
                      last: bytes = b"") -> EventStream:
    """The stream, once the first piece of it is there, or has to be waited
    for. Raises what making the answer raises before that. `note` hears of
    errors in mid-stream, `last` ends it."""
    try:
        first = await anext(pieces)
    except BaseException:
        await pieces.aclose()
        raise

    async def write() -> AsyncGenerator[bytes]:
        async with aclosing(pieces):
            yield b"".join(map(encode, writer.begin()))
            try:
                piece = first
                while not isinstance(piece, ChatResponse):
                    yield b"".join(map(encode, writer.delta(piece))) \
                        if piece else ALIVE
                    piece = await anext(pieces)
                events = writer.end(piece)
            # A fault too: the client is told that the answer is not whole.
            except Exception as error:
                note(error)
                yield b"".join(map(encode, writer.fail(translate(error))))
            else:
                yield b"".join(map(encode, events)) + last
    return EventStream(write())


def encode_data(event: dict[str, Any]) -> bytes:
    """An event of Chat Completions."""
    return b"data: " + _dump(event) + b"\n\n"


def encode_event(event: dict[str, Any]) -> bytes:
    """An event with its type as its name, as the Responses API has it."""
    return (f"event: {event['type']}\ndata: ".encode() + _dump(event)
            + b"\n\n")


def _dump(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")
                      ).encode("utf-8", "replace")
