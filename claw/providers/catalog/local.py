"""Which model servers run on this machine.

Asks GET /v1/models on the usual ports, all at once, over plain sockets (no
HTTP library is loaded for a question that is mostly refused in no time).
Only an answer that is a list of models counts: 8080 is everybody's port.
"""

import json
import select
import socket
import time
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from claw.core.value import Value

PORTS: tuple[tuple[str, int], ...] = (
    ("ollama", 11434), ("llamacpp", 8080), ("lmstudio", 1234))
LIMIT_S = 0.05
_BYTES = 1024 * 1024
_NAME_CHARS = 1024


class LocalServer(Value):
    """A server that answered, with the models it offers."""

    name: str
    port: int
    models: tuple[str, ...]


def find_local(ports: Sequence[tuple[str, int]] = PORTS,
               limit_s: float = LIMIT_S) -> list[LocalServer]:
    """The servers that answer within the limit, in the order given."""
    asked: dict[socket.socket, tuple[str, int]] = {}
    for name, port in ports:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", port))
        asked[connection] = (name, port)
    try:
        answers = _converse(asked, time.monotonic() + limit_s)
    finally:
        for connection in asked:
            connection.close()
    found = []
    for connection, (name, port) in asked.items():
        models = parse_models(answers.get(connection, b""))
        if models is not None:
            found.append(LocalServer(name, port, tuple(models)))
    return found


def _converse(asked: Mapping[socket.socket, tuple[str, int]],
              until: float) -> dict[socket.socket, bytes]:
    """Send every question and read every answer to its end."""
    waiting = set(asked)
    reading: set[socket.socket] = set()
    answers: dict[socket.socket, bytes] = {}
    while (waiting or reading) and (left := until - time.monotonic()) > 0:
        readable, writable, _ = select.select(reading, waiting, [], left)
        for connection in writable:
            waiting.discard(connection)
            if _send(connection, asked[connection][1]):
                reading.add(connection)
        for connection in readable:
            data = _receive(connection)
            answers[connection] = answers.get(connection, b"") + data
            if not data or is_whole(answers[connection]):
                reading.discard(connection)
    return answers


def _send(connection: socket.socket, port: int) -> bool:
    try:
        connection.sendall(
            b"GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n"
            b"Accept: application/json\r\nConnection: close\r\n\r\n" % port)
    except OSError:
        return False
    return True


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except OSError:
        return b""


def is_whole(answer: bytes) -> bool:
    """Whether all of an HTTP answer with a length is there."""
    head, mark, body = answer.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n") if mark else []:
        if line.startswith(b"content-length:"):
            length = line[15:].strip()
            return length.isdigit() and len(body) >= int(length)
    return len(answer) > _BYTES


def parse_models(answer: bytes) -> list[str] | None:
    """The model names in an HTTP answer; None when it is no model list."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n")[0].split(b" ")
    if len(status) < 2 or not status[0].startswith(b"HTTP/1") \
            or status[1] != b"200":
        return None
    if b"transfer-encoding: chunked" in head.lower():
        body = _unchunked(body)
    try:
        rows = json.loads(body)["data"]
        return [row["id"] for row in rows if is_model_name(row["id"])]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _unchunked(body: bytes) -> bytes:
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        try:
            length = int(size.split(b";")[0], 16)
        except ValueError:
            break
        found, body = found + body[:length], body[length + 2:]
    return found


def is_model_name(value: object) -> TypeGuard[str]:
    """Whether a server's name for a model can be one: printable, neither
    blank nor longer than a path. It is shown, kept and sent back."""
    return (isinstance(value, str) and value.isprintable()
            and 0 < len(value.strip()) <= len(value) <= _NAME_CHARS)


def choose_model(models: Sequence[str]) -> str | None:
    """The first that is not for embeddings."""
    speaking = [m for m in models if "embed" not in m.lower()]
    return next(iter(speaking or models), None)
