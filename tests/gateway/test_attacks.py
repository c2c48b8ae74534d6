"""What strangers and forgers send to the gateway (reliability.md 2.3)."""

import asyncio
import random

import pytest

from claw.gateway.keys import KeyStore
from tests.gateway.test_app import TOKEN, Log, ask, exchange, request, serving

WHOLE = request("/key", method="POST", token=TOKEN, body=b'{"a": 1}')


def mutate(raw, rng):
    """The request with some bytes changed, doubled, cut or put in."""
    data = bytearray(raw)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(4)
        if how == 0:
            data[at:at + 1] = bytes([rng.randrange(256)])
        elif how == 1:
            del data[at:at + rng.randint(1, 20)]
        elif how == 2:
            data[at:at] = rng.choice(
                [b"\r\n", b"\n", b"\0", b" ", b":", b"\xff" * 9, b"%00",
                 b"../", b"Transfer-Encoding: chunked\r\n",
                 b"Content-Length: 0\r\n", b"Host: evil.example\r\n"])
        else:
            data[at:at] = data[at:at + 40]
    return bytes(data)


def test_no_request_that_is_broken_breaks_the_gateway():
    rng = random.Random(18)
    log, statuses = Log(), []

    async def one(port, raw):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(raw)
            writer.write_eof()
            async with asyncio.timeout(5):
                said = await reader.read()
        except ConnectionError:
            said = b""
        finally:
            writer.close()
        statuses.extend(int(line.split(b" ", 2)[1]) for line in
                        said.split(b"\r\n") if line[:9] == b"HTTP/1.1 ")

    async def go():
        async with serving(log=log, rate_limit_per_minute=0) as (port, *_):
            faults = []
            asyncio.get_running_loop().set_exception_handler(
                lambda loop, context: faults.append(context))
            for _ in range(60):
                await asyncio.gather(*(one(port, mutate(WHOLE, rng))
                                       for _ in range(10)))
            return faults, await exchange(port, WHOLE)
    faults, (status, _, _) = asyncio.run(go())

    assert status == 200
    assert faults == []
    assert [f for e, f in log.lines if e == "gateway.fault"] == []
    assert [s for s in statuses if s >= 500 and s != 501] == []
    assert len(set(statuses)) > 4


@pytest.mark.parametrize("name", [
    "Transfer-Encoding", "Transfer-encoding", "TRANSFER-ENCODING"])
@pytest.mark.parametrize("value", ["chunked", " chunked", "chunked "])
def test_two_lengths_are_refused_however_they_are_written(name, value):
    [(status, _, _)] = ask(request(
        method="POST", body=b"0\r\n\r\n", headers=[(name, value)]))

    assert status == 400


@pytest.mark.parametrize("value", [
    "xchunked", "chunked, identity", "identity", "chunked, chunked",
    "\x0bchunked"])
def test_other_codings_are_refused(value):
    [(status, _, _)] = ask(request(
        method="POST", headers=[("Transfer-Encoding", value)])
        + b"0\r\n\r\n")

    assert status in (400, 501)


@pytest.mark.parametrize("line", [
    b"Content-Length : 5", b"Content-Length: +5", b"Content-Length: 5, 6",
    b"Content-Length: -1", b"Content-Length: 0x5", b" Folded: x",
    b"Bad\0Name: x", b"X: a\rb"])
def test_heads_that_two_servers_could_read_differently_are_refused(line):
    raw = request(method="POST").replace(
        b"\r\n\r\n", b"\r\n" + line + b"\r\n\r\n") + b"hello"
    [(status, _, _)] = ask(raw)

    assert status in (400, 421)


def test_null_bytes_in_a_body_are_text():
    [(status, _, body)] = ask(request(method="POST", body=b"a\0b"))

    assert (status, body["body"]) == (200, "a\0b")


def test_a_rotated_key_is_refused_by_a_connection_that_is_open(tmp_path):
    keys, owner = (KeyStore(tmp_path / "gateway.db") for _ in "ab")
    token = owner.add("laptop")

    async def go():
        async with serving() as (port, _, app):
            app.identify[:] = [lambda call: keys.find(
                call.headers["authorization"].partition(" ")[2])]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            found = []
            for turned in (False, True):
                if turned:
                    owner.rotate("laptop")
                writer.write(request("/key", token=token))
                head = await reader.readuntil(b"\r\n\r\n")
                found.append(int(head.split()[1]))
                size = int(head.lower().partition(b"content-length: ")[2]
                           .split()[0])
                await reader.readexactly(size)
            writer.close()
            return found
    assert asyncio.run(go()) == [200, 401]
    keys.close()
    owner.close()


def test_guessing_tokens_is_counted_and_does_not_lock_the_owner_out():
    async def go():
        async with serving(rate_limit_per_minute=5) as (port, _, _):
            guesses = [(await exchange(port, request(
                "/key", token=f"zc_{n:064x}")))[0] for n in range(7)]
            return guesses, (await exchange(port, request(
                "/key", token=TOKEN)))[0]
    guesses, owner = asyncio.run(go())

    assert guesses == [401] * 5 + [429] * 2
    assert owner == 200


def test_a_rotated_key_gets_no_more_of_a_stream_that_is_open(
        tmp_path, monkeypatch):
    monkeypatch.setattr("claw.gateway.app.LOOK_AGAIN_S", 0.0)
    keys = KeyStore(tmp_path / "gateway.db")
    tokens = [keys.add(name) for name in ("laptop", "phone")]

    async def go():
        async with serving(log=(log := Log())) as (port, _, app):
            app.identify[:] = [lambda asked: keys.find(
                asked.headers["authorization"].partition(" ")[2])]
            streams = [await asyncio.open_connection("127.0.0.1", port)
                       for _ in tokens]
            for (reader, writer), token in zip(streams, tokens, strict=True):
                writer.write(request("/stream", token=token))
                await reader.readuntil(b"data: x")
            keys.rotate("laptop")
            async with asyncio.timeout(5):
                await streams[0][0].read()
                await streams[1][0].readuntil(b"data: x")
            assert not streams[1][0].at_eof()
            for _, writer in streams:
                writer.close()
        return log.lines
    lines = asyncio.run(go())
    keys.close()

    assert [event for event, _ in lines if event == "gateway.fault"] == []
