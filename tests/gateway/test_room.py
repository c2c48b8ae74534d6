"""Who may hold how many connections: real sockets, and the plain rules."""

import asyncio
import gc
import resource
import socket
import struct
import tracemalloc
from contextlib import suppress

import pytest

from claw.gateway.endpoint import Endpoint, reply
from claw.gateway.room import Limits, Room, find_network
from claw.gateway.server import fit_limits
from claw.testing.contracts.stage import until
from tests.gateway.test_app import TABLE, exchange, request, serving

SLOW = {"head_s": 60.0, "body_s": 60.0}


class Guest:
    def __init__(self, network):
        self.network = network
        self.is_out = False

    def turn_away(self):
        self.is_out = True


def test_of_one_network_the_oldest_unfinished_one_goes():
    room = Room(Limits(unfinished_of_one=2))
    other, *mine = [Guest(n) for n in "baaa"]
    for guest in (other, *mine):
        assert room.admit(guest)

    assert [g.is_out for g in (other, *mine)] == [False, True, False, False]


def test_in_a_full_room_the_network_with_most_gives_way():
    room = Room(Limits(unfinished=3))
    guests = [Guest(n) for n in "aabb"]
    for guest in guests:
        room.admit(guest)

    assert [g.is_out for g in guests] == [True, False, False, False]
    assert len(room) == 3


def test_what_is_being_answered_is_never_pushed_out():
    room = Room(Limits(connections=2))
    busy = [Guest("a"), Guest("a")]
    for guest in busy:
        room.admit(guest)
        room.begin_answer(guest)

    assert not room.admit(Guest("b"))
    assert not any(g.is_out for g in busy)
    room.end_answer(busy[0])
    assert room.admit(Guest("b"))
    assert busy[0].is_out
    assert len(room) == 2


@pytest.mark.parametrize(("network", "expected"), [
    ("192.0.2.1", False), ("127.0.0.1", True)])
def test_one_address_has_not_all_of_the_room(network, expected):
    """By answers that it does not read; a proxy's is everyone's."""
    room = Room(Limits(connections_of_one=2))
    mine = [Guest(network) for _ in range(2)]
    for guest in mine:
        room.admit(guest)
        room.begin_answer(guest)

    assert room.admit(Guest(network)) is expected
    assert room.admit(Guest("198.51.100.1"))
    room.leave(mine[0])
    assert room.admit(Guest(network))


def test_who_leaves_makes_room():
    room = Room(Limits(unfinished_of_one=1))
    first, second = Guest("a"), Guest("a")
    room.admit(first)
    room.leave(first)
    room.leave(first)
    room.admit(second)

    assert not first.is_out
    assert room.waiting == [second]


@pytest.mark.parametrize(("address", "expected"), [
    ("192.0.2.7", "192.0.2.7"),
    ("2001:db8::1", "2001:db8::/64"),
    ("2001:db8::ffff:0:0:1", "2001:db8::/64"),
    ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
    ("fe80::1%eth0", "fe80::/64"),
    ("::ffff:192.0.2.7", "192.0.2.7"),
    ("unknown", "unknown"),
])
def test_who_has_a_whole_network_of_addresses_has_one_place(
        address, expected):
    assert find_network(address) == expected


async def half_open(port, count, address="127.0.0.1", raw=b"POST /op"):
    """Connections that the server knows of, and that never end."""
    found = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=(address, 0))
        writer.write(raw)
        found.append((reader, writer))
    return found


async def hang_up(connections):
    for _, writer in connections:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@pytest.mark.parametrize(("slow", "neighbour", "raw"), [
    (64, "127.0.0.2", b""), (64, "127.0.0.2", b"POST /op"),
    (64, "127.0.0.2", request(method="POST", body=b"hello")[:-2]),
    (64, "127.0.0.1", b"POST /op"),  # a proxy's: the address of everyone
    (200, "127.0.0.2", b"POST /op"),
])
def test_a_slow_peer_holds_nobody_else_up(slow, neighbour, raw):
    async def go():
        async with serving(limits=Limits(**SLOW)) as (port, _, _):
            idle = await half_open(port, slow, raw=raw)
            answer = await exchange(port, request(), neighbour)
            await hang_up(idle)
            return answer
    assert asyncio.run(go())[0] == 200


def test_who_is_pushed_out_is_told_to_come_again():
    limits = Limits(unfinished_of_one=2, **SLOW)

    async def go():
        async with serving(limits=limits) as (port, _, _):
            other = await half_open(port, 1, "127.0.0.2")
            first, *rest = await half_open(port, 3)
            gone = await first[0].read()
            stay = [r.at_eof() for r, _ in [*other, *rest]]
            await hang_up([*other, first, *rest])
            return gone, stay
    gone, stay = asyncio.run(go())

    assert gone.startswith(b"HTTP/1.1 503 Service Unavailable")
    assert b"retry-after: 1" in gone
    assert stay == [False, False, False]


def test_a_full_server_refuses_and_answers_those_it_has():
    gate = asyncio.Event()

    async def wait(call):
        await gate.wait()
        return reply({})
    table = [Endpoint("/wait", wait, access="open")]

    async def go():
        async with serving(table, Limits(connections=2)) as (port, s, _):
            kept = [asyncio.create_task(exchange(port, request("/wait")))
                    for _ in range(2)]
            await until(lambda: len(s._room.busy) == 2)
            refused = await exchange(port, request())
            gate.set()
            return refused, [await task for task in kept]
    refused, kept = asyncio.run(go())

    assert refused[0] == 503
    assert refused[1]["retry-after"] == "1"
    assert [status for status, _, _ in kept] == [200, 200]


@pytest.mark.parametrize("raw", [
    b"", b"POST", request(method="POST", body=b"hello")[:-2],
    request("/none", method="POST", body=b"hello")[:-2],
    request(method="POST", body=b"hello",
            headers=[("Expect", "100-continue")])[:-2],
    b"GARBAGE\r\n\r\n"])
@pytest.mark.parametrize("rudely", [True, False])
def test_a_peer_that_left_is_no_fault_of_ours(raw, rudely):
    async def go():
        faults = []
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: faults.append(context))
        async with serving() as (port, server, _):
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", port)) as peer:
                    if rudely:  # RST in the place of FIN
                        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                        struct.pack("ii", 1, 0))
                    peer.sendall(raw)
            answer = await exchange(port, request())
            await until(lambda: not server.connections)
            left = len(server._room)
        gc.collect()
        return answer, faults, left
    (status, _, _), faults, left = asyncio.run(go())

    assert status == 200
    assert faults == []
    assert left == 0


def test_a_client_that_asks_before_sending_is_told_to_go_on():
    async def go():
        async with serving() as (port, _, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head, _, body = request(
                method="POST", body=b"hello", headers=[
                    ("Expect", "100-continue")]).partition(b"\r\n\r\n")
            writer.write(head + b"\r\n\r\n")
            first = await reader.readuntil(b"\r\n\r\n")
            writer.write(body)
            rest = await reader.readuntil(b"}")
            writer.close()
            return first, rest
    first, rest = asyncio.run(go())

    assert first.startswith(b"HTTP/1.1 100")
    assert rest.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(("soft", "hard", "connections", "raised"), [
    (65_536, 65_536, 2048, None), (-1, -1, 2048, None),
    (1024, 524_288, 2048, 4352), (1024, 1024, 384, None),
    (256, 256, 64, None)])
def test_there_are_files_left_for_others(monkeypatch, soft, hard,
                                         connections, raised):
    made = []
    monkeypatch.setattr(resource, "getrlimit", lambda what: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit",
                        lambda what, pair: made.append(pair[0]))

    assert fit_limits(Limits()).connections == connections
    assert made == ([] if raised is None else [raised])


@pytest.mark.slow
def test_ten_thousand_half_open_connections_take_bounded_memory():
    """As many as the limit of descriptors lets this process hold; each side
    takes one of ours."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(10_000, hard - 500)
    raw = request(method="POST", body=b"x" * 20_000)[:-1]

    async def go():
        async with serving(TABLE, Limits(**SLOW)) as (port, server, _):
            tracemalloc.start()
            peers, most = [], 0
            for number in range(count):
                peer = socket.socket()
                peer.setblocking(False)
                peer.bind((f"127.0.{number % 100}.{number // 100 + 1}", 0))
                with suppress(BlockingIOError):
                    peer.connect(("127.0.0.1", port))
                peers.append(peer)
                await asyncio.sleep(0)
                with suppress(OSError):
                    peer.send(raw)
                most = max(most, server.connections)
            answer = await exchange(port, request())
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            for peer in peers:
                peer.close()
            return answer[0], most, peak
    status, most, peak = asyncio.run(go())

    assert status == 200
    assert most < 400
    assert peak < 48 * 2**20


@pytest.mark.parametrize(("soft", "hard", "connections", "left"), [
    (1024, 20_000, 1000, 2256),  # the usual: raised
    (1024, 1024, 384, None),
    (20_000, 20_000, 1000, None),
    (300, 300, 64, None),
    (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 1000, None),
])
def test_connections_leave_descriptors_for_the_rest(
        monkeypatch, soft, hard, connections, left):
    made = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, two: made.append(two))

    assert fit_limits(Limits(connections=1000)).connections == connections
    assert made == ([] if left is None else [(left, hard)])
