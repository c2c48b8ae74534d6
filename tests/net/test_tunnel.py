"""The way out for programs that connect by themselves."""

import asyncio
import socket

import pytest

from claw.core.errors import DeniedError, UnavailableError
from claw.net.tunnel import Tunnel

HELLO = b"\5\1\0"


def name(host, port, command=1):
    raw = host.encode()
    return bytes((5, command, 0, 3, len(raw))) + raw + port.to_bytes(2)


async def find(host, port):
    if host in ("inside.test", "127.0.0.1", "::1"):
        raise DeniedError(f"not fetched: {host}")
    if host == "nobody.test":
        raise OSError(-2, "Name or service not known")
    if host == "broken.test":
        raise UnavailableError("no answer")
    if host == "two.test":
        return ["127.0.0.2", "127.0.0.1"]
    return ["127.0.0.1"]


async def talk(*said, after=b"", until_end=True):
    """What the tunnel answers to these pieces, and the tunnel."""
    async def echo(reader, writer):
        writer.write((await reader.read(100)).upper())
        writer.close()
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    tunnel = Tunnel(find)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", await tunnel.start())
    try:
        for piece in said:
            writer.write(piece(port) if callable(piece) else piece)
            await writer.drain()
        if after:
            await asyncio.sleep(0.1)
            writer.write(after)
        if not until_end:
            return b"", tunnel
        async with asyncio.timeout(5):
            return await reader.read(), tunnel
    finally:
        writer.close()
        await tunnel.close()
        server.close()


def run(*said, **how):
    return asyncio.run(talk(*said, **how))


@pytest.mark.parametrize("host", ["site.test", "two.test"])
def test_bytes_go_both_ways_to_an_address_that_was_found(host):
    got, tunnel = run(HELLO, lambda port: name(host, port), after=b"hello")

    assert got == b"\5\0" + b"\5\0\0\1" + bytes(6) + b"HELLO"
    assert tunnel.refused == []


@pytest.mark.parametrize("asked", [
    name("inside.test", 80), b"\5\1\0\1\x7f\0\0\1\0\x50",
    b"\5\1\0\4" + bytes(15) + b"\1\0\x50"])
def test_what_may_not_be_reached_is_refused_and_told(asked):
    got, tunnel = run(HELLO, asked)

    assert got[2:4] == b"\5\2"
    assert tunnel.refused[0].startswith("not fetched: ")


@pytest.mark.parametrize(("said", "answer"), [
    ([HELLO, name("nobody.test", 80)], b"\5\4"),
    ([HELLO, name("broken.test", 80)], b"\5\4"),
    ([HELLO, name("site.test", 1)], b"\5\4"),
    ([HELLO, name("site.test", 80, command=2)], b"\5\7"),  # bind
    ([HELLO, name("site.test", 80, command=3)], b"\5\7"),  # datagrams
    ([HELLO, b"\5\1\0\x09"], b""),
    ([HELLO, name("", 80)], b"\5\7"),
    ([b"GET / HTTP/1.1\r\n\r\n"], b""),
    ([b"\4\1\0\x50\x7f\0\0\1\0"], b""),
])
def test_what_is_no_request_opens_nothing(said, answer):
    async def hang_up():
        tunnel = Tunnel(find)
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", await tunnel.start())
        for piece in said:
            writer.write(piece)
        writer.write_eof()
        got = await asyncio.wait_for(reader.read(), 5)
        writer.close()
        await tunnel.close()
        return got
    assert asyncio.run(hang_up()).removeprefix(b"\5\0")[:2] == answer


def test_closing_hangs_up_on_everyone():
    async def go():
        tunnel = Tunnel(find)
        port = await tunnel.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HELLO)
        await reader.readexactly(2)
        await tunnel.close()
        left = await asyncio.wait_for(reader.read(), 5)
        writer.close()
        with pytest.raises(OSError), socket.create_connection(
                ("127.0.0.1", port), 1):
            pass
        return left
    assert asyncio.run(go()) == b""


def test_a_page_that_asks_without_end_fills_no_memory():
    tunnel = Tunnel(find)
    for number in range(5000):
        tunnel.note_refusal(str(number))
    assert len(tunnel.refused) == 1000
