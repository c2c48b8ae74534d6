"""Plain HTTP to this machine, against raw bytes from a real socket."""

import asyncio
import threading
import time
from contextlib import aclosing, contextmanager
from socket import SHUT_RDWR, create_server

import pytest

from claw.net.carrier import (
    BadHeader,
    ConnectError,
    InvalidURL,
    ReadError,
    ReadTimeout,
    RemoteProtocolError,
    Request,
    WireFailure,
)
from claw.net.loopback import Loopback, read_url

OK = b"HTTP/1.1 200 OK\r\n"


def _is_whole(request):
    head, end, body = request.partition(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r")
    return bool(end) and len(body) >= int(length[0] or 0)


@contextmanager
def server(answer, *, wait=None):
    """Answers one request with these bytes and closes; yields its port and
    what it was sent."""
    listening = create_server(("127.0.0.1", 0))
    got = bytearray()

    def serve():
        peer, _ = listening.accept()
        with peer:
            while not _is_whole(bytes(got)):
                got.extend(peer.recv(65536))
            if wait is not None:
                wait.wait(10)
            peer.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1], got
    finally:
        if wait is not None:
            wait.set()
        thread.join()
        listening.close()


@contextmanager
def patient_server(*, close_after=100,
                   answer=OK + b"Content-Length: 2\r\n\r\nhi"):
    """Answers many requests on a connection, closes it after so many;
    yields its port and the number of connections it has seen."""
    listening = create_server(("127.0.0.1", 0))
    seen = []

    def talk(peer):
        with peer:
            for _ in range(close_after):
                got = b""
                while not _is_whole(got):
                    data = peer.recv(65536)
                    if not data:
                        return
                    got += data
                peer.sendall(answer)

    def serve():
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                return
            seen.append(peer)
            threading.Thread(target=talk, args=(peer,)).start()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1], seen
    finally:
        listening.shutdown(SHUT_RDWR)
        listening.close()
        thread.join()


async def ask_for(client, port, method="GET", path="/", *, timeout_s=5.0,
                  content=None, headers=None):
    """A whole answer: what came of it, and its body."""
    response = await client.send(Request(
        method, f"http://127.0.0.1:{port}{path}", headers or {}, content,
        timeout_s, timeout_s))
    try:
        return response, b"".join([c async for c in response.chunks()])
    finally:
        await response.aclose()


def get_many(port, count, *, wait_s=0.0):
    async def ask():
        async with aclosing(Loopback()) as client:
            texts = []
            for _ in range(count):
                texts.append((await ask_for(client, port))[1])
                await asyncio.sleep(wait_s)
            return texts
    return asyncio.run(ask())


def test_a_connection_carries_many_requests():
    with patient_server() as (port, seen):
        assert get_many(port, 20) == [b"hi"] * 20

    assert len(seen) == 1


def test_a_connection_that_the_server_closed_is_not_used_again():
    with patient_server(close_after=2) as (port, seen):
        assert get_many(port, 6, wait_s=0.02) == [b"hi"] * 6

    assert len(seen) == 3


def test_a_server_that_hung_up_while_nobody_looked_is_seen_to_have():
    """llama.cpp ends a connection behind each stream and does not say so;
    the next request is made before the loop has read that."""
    async def ask(port):
        async with aclosing(Loopback()) as client:
            for _ in range(3):
                assert (await ask_for(client, port, "POST"))[1] == b"hi"
                time.sleep(0.02)  # noqa: ASYNC251 (the loop is to stand)

    with patient_server(close_after=1) as (port, seen):
        asyncio.run(ask(port))

    assert len(seen) == 3


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"6\r\n[DONE]\r\n"


@pytest.mark.parametrize(("ending", "connections"), [
    (b"0\r\n\r\n", 1),  # the end has come with the last event
    (b"3\r\nmor", 3),  # more is to come: it would be taken for an answer
])
def test_a_stream_left_at_its_last_event_gives_its_connection_back(
        ending, connections):
    async def ask(port):
        async with aclosing(Loopback()) as client:
            for _ in range(3):
                answer = await client.send(Request(
                    "GET", f"http://127.0.0.1:{port}/", {}))
                async with aclosing(answer.chunks()) as chunks:
                    assert await anext(chunks) == b"[DONE]"
                await answer.aclose()

    with patient_server(answer=CHUNKED + LAST + ending) as (port, seen):
        asyncio.run(ask(port))

    assert len(seen) == connections


def test_an_idle_connection_is_left_alone_after_a_while(monkeypatch):
    monkeypatch.setattr("claw.net.loopback.IDLE_S", 0.01)
    with patient_server() as (port, seen):
        assert get_many(port, 3, wait_s=0.05) == [b"hi"] * 3

    assert len(seen) == 3


def test_a_closed_client_keeps_no_connection():
    async def ask(port):
        client = Loopback()
        answer = await client.send(Request(
            "GET", f"http://127.0.0.1:{port}/", {}))
        await client.aclose()
        assert [c async for c in answer.chunks()] == [b"hi"]
        await answer.aclose()
        return client._idle

    with patient_server() as (port, _):
        assert not any(asyncio.run(ask(port)).values())


def test_a_request_that_fails_on_a_used_connection_is_not_sent_again():
    requests = []

    async def ask(port):
        async with aclosing(Loopback()) as client:
            await ask_for(client, port)
            with pytest.raises(WireFailure):
                await ask_for(client, port, "POST", "/send")

    async def serve(reader, writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            requests.append(head.split(b" ", 1)[0])
            if requests[-1] == b"POST":
                writer.transport.abort()
                return
            writer.write(OK + b"Content-Length: 0\r\n\r\n")

    async def both():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            await ask(server.sockets[0].getsockname()[1])
    asyncio.run(both())

    assert requests == [b"GET", b"POST"]


def get(port, **asked):
    async def ask():
        async with aclosing(Loopback()) as client:
            return await ask_for(client, port, path="/a?b=c", **asked)
    return asyncio.run(ask())


@pytest.mark.parametrize("answer", [
    OK + b"Content-Length: 5\r\n\r\nhello",
    OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    OK + b"\r\nhello",
    b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
    b"HTTP/1.0 200 OK\r\n\r\nhello",
])
def test_bodies_of_every_form(answer):
    with server(answer) as (port, _):
        response, body = get(port)

    assert (response.status, body) == (200, b"hello")


def test_request_goes_out_as_it_is():
    with server(OK + b"Content-Length: 0\r\n\r\n") as (port, got):
        get(port, method="POST", content=b'{"x": 1}')

    assert got.startswith(b"POST /a?b=c HTTP/1.1\r\n")
    assert b"content-length: 8" in got.lower()
    assert got.endswith(b'{"x": 1}')


@pytest.mark.parametrize("answer", [
    b"",
    b"nonsense\r\n\r\n",
    OK + b"Content-Length: 50\r\n\r\nhello",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
    OK + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
])
def test_a_broken_answer_is_an_error(answer):
    with server(answer) as (port, _), \
            pytest.raises((RemoteProtocolError, ReadError)):
        get(port)


def test_nobody_listens():
    with create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    with pytest.raises(ConnectError):
        get(port)


def test_silence_is_a_timeout():
    with server(OK, wait=threading.Event()) as (port, _), \
            pytest.raises(ReadTimeout):
        get(port, timeout_s=0.2)


@pytest.mark.each(("url", "target", "authority", "login"), [
    ("http://127.0.0.1:8080/v1/x?a=b%20c", "/v1/x?a=b%20c",
     "127.0.0.1:8080", None),
    ("http://localhost", "/", "localhost", None),
    ("http://[::1]:9/ü q", "/%C3%BC%20q", "[::1]:9", None),
    ("http://me:p%40ss@127.0.0.1/", "/", "127.0.0.1",
     "Basic bWU6cEBzcw=="),
])
def test_where_an_address_leads(url, target, authority, login):
    place = read_url(url)

    assert (place.target, place.authority, place.login) == (
        target, authority, login)


@pytest.mark.each("url", ["http://127.0.0.1:99999999/", "http://[::1/",
                          "http://127.0.0.1/a\x00b"])
def test_what_is_no_address(url):
    with pytest.raises(InvalidURL):
        read_url(url)


@pytest.mark.each(("name", "value"), [
    ("x-a", "b\r\nx-evil: 1"), ("x-a", "클로"), ("x a", "b"), ("", "b"),
    ("x-a\r\nx-evil", "b"), ("x-a", "b\0c")])
def test_a_header_never_becomes_two(name, value):
    with patient_server() as (port, seen), pytest.raises(BadHeader):
        get(port, headers={name: value})

    assert seen == []


def test_what_comes_behind_an_answer_is_never_taken_for_the_next():
    behind = OK + b"Content-Length: 4\r\n\r\nevil"
    with patient_server(answer=OK + b"Content-Length: 2\r\n\r\nhi"
                        + behind) as (port, seen):
        assert get_many(port, 3, wait_s=0.02) == [b"hi"] * 3

    assert len(seen) == 3
