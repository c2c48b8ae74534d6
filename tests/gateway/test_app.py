"""The gateway's application behind its own server, over real sockets."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager, suppress

import pytest
from starlette.responses import StreamingResponse

from claw.core.errors import ConfigError, NotFoundError, UnavailableError
from claw.gateway.app import App
from claw.gateway.endpoint import Endpoint, Key, Refused, reply
from claw.gateway.room import Limits
from claw.gateway.server import Server
from claw.gateway.settings import GatewaySettings
from claw.testing.contracts.stage import until

TOKEN = "zc_" + "a" * 64
QUICK = Limits(head_s=0.1, body_s=0.1, linger_s=0.1, idle_s=0.1, grace_s=0.2)


class Keys:
    def find(self, token):
        return Key("1", "laptop", "owner") if token == TOKEN else None


class Log:
    def __init__(self):
        self.lines = []

    def __call__(self, event, **fields):
        self.lines.append((event, fields))


async def echo(call):
    body = await call.request.body()
    return reply({"key": call.key.name if call.key else None,
                  "body": body.decode("utf-8", "replace"), "peer": call.peer,
                  "local": call.is_local})


async def tick(call):
    async def lines():
        while not call.closing.is_set():
            yield b"data: x\n\n"
            with suppress(TimeoutError):
                async with asyncio.timeout(0.02):
                    await call.closing.wait()
    return StreamingResponse(lines(), media_type="text/event-stream")


async def fail(call):
    raise NotFoundError("no such thing", hint="look elsewhere")


async def crash(call):
    raise RuntimeError("secret inner words")


async def sleep(call):
    await asyncio.sleep(60)


TABLE = (
    Endpoint("/open", echo, methods=("GET", "POST"), access="open"),
    Endpoint("/key", echo, methods=("GET", "POST"), body_bytes=100),
    Endpoint("/local", echo, access="local"),
    Endpoint("/signed", echo, methods=("POST",), access="signed",
             window="webhook"),
    Endpoint("/stream", tick, access="open", timeout_s=None),
    Endpoint("/fail", fail, access="open"),
    Endpoint("/crash", crash, access="open"),
    Endpoint("/slow", sleep, access="open", timeout_s=0.05),
    Endpoint("/x/{name}", echo, access="open"),
)


@asynccontextmanager
async def serving(table=TABLE, limits=QUICK, log=None, **settings):
    app = App(GatewaySettings(**settings), Keys(), log or Log())
    app.mount(table)
    server = Server(app, limits)
    port = await server.start("127.0.0.1", 0)
    try:
        yield port, server, app
    finally:
        app.closing.set()
        await server.close()


def request(path="/open", *, method="GET", host="localhost", body=b"",
            headers=(), token=None):
    lines = [f"{method} {path} HTTP/1.1",
             *([f"Host: {host}"] if host is not None else []),
             *(f"{name}: {value}" for name, value in headers)]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def answer(reader):
    """The next answer on a connection: status, headers, body."""
    async with asyncio.timeout(5):
        head = await reader.readuntil(b"\r\n\r\n")
        status, *lines = head.decode().strip().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        size = int(headers.get("content-length", 0))
        body = await reader.readexactly(size)
    return int(status.split()[1]), headers, \
        json.loads(body) if body else None


async def exchange(port, raw, address="127.0.0.1"):
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, local_addr=(address, 0))
    try:
        writer.write(raw)
        return await answer(reader)
    finally:
        writer.close()


def ask(*raws, **options):
    async def go():
        async with serving(**options) as (port, _, _):
            return [await exchange(port, raw) for raw in raws]
    return asyncio.run(go())


def test_an_endpoint_is_a_row_of_the_table():
    [(status, headers, body)] = ask(request("/x/one"))

    assert status == 200
    assert headers["content-type"] == "application/json"
    assert headers["server"] == "claw"
    assert "date" in headers
    assert body["peer"] == "127.0.0.1"


def test_rows_can_be_taken_out_again():
    async def go():
        async with serving(()) as (port, _, app):
            late = Endpoint("/late", echo, access="open")
            app.mount([late])
            there = await exchange(port, request("/late"))
            app.unmount(late)
            return there[0], (await exchange(port, request("/late")))[0]
    assert asyncio.run(go()) == (200, 404)


@pytest.mark.parametrize(("raw", "expected"), [
    (request("/nothing"), 404),
    (request("/open/"), 404),
    (request("/open", method="DELETE"), 405),
    (request("/a%00b"), 400),
    (request("/x/a%5cb"), 400),
    (request("/open?x=1"), 200),
    (request("http://localhost/open"), 200),
    (request("http://evil.example/open"), 421),
    (request(method="OPTIONS", path="*"), 404),
    (b"GARBAGE\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n", 400),
    (request(host=None), 400),
    (b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000, 431),
    (request(headers=[(f"X-{n}", "1") for n in range(150)]), 431),
    (b"GET /open HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n", 400),
    (request(headers=[("Transfer-Encoding", "gzip")]), 501),
    # two lengths: a proxy before us may believe the other one
    (request(method="POST", body=b"x", headers=[
        ("Transfer-Encoding", "chunked")]), 400),
    (request(method="POST", body=b"x", headers=[
        ("Content-Length", "5")]), 400),
    (b"POST /open HTTP/1.0\r\nHost: localhost\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
])
def test_other_requests_get_their_status(raw, expected):
    [(status, _, body)] = ask(raw)

    assert status == expected
    assert expected == 200 or body["error"]


def test_405_names_the_methods():
    [(_, headers, _)] = ask(request(method="DELETE"))

    assert headers["allow"] == "get, post"


def test_a_request_smuggled_behind_two_lengths_is_never_seen():
    smuggled = request("/fail")
    raw = (b"POST /open HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
           b"5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled)
    log = Log()

    async def go():
        async with serving(log=log) as (port, _, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(raw)
            said = await reader.read()
            writer.close()
            return said
    said = asyncio.run(go())

    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1 4") == 1
    assert log.lines == []


# -- who calls


@pytest.mark.parametrize(("host", "expected"), [
    ("localhost", 200), ("LOCALHOST:42617", 200), ("127.0.0.1:1", 200),
    ("[::1]:42617", 200), ("box.localhost", 200), ("192.168.1.7", 200),
    ("claw.example.org", 200), ("claw.example.org.", 200),
    ("box.lan:42617", 200),
    ("evil.example", 421), ("localhost.evil.example", 421),
    ("127.0.0.1.nip.io", 421), ("evil.example#localhost", 421),
    ("evil.example@localhost", 421), ("localhost:x", 421), ("", 421),
])
def test_only_our_own_names_are_answered(host, expected):
    [(status, _, _)] = ask(
        request(host=host), allowed_hosts=["box.lan"],
        public_url="https://claw.example.org")

    assert status == expected


def test_of_two_hosts_none_counts():
    [(status, _, _)] = ask(request(headers=[("Host", "evil.example")]))

    assert status == 400


@pytest.mark.parametrize(("host", "headers", "expected"), [
    ("localhost:9", [("Origin", "http://localhost:9")], 200),
    ("localhost:9", [("Origin", "http://localhost:8")], 403),
    ("claw.example.org", [("Origin", "https://claw.example.org")], 200),
    ("localhost", [("Origin", "https://evil.example")], 403),
    ("localhost", [("Origin", "null")], 403),
    ("localhost", [("Origin", "")], 403),
    ("localhost", [("Origin", "file://localhost")], 403),
    ("localhost", [("Origin", "http://[::1")], 403),
    ("localhost", [("Origin", "http://localhost@evil.example")], 403),
    ("localhost", [("Sec-Fetch-Site", "cross-site")], 403),
    ("localhost", [("Sec-Fetch-Site", "cross-site"),
                   ("Sec-Fetch-Mode", "navigate")], 200),
    ("localhost", [("Sec-Fetch-Site", "same-origin")], 200),
])
def test_pages_of_others_are_refused(host, headers, expected):
    [(status, _, _)] = ask(request(host=host, headers=headers),
                           public_url="https://claw.example.org")

    assert status == expected


@pytest.mark.parametrize(("path", "token", "expected"), [
    ("/key", TOKEN, 200), ("/key", None, 401), ("/key", TOKEN[:-1], 401),
    ("/key", TOKEN + " ", 200), ("/key?token=" + TOKEN, None, 401),
    ("/key?access_token=" + TOKEN, None, 401),
    ("/local", None, 200), ("/local", "wrong", 401), ("/open", "wrong", 200),
])
def test_a_key_is_asked_for(path, token, expected):
    log = Log()
    [(status, headers, body)] = ask(request(path, token=token), log=log)

    assert status == expected
    assert ("www-authenticate" in headers) == (expected == 401)
    assert TOKEN not in repr(log.lines)
    if expected == 401:
        assert "claw gateway token add" in body["hint"]


def test_of_two_keys_none_counts():
    [(status, _, _)] = ask(request("/key", token=TOKEN, headers=[
        ("Authorization", f"Bearer {TOKEN}")]))

    assert status == 401


@pytest.mark.parametrize(("headers", "host"), [
    ([("X-Forwarded-For", "192.0.2.1")], "localhost"),
    ([("Forwarded", "for=192.0.2.1")], "localhost"),
    ([("CF-Connecting-IP", "192.0.2.1")], "localhost"),
    ([], "claw.example.org"),
    ([], "127.0.0.1:42617"),  # as nginx calls
])
def test_behind_a_proxy_nobody_is_this_machine(headers, host):
    [(status, _, _)] = ask(request("/local", headers=headers, host=host),
                           public_url="https://claw.example.org")

    assert status == 401


def test_a_proxy_that_says_nothing_is_not_this_machine():
    """nginx as it comes: HTTP/1.0, Host: 127.0.0.1:PORT, no address."""
    raw = request("/local", host="127.0.0.1:42617")
    [(status, _, _)] = ask(raw.replace(b"HTTP/1.1", b"HTTP/1.0"))

    assert status == 401


def test_without_pairing_programs_of_this_machine_need_no_key():
    near, far = ask(
        request("/key"),
        request("/key", headers=[("X-Forwarded-For", "192.0.2.1")]),
        require_pairing=False)

    assert near[0] == 200
    assert near[2]["local"] is True
    assert far[0] == 401


@pytest.mark.parametrize(("trusts", "headers", "expected"), [
    (False, [("X-Forwarded-For", "192.0.2.1")], "127.0.0.1"),
    (True, [("X-Forwarded-For", "192.0.2.1")], "192.0.2.1"),
    # what stands before the last is the caller's own word
    (True, [("X-Forwarded-For", "10.9.8.7, 192.0.2.1")], "192.0.2.1"),
    (True, [("X-Forwarded-For", '"[2001:db8::1]:99"')], "2001:db8::1"),
    (True, [("X-Forwarded-For", "192.0.2.1:99")], "192.0.2.1"),
    (True, [("X-Forwarded-For", "nobody"), ("X-Real-IP", "192.0.2.2")],
     "192.0.2.2"),
    (True, [("X-Forwarded-For", "10.9.8.7"),
            ("X-Forwarded-For", "192.0.2.1")], "192.0.2.1"),
    (True, [("X-Forwarded-For", "::ffff:192.0.2.1")], "192.0.2.1"),
    (True, [], "127.0.0.1"),
])
def test_the_proxys_word_counts_where_it_is_trusted(
        trusts, headers, expected):
    [(_, _, body)] = ask(request(headers=headers),
                         trust_forwarded_headers=trusts)

    assert body["peer"] == expected


# -- bounds


def test_a_body_has_the_size_of_its_endpoint():
    small, big = ask(
        request("/key", method="POST", token=TOKEN, body=b"x" * 100),
        request("/key", method="POST", token=TOKEN, body=b"x" * 101))

    assert (small[0], big[0]) == (200, 413)
    assert "100 bytes" in big[2]["error"]


def test_a_chunked_body_is_measured_too():
    [(status, _, _)] = ask(
        request("/key", method="POST", token=TOKEN, headers=[
            ("Transfer-Encoding", "chunked")])
        + b"c8\r\n" + b"x" * 200 + b"\r\n0\r\n\r\n")

    assert status == 413


def test_large_bodies_together_have_a_bound(monkeypatch):
    monkeypatch.setattr("claw.gateway.app.MOST_HELD_BYTES", 150_000)
    table = [Endpoint("/open", echo, methods=("POST",), access="open",
                      body_bytes=1 << 20)]
    large, small = (request(method="POST", body=b"x" * size)
                    for size in (100_000, 10))

    async def go():
        async with serving(table, Limits(body_s=5)) as (port, _, app):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(large[:-1])
            await until(lambda: app._held > 90_000)
            found = [(await exchange(port, raw))[0] for raw in (large, small)]
            writer.close()
            await until(lambda: app._held == 0)
            return [*found, (await exchange(port, large))[0]]

    assert asyncio.run(go()) == [503, 200, 200]


def test_the_answer_to_a_body_that_is_too_large_arrives():
    """Closing a socket with bytes unread resets it."""
    raw = request("/key", method="POST", token=TOKEN,
                  headers=[("Connection", "close")], body=b"x" * 30_000_000)

    def send(port):
        with socket.create_connection(("127.0.0.1", port)) as peer:
            peer.sendall(raw)  # as a client that reads when all is sent
            return peer.recv(100)

    async def go():
        async with serving(limits=Limits()) as (port, _, _):
            return await asyncio.to_thread(send, port)
    assert asyncio.run(go()).startswith(b"HTTP/1.1 413")


def test_calls_of_one_address_are_counted():
    async def go():
        async with serving(rate_limit_per_minute=2) as (port, _, _):
            mine = [await exchange(port, request()) for _ in range(3)]
            other = await exchange(port, request(), "127.0.0.2")
            keyed = await exchange(port, request("/key", token=TOKEN))
            return mine, other, keyed
    mine, other, keyed = asyncio.run(go())

    assert [status for status, _, _ in mine] == [200, 200, 429]
    assert 50 < int(mine[2][1]["retry-after"]) <= 61
    assert (other[0], keyed[0]) == (200, 200)


def test_strangers_behind_a_proxy_use_up_nothing_of_this_machines():
    far = request(headers=[("X-Forwarded-For", "192.0.2.1")])
    answers = ask(far, far, request(), rate_limit_per_minute=1)

    assert [status for status, _, _ in answers] == [200, 429, 200]


def test_calls_of_one_key_are_counted_wherever_they_come_from():
    async def go():
        async with serving(rate_limit_per_minute=2) as (port, _, _):
            return [(await exchange(port, request("/key", token=TOKEN),
                                    f"127.0.0.{n}"))[0] for n in range(1, 4)]
    assert asyncio.run(go()) == [200, 200, 429]


def test_webhooks_that_are_in_order_do_not_count():
    raw = request("/signed", method="POST", host="anything.example",
                  headers=[("Origin", "https://platform.example")])
    answers = ask(*[raw] * 5, webhook_rate_limit_per_minute=2)

    assert [status for status, _, _ in answers] == [200] * 5


def test_webhooks_that_are_refused_count():
    async def refuse(call):
        raise Refused(401, "not signed")
    table = [Endpoint("/signed", refuse, methods=("POST",), access="signed",
                      window="webhook")]
    answers = ask(*[request("/signed", method="POST")] * 3, table=table,
                  webhook_rate_limit_per_minute=2)

    assert [status for status, _, _ in answers] == [401, 401, 429]


def test_forgers_behind_a_proxy_do_not_lock_the_platform_out():
    async def verify(call):
        if await call.request.body() != b"signed":
            raise Refused(401, "not signed")
        return reply({})
    table = [Endpoint("/signed", verify, methods=("POST",), access="signed",
                      window="webhook")]
    forged, real = (request("/signed", method="POST", body=body)
                    for body in (b"forged", b"signed"))
    answers = ask(forged, forged, real, forged, real, table=table,
                  webhook_rate_limit_per_minute=1)

    assert [status for status, _, _ in answers] == [401, 429, 200, 429, 200]


def test_an_answer_that_takes_too_long_is_given_up():
    assert ask(request("/slow"))[0][0] == 504


def test_errors_of_claw_keep_their_words_and_faults_do_not():
    log = Log()
    known, fault = ask(request("/fail"), request("/crash"), log=log)

    assert known[0] == 404
    assert known[2] == {"error": "no such thing", "hint": "look elsewhere"}
    assert fault[0] == 500
    assert "secret inner words" not in repr(fault)
    assert any("secret inner words" in fields.get("error", "")
               for event, fields in log.lines if event == "gateway.fault")


def test_who_leaves_in_the_middle_is_no_fault_of_claw():
    log = Log()

    async def go():
        async with serving(log=log) as (port, server, _):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request(method="POST", body=b"hello")[:-2])
            await until(lambda: server.connections)
            await asyncio.sleep(0.02)
            writer.close()
            await until(lambda: log.lines)
    asyncio.run(go())

    assert [event for event, _ in log.lines] == ["gateway.request"]
    assert log.lines[0][1]["status"] == 499


def test_each_call_is_one_line_of_the_log():
    log = Log()
    ask(request("/key?token=abc", token=TOKEN), request("/none"), log=log)

    first, second = [fields for event, fields in log.lines
                     if event == "gateway.request"]
    assert first["path"] == "/key"
    assert (first["status"], first["key"], first["peer"]) == (
        200, "laptop", "127.0.0.1")
    assert second["status"] == 404
    assert "abc" not in repr(log.lines)


def test_strangers_do_not_flood_the_log():
    log = Log()

    async def go():
        async with serving(log=log) as (port, _, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(200):
                writer.write(request("/none"))
                await answer(reader)
            writer.write(request())
            await answer(reader)
            writer.close()
    asyncio.run(go())

    lines = [fields for event, fields in log.lines]
    assert len(lines) == 121
    assert lines[-1]["unlogged"] == 80


@pytest.mark.parametrize(("path", "expected"), [
    ("/claw/open", 200), ("/open", 404), ("/claw", 404), ("/clawopen", 404)])
def test_a_prefix_stands_before_every_path(path, expected):
    [(status, _, _)] = ask(request(path), path_prefix="/claw")

    assert status == expected


# -- repeated calls


def counting(*failures, streamed=False):
    made = []

    async def make(call):
        await asyncio.sleep(0.05)
        made.append(await call.request.body())
        if len(made) <= len(failures):
            raise failures[len(made) - 1]
        if streamed:
            return StreamingResponse(iter([b"x"]))
        return reply({"n": len(made)})
    return made, [Endpoint("/once", make, methods=("POST",),
                           keeps_answers=True)]


def once(key="k", body=b"{}", header="Idempotency-Key"):
    return request("/once", method="POST", token=TOKEN, body=body,
                   headers=[(header, key)])


def test_a_repeated_call_gets_the_answer_of_before():
    made, table = counting()
    first, again, other = ask(
        once(), once(header="X-Idempotency-Key"), once("l"), table=table)

    assert first[2] == again[2] == {"n": 1}
    assert again[1]["idempotent-replayed"] == "true"
    assert other[2] == {"n": 2}
    assert len(made) == 2


def test_what_failed_may_be_tried_again_with_the_same_key():
    made, table = counting(UnavailableError("busy"), RuntimeError("fault"))
    answers = ask(once(), once(), once(), table=table)

    assert [status for status, _, _ in answers] == [503, 500, 200]
    assert len(made) == 3


def test_a_key_belongs_to_one_body():
    _, table = counting()
    first, other = ask(once(), once(body=b"[]"), table=table)

    assert (first[0], other[0]) == (200, 422)


def test_a_key_belongs_to_one_path():
    async def make(call):
        return reply({"path": call.request.url.path,
                      "query": call.request.url.query})

    table = [Endpoint("/do/{name}", make, methods=("POST", "PUT"),
                      keeps_answers=True)]
    answers = ask(*[request(
        path, method=method, token=TOKEN, headers=[("Idempotency-Key", "k")])
        for path, method in (("/do/a", "POST"), ("/do/b", "POST"),
                             ("/do/a?x", "POST"), ("/do/a", "PUT"))],
        table=table)

    assert [(body["path"], body["query"]) for _, _, body in answers[:3]] == [
        ("/do/a", ""), ("/do/b", ""), ("/do/a", "x")]
    assert all("idempotent-replayed" not in headers
               for _, headers, _ in answers)


def test_the_second_of_two_calls_at_once_is_told_to_wait():
    made, table = counting()

    async def go():
        async with serving(table) as (port, _, _):
            return await asyncio.gather(exchange(port, once()),
                                        exchange(port, once()))
    answers = asyncio.run(go())

    assert sorted(status for status, _, _ in answers) == [200, 409]
    assert len(made) == 1


# -- connections


def test_a_connection_serves_several_requests():
    async def go():
        async with serving() as (port, _, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            found = []
            for raw in (request(), request(method="POST", body=b"hello"),
                        request("/key") * 2):  # the last two at once
                writer.write(raw)
                found.append((await answer(reader))[0])
            found.append((await answer(reader))[0])
            writer.close()
            return found
    assert asyncio.run(go()) == [200, 200, 401, 401]


def test_a_second_request_that_is_not_whole_can_be_pushed_out():
    async def go():
        async with serving(limits=Limits()) as (port, server, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            part = request(method="POST", body=b"hello")[:-2]
            writer.write(request() + part)
            await answer(reader)
            [peer] = server._state.connections
            await until(lambda: peer._phase == "body")
            held = peer in server._room.waiting
            writer.write(b"lo")
            assert (await answer(reader))[0] == 200
            writer.close()
            return held
    assert asyncio.run(go())


def test_a_connection_that_asks_no_more_is_closed():
    async def go():
        async with serving() as (port, _, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request())
            await answer(reader)
            async with asyncio.timeout(2):
                rest = await reader.read()
            writer.close()
            return rest
    assert asyncio.run(go()) == b""


@pytest.mark.parametrize(("raw", "expected"), [
    (b"", b""),
    (b"GET /op", b"HTTP/1.1 408"),
    (request(method="POST", body=b"hello")[:-2], b"HTTP/1.1 408"),
    # refused before its body is here
    (request("/none", method="POST", body=b"hello")[:-2], b"HTTP/1.1 404"),
])
def test_a_slow_client_is_not_waited_for(raw, expected):
    async def go():
        async with serving() as (port, _, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(raw)
            async with asyncio.timeout(2):
                said = await reader.read()
            writer.close()
            return said
    assert asyncio.run(go())[:len(b"HTTP/1.1 408")] == expected


def test_a_body_that_took_too_long_is_logged_as_what_it_was_told():
    log = Log()

    async def go():
        async with serving(log=log) as (port, _, _):
            return await exchange(
                port, request(method="POST", body=b"hello")[:-2])
    status, _, _ = asyncio.run(go())

    assert status == 408
    assert [fields["status"] for event, fields in log.lines
            if event == "gateway.request"] == [408]


@pytest.mark.parametrize("part", ["head", "body"])
def test_drops_do_not_extend_the_time(part):
    async def go():
        async with serving() as (port, _, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            raw = request(method="POST", body=b"x" * 500)
            cut = 0 if part == "head" else raw.index(b"\r\n\r\n") + 4
            writer.write(raw[:cut])
            async with asyncio.timeout(2):
                for byte in raw[cut:]:
                    writer.write(bytes([byte]))
                    await asyncio.sleep(0.02)
                    if reader._buffer or reader.at_eof():
                        break
                said = await reader.read()
            writer.close()
            return said
    assert asyncio.run(go()).startswith(b"HTTP/1.1 408")


def test_a_peer_that_reads_nothing_is_dropped():
    async def flood(call):
        async def pieces():
            while True:
                yield b"x" * 65_536
                await asyncio.sleep(0)
        return StreamingResponse(pieces())
    limits = Limits(stalled_s=0.2)
    table = [Endpoint("/flood", flood, access="open", timeout_s=None)]

    async def go():
        async with serving(table, limits) as (port, server, _):
            _, writer = await asyncio.open_connection("127.0.0.1", port,
                                                      limit=1)
            writer.write(request("/flood"))
            await until(lambda: server.connections)
            await until(lambda: not server.connections)
            writer.close()
    asyncio.run(go())


def test_a_peer_that_leaves_its_last_answer_unread_is_dropped():
    async def large(call):
        return reply("x" * 20_000_000)
    table = [Endpoint("/large", large, access="open")]

    async def go():
        limits = Limits(idle_s=0.1, stalled_s=0.3)
        async with serving(table, limits) as (port, server, _):
            _, writer = await asyncio.open_connection("127.0.0.1", port,
                                                      limit=1)
            await until(lambda: server.connections)
            [peer] = server._state.connections
            # so that the answer is whole, and waits in the buffer
            peer.transport.set_write_buffer_limits(high=1 << 30)
            writer.write(request("/large"))
            await until(lambda: peer._phase == "closed")
            assert server.connections
            await until(lambda: not server.connections)
            writer.close()
    asyncio.run(go())


def test_closing_lets_an_answer_end_and_ends_streams():
    gate = asyncio.Event()

    async def wait(call):
        await gate.wait()
        return reply({})
    table = [Endpoint("/wait", wait, access="open"), *TABLE]

    async def go():
        limits = Limits(grace_s=2.0)
        async with serving(table, limits) as (port, server, app):
            one = asyncio.create_task(exchange(port, request("/wait")))
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request("/stream"))
            idle = await asyncio.open_connection("127.0.0.1", port)
            await reader.readuntil(b"data: x")
            app.closing.set()
            closing = asyncio.create_task(server.close())
            await asyncio.sleep(0.05)
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)
            gate.set()
            status = (await one)[0]
            rest = await reader.read()
            await closing
            assert await idle[0].read() == b""
            writer.close()
            idle[1].close()
            return status, rest
    status, rest = asyncio.run(go())

    assert status == 200
    assert rest.endswith(b"0\r\n\r\n")


def test_a_taken_port_is_an_error_and_no_end_of_the_process():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UnavailableError) as caught:
            asyncio.run(Server(None).start("127.0.0.1", port))

    assert f"127.0.0.1:{port}" in caught.value.message
    assert "gateway.port" in caught.value.hint


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_a_foreign_address_is_a_fault_of_the_settings(host):
    with pytest.raises(ConfigError) as caught:
        asyncio.run(Server(None).start(host, 1))

    assert host in caught.value.message
