"""WebSockets: frames, silence, ends, and what is told of them."""

import asyncio
import socket as sockets

import pytest

from claw.core.errors import AuthError, ConfigError, UnavailableError
from claw.net.errors import Peer
from claw.net.websocket import SocketClosedError, connect
from claw.testing.contracts.stage import until
from claw.testing.fake_sockets import SocketServer

PEER = Peer("Chat", secrets=("canary-of-the-token",),
            key_hint="set the token")


async def echo(connection):
    async for frame in connection:
        if frame == "leave":
            await connection.close(4004, "bad canary-of-the-token")
        else:
            await connection.send(frame)


@pytest.fixture
def server():
    found = SocketServer(echo)
    found.start()
    yield found
    found.stop()


def test_frames_go_both_ways(server):
    async def work():
        async with connect(server.url, PEER) as socket:
            await socket.send("안녕")
            await socket.send(b"\0\xff")
            return await socket.receive(), await socket.receive()

    assert asyncio.run(work()) == ("안녕", b"\0\xff")


def test_a_close_tells_its_code_without_secrets(server):
    async def work():
        async with connect(server.url, PEER) as socket:
            await socket.send("leave")
            await socket.receive(5)

    with pytest.raises(SocketClosedError) as caught:
        asyncio.run(work())
    assert caught.value.code == 4004
    assert "canary" not in f"{caught.value} {caught.value.reason}"


def test_a_cut_has_no_code(server):
    async def work():
        async with connect(server.url, PEER) as socket:
            await until(server.kill_connections)
            await socket.receive(5)

    with pytest.raises(SocketClosedError) as caught:
        asyncio.run(work())
    assert caught.value.code is None


def test_silence_is_an_error_after_its_time(server):
    async def work():
        async with connect(server.url, PEER) as socket:
            await socket.receive(0.05)

    with pytest.raises(UnavailableError, match="said nothing"):
        asyncio.run(work())


def test_pongs_are_heard_and_a_missing_one_ends_the_connection():
    """A half-open connection: the other side takes bytes and answers
    nothing."""
    async def work(url, heard):
        async with connect(url, PEER, ping_s=0.05,
                           heard=lambda: heard.append(1)) as socket:
            await socket.receive(5)

    heard = []
    dead = SocketServer(lambda connection: hold(connection, heard))
    dead.start()
    try:
        with pytest.raises(SocketClosedError, match="no ping"):
            asyncio.run(work(dead.url, heard))
    finally:
        dead.stop()
    assert heard


async def hold(connection, heard):
    await until(lambda: heard)
    connection.transport.pause_reading()
    await asyncio.sleep(3)


@pytest.mark.parametrize(("status", "kind"), [
    (401, AuthError), (503, UnavailableError), (302, UnavailableError)])
def test_a_refused_handshake_is_the_error_of_its_status(status, kind):
    refusing = SocketServer(echo, refuse=lambda _: status)
    refusing.start()

    async def work():
        async with connect(refusing.url, PEER):
            pass

    try:
        with pytest.raises(kind):
            asyncio.run(work())
    finally:
        refusing.stop()


def test_nobody_there_and_no_address_and_no_proxy(server):
    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def work(url, **options):
        async with connect(url, PEER, **options):
            pass

    with pytest.raises(UnavailableError, match="could not reach"):
        asyncio.run(work(f"ws://127.0.0.1:{port}"))
    with pytest.raises(UnavailableError):
        asyncio.run(work("ftp://127.0.0.1"))
    with pytest.raises(ConfigError) as caught:
        asyncio.run(work(server.url, proxy_url="nonsense://me:secret@x"))
    assert "secret" not in str(caught.value)


def test_a_cancelled_wait_leaves_nothing(server):
    async def work():
        async def wait():
            async with connect(server.url, PEER, ping_s=1) as socket:
                await socket.receive()
        task = asyncio.create_task(wait())
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait({task}, timeout=2)
        await asyncio.sleep(0.05)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(work()) == set()
