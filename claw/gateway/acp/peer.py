"""JSON-RPC 2.0 over lines: requests are answered, and made.

Each request runs in a task of its own, so that a long one (a prompt) holds
up no other. What is no request is answered with an error and forgotten.
"""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec

from claw.core.errors import (
    ClawError,
    NotFoundError,
    UsageError,
    describe,
)
from claw.gateway.acp import wire
from claw.gateway.acp.stdio import MAX_LINE_BYTES, Line
from claw.gateway.acp.wire import Envelope, RpcError

# What takes the params, and the struct that they are.
Handler: TypeAlias = Callable[[Any], Awaitable[dict[str, Any] | None]]
Methods: TypeAlias = Mapping[str, tuple[type[msgspec.Struct], Handler]]
S = TypeVar("S", bound=msgspec.Struct)
_Id: TypeAlias = int | str | None


class Peer:
    """One connection. `write` takes a line, `note` hears of faults."""

    def __init__(self, methods: Methods, write: Callable[[bytes], None],
                 note: Callable[[str], None]) -> None:
        self._methods: Methods = {**methods, "$/cancel_request": (
            wire.CancelRequest, self._cancel)}
        self._write = write
        self._note = note
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: dict[int | str, asyncio.Task[None]] = {}

    def take(self, line: Line) -> None:
        """A line has come."""
        if line is None:
            self._fail(None, RpcError(
                wire.INVALID_REQUEST, "a line is longer than "
                f"{MAX_LINE_BYTES >> 20} MiB: send less at once"))
        elif line.strip():
            try:
                self._take_message(self._parse(line))
            except RpcError as error:
                self._fail(None, error)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    async def ask(self, method: str, params: dict[str, Any]) -> msgspec.Raw:
        """The result of a request to the editor. Raises RpcError."""
        number = next(self._numbers)
        future = self._asked[number] = \
            asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        try:
            result: msgspec.Raw = await future
            return result
        finally:
            del self._asked[number]

    async def drain(self, timeout_s: float) -> None:
        """Wait for the requests that are being answered."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)

    def _parse(self, line: bytes) -> Envelope:
        try:
            found = msgspec.json.decode(_mend(line), type=Envelope)
        except msgspec.ValidationError as error:
            raise RpcError(wire.INVALID_REQUEST,
                           f"no JSON-RPC message: {error}") from error
        except (msgspec.DecodeError, RecursionError,
                UnicodeDecodeError) as error:
            raise RpcError(wire.PARSE_ERROR, f"no JSON: {error}") from error
        if found.jsonrpc != "2.0":
            raise RpcError(wire.INVALID_REQUEST, 'jsonrpc is not "2.0"')
        return found

    def _take_message(self, message: Envelope) -> None:
        if message.method is None:
            self._take_answer(message)
            return
        task = asyncio.ensure_future(self._serve(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if isinstance(number := message.id, int | str):
            self._serving[number] = task
            task.add_done_callback(
                lambda _: self._serving.pop(number, None))

    async def _cancel(self, params: wire.CancelRequest) -> None:
        """The editor has lost interest in an answer."""
        if (task := self._serving.get(params.request_id)) is not None:
            task.cancel()

    def _take_answer(self, message: Envelope) -> None:
        """What the editor says to a request; one that nobody waits for any
        more is passed over."""
        if message.id is msgspec.UNSET:
            raise RpcError(wire.INVALID_REQUEST,
                           "a message needs a method or an id")
        future = self._asked.get(message.id) \
            if isinstance(message.id, int) else None
        if future is None or future.done():
            return
        if bytes(message.error) == b"null":
            future.set_result(message.result)
        else:
            future.set_exception(RpcError(
                wire.INTERNAL_ERROR, bytes(message.error).decode()[:500]))

    async def _serve(self, message: Envelope) -> None:
        """Answer a request, or follow a notification."""
        try:
            result = await self._call(message)
            reply: dict[str, Any] = {"result": result}
        except RpcError as error:
            reply = {"error": error.to_json()}
        except asyncio.CancelledError:
            reply = {"error": {"code": wire.REQUEST_CANCELLED,
                               "message": "the request was cancelled"}}
        if message.id is not msgspec.UNSET:
            self._send({"id": message.id, **reply})

    async def _call(self, message: Envelope) -> dict[str, Any] | None:
        struct, handle = self._find(str(message.method))
        params = _decode(message, struct)
        try:
            return await handle(params)
        except ClawError as error:
            raise translate(error) from error
        except RpcError:
            raise
        except Exception as error:
            # The last stop: one request fails, the process goes on.
            self._note(f"{message.method}: {describe(error)}")
            raise RpcError(wire.INTERNAL_ERROR,
                           f"a fault of claw: {describe(error)}") from error

    def _find(self, method: str) -> tuple[type[msgspec.Struct], Handler]:
        try:
            return self._methods[method]
        except KeyError:
            raise RpcError(wire.METHOD_NOT_FOUND,
                           f"no such method: {method[:100]}") from None

    def _fail(self, number: _Id, error: RpcError) -> None:
        self._note(error.message)
        self._send({"id": number, "error": error.to_json()})

    def _send(self, message: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", **message}
        try:
            line = msgspec.json.encode(message)
        except UnicodeEncodeError:  # half a character, as models write it
            line = json.dumps(message, ensure_ascii=False).encode(
                "utf-8", "replace")
        self._write(line)


def _mend(line: bytes) -> bytes:
    """The line with "?" for half a character (a lone \\ud800), which
    msgspec takes for broken JSON."""
    if b"\\ud" not in line and b"\\uD" not in line:
        return line
    try:
        return json.dumps(json.loads(line), ensure_ascii=False).encode(
            "utf-8", "replace")
    except (ValueError, RecursionError):
        return line


def _decode(message: Envelope, struct: type[S]) -> S:
    """The params of a message. Raises RpcError."""
    try:
        return msgspec.json.decode(message.params, type=struct)
    except (msgspec.MsgspecError, RecursionError,
            UnicodeDecodeError) as error:
        raise RpcError(wire.INVALID_PARAMS,
                       f"{message.method}: {error}") from error


def translate(error: ClawError) -> RpcError:
    """An error of claw's as editors show it."""
    code = {UsageError: wire.INVALID_PARAMS,
            NotFoundError: wire.RESOURCE_NOT_FOUND,
            }.get(type(error), wire.INTERNAL_ERROR)
    return RpcError(code, error.message if error.hint is None
                    else f"{error.message} ({error.hint})",
                    {"kind": error.kind, "hint": error.hint})
