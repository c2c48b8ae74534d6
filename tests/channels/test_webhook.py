"""The webhook channel: real sockets on this machine, both ways."""

import asyncio
import hashlib
import hmac
import json
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from claw.channels import REGISTRY
from claw.channels.webhook.channel import WebhookChannel
from claw.channels.webhook.settings import WebhookSettings
from claw.core.abilities import Diagnoses
from claw.core.channel import Attachment, ChannelDeps, SendMessage, SendsParts
from claw.core.errors import (
    AuthError,
    ConfigError,
    RateLimitedError,
    RequestRefusedError,
    StorageError,
    UnavailableError,
)
from claw.core.value import replace
from claw.gateway.gateway import Gateway
from claw.gateway.room import Limits
from claw.gateway.settings import GatewaySettings
from claw.testing.contracts.stage import until
from claw.testing.http_server import HttpServer
from claw.testing.http_server import Reply as Said
from tests.gateway.test_app import answer as read_answer

SECRET = "correct-horse-battery"
HELLO = {"sender": "mina", "content": "hello", "id": "42"}
NOW = 1_795_377_600
QUICK = Limits(head_s=0.1, body_s=0.1, linger_s=0.1, idle_s=0.1,
               grace_s=1.0)


class Inbox:
    """Keeps what it is given; `error` is raised once, `gate` waited for.
    `port` is where the gateway serves the channel."""

    def __init__(self, error=None, gate=None):
        self.port = None
        self.gateway = None
        self.messages = []
        self.heard = 0
        self.error = error
        self.gate = gate
        self.entered = asyncio.Event()

    async def put(self, message):
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        self.messages.append(message)

    def received(self):
        self.heard += 1

    async def serve_webhook(self, channel):
        await self.gateway.receive(channel, self)

    def serving(self, host, port):
        self.port = port

    def stopped_serving(self):
        self.port = None


class Log:
    def __init__(self):
        self.lines = []

    def __call__(self, event, **fields):
        self.lines.append((event, fields))

    def events(self):
        return [event for event, _ in self.lines]


def channel(tmp_path=Path("/nowhere"), log=None, clock=lambda: NOW,
            **settings):
    settings = {"port": 0, "secret": SECRET, **settings}
    return WebhookChannel(
        WebhookSettings(**settings),
        ChannelDeps(tmp_path, tmp_path, log=log or Log()), clock=clock)


def hosted(inbox, log=None, limits=None):
    """The inbox with a gateway behind it."""
    async def build(app, gateway, stack):
        return ()
    inbox.gateway = Gateway(lambda: None, build, None, log or Log(),
                            limits=limits)
    return inbox


@asynccontextmanager
async def listening(webhook, inbox, log=None, limits=None):
    task = asyncio.create_task(webhook.listen(hosted(inbox, log, limits)))
    try:
        await until(lambda: inbox.port or task.done())
        if task.done():
            await task
        yield inbox.port, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await webhook.aclose()


def find_free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def signed(body, secret=SECRET, at=NOW, version="v1"):
    """What the Signature header says, made as a sender would."""
    text = f"{version}:{at}:".encode() + body
    return f"{version}=" + hmac.new(secret.encode(), text,
                                    hashlib.sha256).hexdigest()


def request(body, *, path="/webhook", method="POST", signature="right",
            at=NOW, headers=()):
    """A request's bytes."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    if signature == "right":
        signature = signed(body, at=at)
    lines = [f"{method} {path} HTTP/1.1", "Host: claw",
             f"Content-Length: {len(body)}",
             *(f"{k}: {v}" for k, v in headers)]
    if at is not None:
        lines.append(f"X-Webhook-Timestamp: {at}")
    if signature is not None:
        lines.append(f"X-Webhook-Signature: {signature}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def exchange(port, raw, address="127.0.0.1"):
    """Send bytes; (status, headers, JSON body) of the answer."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, local_addr=(address, 0))
    try:
        writer.write(raw)
        await writer.drain()
        return await read_answer(reader)
    finally:
        writer.close()


def ask(*raws, inbox=None, log=None, limits=None, **options):
    """Answers of a listening channel to requests, and its inbox."""
    async def go():
        box = inbox or Inbox()
        async with listening(channel(log=log, **options), box, log,
                             limits) as (port, _):
            return [await exchange(port, raw) for raw in raws], box
    return asyncio.run(go())


def test_the_settings_alone_cost_no_http_client():
    done = subprocess.run(
        [sys.executable, "-c",
         "import sys, claw.channels.webhook.settings\n"
         "print({'asyncio', 'h11', 'httpx'} & set(sys.modules))"],
        capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"


# -- in


def test_the_registry_knows_it():
    assert REGISTRY.load("webhook") is WebhookChannel
    assert isinstance(channel(), SendsParts)
    assert isinstance(channel(), Diagnoses)


def test_a_signed_message_is_kept_and_then_accepted():
    [answer], inbox = ask(request({**HELLO, "thread_id": "t1"}))

    status, headers, body = answer
    [message] = inbox.messages
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert body == {"status": "accepted", "id": "webhook_mina_42"}
    assert (message.id, message.sender, message.content) == (
        "webhook_mina_42", "mina", "hello")
    assert (message.reply_target, message.thread_ts) == ("t1", "t1")
    assert (message.channel, message.interruption_scope_id) == (
        "webhook", None)
    assert message.timestamp == NOW
    assert inbox.heard == 1


def test_nothing_is_accepted_before_it_is_on_disk():
    async def go():
        gate = asyncio.Event()
        inbox = Inbox(gate=gate)
        async with listening(channel(), inbox) as (port, _):
            sending = asyncio.create_task(exchange(port, request(HELLO)))
            await inbox.entered.wait()
            await asyncio.sleep(0.05)
            early = sending.done()
            gate.set()
            return early, await sending
    early, (status, _, _) = asyncio.run(go())

    assert not early
    assert status == 200


def test_without_a_thread_the_sender_is_answered():
    [_], inbox = ask(request({**HELLO, "thread_id": "  "}))

    assert inbox.messages[0].reply_target == "mina"
    assert inbox.messages[0].thread_ts is None


@pytest.mark.parametrize("error", [
    StorageError("disk full"), UnavailableError("locked"), OSError("gone"),
    RuntimeError("a fault")])
def test_what_could_not_be_kept_is_to_be_sent_again(error):
    log = Log()
    answers, inbox = ask(request(HELLO), request(HELLO),
                         inbox=Inbox(error), log=log)

    (status, headers, _), (again, _, _) = answers
    assert (status, again) == (503, 200)
    assert int(headers["retry-after"]) > 0
    assert [m.id for m in inbox.messages] == ["webhook_mina_42"]
    assert "webhook_not_accepted" in log.events()


@pytest.mark.parametrize(("sender", "number", "expected"), [
    ("mina", "a", "webhook_mina_a"),
    ("mina", 0, "webhook-number_mina_0"),
    ("tom", "a", "webhook_tom_a"),
    ("米娜", " a ", "webhook_米娜_ a "),
    # no sender can use up another's ids
    ("mina", "x_a", "webhook_mina_x_a"),
    ("mina_x", "a", "webhook_mina%5Fx_a"),
    ("mina%5Fx", "a", "webhook_mina%255Fx_a"),
])
def test_an_id_is_its_senders_own(sender, number, expected):
    [(status, _, body)], inbox = ask(request(
        {"sender": sender, "content": "x", "id": number}))

    assert status == 200
    assert inbox.messages[0].id == body["id"] == expected


@pytest.mark.parametrize("lacking", [{}, {"id": None}, {"id": ""},
                                     {"id": " \n"}, {"ID": "a"}])
@pytest.mark.parametrize("header", ["X-Webhook-Id", "Idempotency-Key"])
def test_a_body_without_an_id_could_be_sent_again(lacking, header):
    """Headers are not signed: an id there is none."""
    [(status, _, body)], inbox = ask(request(
        {"sender": "mina", "content": "x", **lacking},
        headers=[(header, "h")]))

    assert status == 400
    assert "id" in body["error"]
    assert inbox.messages == []


BODY = json.dumps(HELLO).encode()


@pytest.mark.parametrize("signature", [
    None, "", "v1=", "v1", "0" * 64, "v1=" + "0" * 64, "é" * 64,
    "sha1=" + "0" * 40, signed(b"another body"),
    signed(BODY, "another secret"), signed(BODY, at=NOW + 1),
    signed(BODY)[:-1], signed(BODY) + "0", signed(BODY)[3:],
    signed(BODY, version="v0"), "v0=" + signed(BODY)[3:], SECRET,
    # the scheme of before: the body alone
    "sha256=" + hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest(),
])
def test_a_wrong_signature_is_refused(signature):
    log = Log()
    [(status, _, body)], inbox = ask(request(HELLO, signature=signature),
                                     log=log)

    assert status == 401
    assert "v1:SECONDS:BODY" in body["error"]
    assert inbox.messages == []
    assert SECRET not in repr(log.lines) + repr(body)


@pytest.mark.parametrize("at", [None, "", "now", "-1", f"{NOW}.0",
                                f"+{NOW}", "9" * 13, f"{NOW}:x"])
def test_a_time_that_is_none_is_refused(at):
    [(status, _, body)], inbox = ask(request(HELLO, at=at))

    assert status == 401
    assert "X-Webhook-Timestamp: SECONDS" in body["error"]
    assert inbox.messages == []


@pytest.mark.parametrize(("late_s", "expected"), [
    (0, 200), (300, 200), (-300, 200), (301, 401), (-301, 401),
    (86_400, 401), (-NOW, 401)])
def test_a_copy_of_a_request_is_good_for_five_minutes(late_s, expected):
    [(status, _, body)], inbox = ask(request(HELLO),
                                     clock=lambda: NOW + late_s)

    assert status == expected
    assert bool(inbox.messages) == (expected == 200)
    if expected == 401:
        assert f"{abs(late_s)} s from this machine's clock" in body["error"]


def test_nobody_without_the_secret_learns_what_time_it_is():
    [(status, _, body)], _ = ask(request(HELLO, signature="v1=" + "0" * 64),
                                 clock=lambda: NOW + 900)

    assert status == 401
    assert "900" not in body["error"]


def test_what_is_not_signed_is_not_parsed():
    [(status, _, _)], _ = ask(request(b"{", signature="v1=" + "0" * 64))

    assert status == 401


def test_a_signature_may_come_in_capitals():
    [(status, _, _)], _ = ask(request(HELLO,
                                      signature=signed(BODY).upper()))

    assert status == 200


def test_of_two_signatures_none_counts():
    [(status, _, _)], _ = ask(request(
        HELLO, headers=[("X-Webhook-Signature", signed(BODY))]))

    assert status == 401


def test_strangers_do_not_flood_the_log():
    log = Log()
    ask(*[request(HELLO, signature="0" * 64)] * 5, log=log)

    assert log.events().count("webhook_signature_refused") == 1


@pytest.mark.each("body", [
    b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 100_000,
    b'{"sender": "a", "content": "x", "id": ' + b"9" * 5000 + b"}",
    {}, {"sender": "mina"}, {"content": "hello"},
    {"sender": "mina", "content": "hello"},
    {"sender": "mina", "content": ""}, {"sender": "mina", "content": " \n"},
    {"sender": "", "content": "x"}, {"sender": "  ", "content": "x"},
    {"sender": 7, "content": "x"}, {"sender": "mina", "content": 7},
    {"sender": "mina", "content": None},
    {"sender": "mina", "content": ["x"]},
    {"sender": "mina", "content": "x", "thread_id": 7},
    {"sender": "mina", "content": "x", "id": True},
    b'{"sender": "mina", "content": "x", "id": "\\ud83d"}',
    b'{"sender": "mi\\ud83d", "content": "x", "id": "1"}',
    {"sender": "mina", "content": "x", "id": {"a": 1}},
    {"sender": "mina", "content": "x", "id": "i" * 501},
    {"sender": "m" * 501, "content": "x"},
])
def test_a_bad_body_is_told_so(body):
    [(status, _, answer), (after, _, _)], inbox = ask(
        request(body), request(HELLO))

    assert status == 400
    assert answer["error"]
    assert after == 200
    assert len(inbox.messages) == 1


@pytest.mark.parametrize("text", [
    "สวัสดี 🏳️‍🌈 你好 שלום", "line\nbreak\ttab", "nul \0 here",
    "x" * 900_000])
def test_any_text_arrives_whole(text):
    _, inbox = ask(request({**HELLO, "sender": "ミナ", "content": text}))

    assert inbox.messages[0].content == text
    assert inbox.messages[0].sender == "ミナ"


def test_half_a_surrogate_pair_does_not_break_a_message():
    raw = b'{"sender": "mina", "content": "cut \\ud83d", "id": 1}'
    [(status, _, _)], inbox = ask(request(raw))

    assert status == 200
    assert inbox.messages[0].content == "cut \ufffd"


def test_a_byte_order_mark_is_no_reason_to_refuse():
    [(status, _, _)], _ = ask(request(b"\xef\xbb\xbf" + json.dumps(
        HELLO).encode()))

    assert status == 200


@pytest.mark.parametrize(("raw", "expected"), [
    (request(HELLO, path="/"), 404),
    (request(HELLO, path="/webhook/"), 404),
    (request(HELLO, path="/webhook/../webhook"), 404),
    (request(HELLO, path="/webhook?x=1"), 200),
    (request(HELLO, path="http://claw/webhook"), 200),
    (request(b"", method="GET"), 405),
    (request(HELLO, method="PUT"), 405),
    (request(HELLO, method="DELETE"), 405),
])
def test_other_requests_get_their_status(raw, expected):
    [(status, _, _)], inbox = ask(raw, limits=QUICK)

    assert status == expected
    assert bool(inbox.messages) == (expected == 200)


def test_405_names_the_method():
    [(_, headers, _)], _ = ask(request(b"", method="GET"))

    assert headers["allow"] == "post"


@pytest.mark.parametrize("path", ["hooks/in", "/hooks/in", " /hooks/in "])
def test_a_path_may_come_without_its_slash(path):
    answers, _ = ask(request(HELLO, path="/hooks/in"), request(HELLO),
                     listen_path=path)

    assert [status for status, _, _ in answers] == [200, 404]


def test_a_chunked_body_is_read():
    body = json.dumps(HELLO).encode()
    raw = (b"POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"
           b"\r\nX-Webhook-Timestamp: %d" % NOW +
           b"\r\nX-Webhook-Signature: " + signed(body).encode() + b"\r\n\r\n"
           + b"5\r\n" + body[:5] + b"\r\n"
           + b"%x\r\n" % len(body[5:]) + body[5:] + b"\r\n0\r\n\r\n")
    [(status, _, _)], inbox = ask(raw)

    assert status == 200
    assert inbox.messages[0].content == "hello"


@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_over_a_mebibyte_is_refused(chunked):
    head = (b"POST /webhook HTTP/1.1\r\nHost: x\r\nX-Webhook-Timestamp: 1"
            b"\r\nX-Webhook-Signature: v1=" + b"0" * 64 + b"\r\n")
    big = b"x" * (1024 * 1024 + 1)
    raw = (head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(big)
           + big + b"\r\n0\r\n\r\n" if chunked
           else head + b"Content-Length: %d\r\n\r\n" % len(big) + big)
    [(status, _, answer)], inbox = ask(raw)

    assert status == 413
    assert "1048576 bytes" in answer["error"]
    assert inbox.messages == []


def test_a_client_that_leaves_in_the_middle_harms_nobody():
    async def go():
        inbox = Inbox()
        async with listening(channel(), inbox) as (port, _):
            for raw in (b"", b"POST", request(HELLO)[:-5]):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(raw)
                await writer.drain()
                writer.transport.abort()
            return await exchange(port, request(HELLO)), inbox
    (status, _, _), inbox = asyncio.run(go())

    assert status == 200
    assert len(inbox.messages) == 1


def test_stopping_lets_a_message_that_is_being_kept_be_answered():
    async def go():
        gate = asyncio.Event()
        inbox = Inbox(gate=gate)
        async with listening(channel(), inbox) as (port, task):
            idle = await asyncio.open_connection("127.0.0.1", port)
            sending = asyncio.create_task(exchange(port, request(HELLO)))
            await inbox.entered.wait()
            task.cancel()
            await asyncio.sleep(0.01)
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)
            gate.set()
            answer = await sending
            assert await idle[0].read() == b""
            idle[1].close()
            return answer, inbox
    (status, _, _), inbox = asyncio.run(go())

    assert status == 200
    assert len(inbox.messages) == 1


def test_a_put_that_hangs_does_not_hold_up_the_end():
    limits = Limits(grace_s=0.05, linger_s=0.05)

    async def go():
        inbox = Inbox(gate=asyncio.Event())
        async with listening(channel(), inbox, None, limits) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1",
                                                           port)
            writer.write(request(HELLO))
            await inbox.entered.wait()
        answer = await reader.read()
        writer.close()
        return answer
    assert asyncio.run(go()).startswith(b"HTTP/1.1 503")


def test_the_port_is_free_again_at_once():
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        port = chosen.getsockname()[1]

    async def go():
        webhook = channel(port=port)
        for _ in range(2):
            async with listening(webhook, Inbox()) as (found, _):
                assert found == port
                assert (await exchange(port, request(HELLO)))[0] == 200
    asyncio.run(go())


# -- construction and binding


@pytest.mark.parametrize("secret", [None, "", "  \n"])
def test_a_webhook_without_secret_never_starts(secret):
    with pytest.raises(ConfigError) as caught:
        channel(secret=secret)

    assert "claw config set channels_config.webhook.secret" \
        in caught.value.hint


def test_a_taken_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UnavailableError) as caught:
            asyncio.run(channel(port=port).listen(hosted(Inbox())))

    assert f"127.0.0.1:{port}" in caught.value.message
    assert "channels_config.webhook.port" in caught.value.hint


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_a_foreign_address_is_a_fault_of_the_settings(host):
    with pytest.raises(ConfigError) as caught:
        asyncio.run(channel(host=host).listen(hosted(Inbox())))

    assert host in caught.value.message
    assert "channels_config.webhook.host" in caught.value.hint


# -- out


@asynccontextmanager
async def receiver(*replies):
    """A server that says these in turn; (address, requests)."""
    seen = []

    def handle(request):
        seen.append(request)
        return replies[min(len(seen), len(replies)) - 1]

    server = HttpServer(handle)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.port}/answers?x=1", seen
    finally:
        await asyncio.to_thread(server.stop)


def send(message, *replies, error=None, **settings):
    """Send through a channel; (what was asked, the error)."""
    async def go():
        async with receiver(*(replies or [Said(200)])) as (url, seen):
            webhook = channel(send_url=url, **settings)
            try:
                await webhook.send(message)
            except Exception as raised:
                if error is None:
                    raise
                return seen, raised
            finally:
                await webhook.aclose()
            return seen, None
    return asyncio.run(go())


def test_an_answer_is_posted_and_signed():
    [request], _ = send(SendMessage("héllo", "mina", thread_ts="t1"),
                        auth_header="Bearer token-of-the-receiver")

    assert (request.method, request.target) == ("POST", "/answers?x=1")
    assert json.loads(request.body) == {
        "id": request.headers["idempotency-key"],
        "content": "héllo", "thread_id": "t1", "recipient": "mina"}
    assert request.headers["x-webhook-timestamp"] == str(NOW)
    assert request.headers["x-webhook-signature"] == signed(request.body)
    assert request.headers["authorization"] == \
        "Bearer token-of-the-receiver"
    assert request.headers["content-type"] == "application/json"
    assert len(request.headers["idempotency-key"]) == 32


@pytest.mark.parametrize("method", ["PUT", "put"])
def test_the_method_is_chosen(method):
    [request], _ = send(SendMessage("x", "mina"), send_method=method)

    assert request.method == "PUT"
    assert "thread_id" not in json.loads(request.body)


def test_a_file_is_at_least_named():
    [request], _ = send(SendMessage("", "mina", attachments=(
        Attachment("/f/a.png", "a.png", "image/png", 3),)))

    assert json.loads(request.body)["attachments"] == [
        {"file_name": "a.png", "mime_type": "image/png", "size_bytes": 3}]


def test_a_blank_answer_is_none():
    log = Log()

    asyncio.run(channel(log=log).send(SendMessage(" \n", "mina")))

    assert log.events() == []


def test_a_repeated_part_has_the_same_key_and_another_message_not():
    async def go():
        async with receiver(Said(500, b"oops"), Said(204)) as (url, seen):
            webhook = channel(send_url=url)
            message = SendMessage("same words", "mina")
            [part] = webhook.parts(message)
            with pytest.raises(UnavailableError):
                await webhook.send_part(message, part)
            await webhook.send_part(message, part)
            await webhook.send(message)
            await webhook.aclose()
            return [r.headers["idempotency-key"] for r in seen]
    first, again, other = asyncio.run(go())

    assert first == again != other


@pytest.mark.parametrize(("reply", "kind", "maybe"), [
    (Said(401, b"who?"), AuthError, False),
    (Said(403), AuthError, False),
    (Said(400, b"bad"), RequestRefusedError, False),
    (Said(404), RequestRefusedError, False),
    (Said(302, headers=(("Location", "/x"),)), RequestRefusedError, False),
    (Said(429, headers=(("Retry-After", "7"),)), RateLimitedError, False),
    (Said(503, headers=(("Retry-After", "7"),)), UnavailableError, False),
    (Said(500), UnavailableError, True),
    (Said(502), UnavailableError, True),
    (Said(504), UnavailableError, True),
    (Said(ending="reset"), UnavailableError, True),
])
def test_a_failure_says_whether_it_may_have_arrived(reply, kind, maybe):
    seen, error = send(SendMessage("x", "mina"), reply, error=True,
                       auth_header="Bearer token-of-the-receiver")

    assert len(seen) == 1
    assert type(error) is kind or not isinstance(
        error, (RateLimitedError, RequestRefusedError))
    assert isinstance(error, kind)
    assert error.maybe_sent is maybe
    assert "the webhook receiver" in error.message
    if reply.headers and reply.status in (429, 503):
        assert error.retry_after_s == 7


def test_an_echoed_secret_is_not_repeated():
    said = f"bad token-of-the-receiver {SECRET}".encode()
    _, error = send(SendMessage("x", "mina"), Said(401, said), error=True,
                    auth_header="Bearer token-of-the-receiver")

    assert "token-of-the-receiver" not in error.message
    assert SECRET not in error.message
    assert "channels_config.webhook.auth_header" in error.hint


def failing(url):
    async def go():
        webhook = channel(send_url=url)
        try:
            await webhook.send(SendMessage("x", "mina"))
        finally:
            await webhook.aclose()
    with pytest.raises(UnavailableError) as caught:
        asyncio.run(go())
    return caught.value


def test_a_refused_connection_surely_did_not_arrive():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    error = failing(f"http://127.0.0.1:{port}/secret-path")

    assert error.maybe_sent is False
    assert "connection refused" in error.message
    assert "secret-path" not in error.message


@pytest.mark.parametrize("url", ["nonsense", "ftp://x/", "http://[::bad/"])
def test_an_address_that_is_none_names_the_setting(url):
    error = failing(url)

    assert error.maybe_sent is False
    assert "channels_config.webhook.send_url" in error.hint


def test_silence_may_have_been_heard(monkeypatch):
    monkeypatch.setattr("claw.channels.webhook.outgoing.TIMEOUT_S", 0.1)
    _, error = send(SendMessage("x", "mina"), Said(ending="silence"),
                    error=True)

    assert isinstance(error, UnavailableError)
    assert error.maybe_sent is True
    assert "the receiver should answer first" in error.hint


def test_a_body_that_breaks_off_was_delivered():
    seen, _ = send(SendMessage("x", "mina"),
                   Said(200, b"x" * 1000, ending="half"))

    assert len(seen) == 1


def test_what_the_outbox_wrote_into_a_part_is_what_is_sent():
    async def go():
        async with receiver(Said(200)) as (url, seen):
            webhook = channel(send_url=url)
            message = SendMessage("words", "mina", thread_ts="t1")
            [part] = webhook.parts(message)
            await webhook.send_part(message, replace(
                part, text="(possibly repeated) words"))
            await webhook.aclose()
            return json.loads(seen[0].body)
    body = asyncio.run(go())

    assert body == {"id": body["id"], "content": "(possibly repeated) words",
                    "thread_id": "t1", "recipient": "mina"}


def test_without_send_url_an_answer_goes_nowhere_and_that_is_told_once():
    log = Log()
    webhook = channel(log=log)

    asyncio.run(webhook.send(SendMessage("x", "mina")))
    asyncio.run(webhook.send(SendMessage("y", "mina")))

    assert log.events() == ["webhook_answers_go_nowhere"]


# -- health


def diagnosis(port=0, **settings):
    async def go():
        webhook = channel(port=port, **settings)
        try:
            found = await webhook.diagnose()
            assert await webhook.health_check() == all(
                f.status != "fail" for f in found)
            return {f.id: f for f in found}
        finally:
            await webhook.aclose()
    return asyncio.run(go())


def test_a_diagnosis_of_good_settings():
    found = diagnosis()

    assert found["secret"].status == found["port"].status == "ok"
    assert found["send_url"].status == "warn"


def test_a_short_secret_is_warned_of():
    found = diagnosis(secret="short")

    assert found["secret"].status == "warn"
    assert "short" not in found["secret"].detail.split()


def test_a_port_of_another_program_fails():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = diagnosis(port)

    assert found["port"].status == "fail"
    assert str(port) in found["port"].hint


def test_a_port_of_a_running_claw_is_well():
    async def go():
        async with listening(channel(), Inbox()) as (port, _):
            return await channel(port=port).diagnose()
    port = {f.id: f for f in asyncio.run(go())}["port"]

    assert port.status == "ok"
    assert "running claw" in port.detail


def test_an_unreachable_receiver_fails():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    found = diagnosis(send_url=f"http://127.0.0.1:{port}/x")

    assert found["tcp"].status == "fail"


def test_the_gateway_may_move_to_the_address_of_a_channel_and_away(
        monkeypatch):
    """There is one server where both have one address, and two else."""
    monkeypatch.setattr("claw.gateway.gateway.RETRY_S", 0.05)
    own, other = find_free_port(), find_free_port()
    settings = [GatewaySettings(port=other)]

    async def build(app, gateway, stack):
        return ()

    async def accepts(*ports):
        """Whether a message comes in at each port."""
        for port in ports:
            with suppress(OSError, asyncio.IncompleteReadError):
                status, _, _ = await exchange(port, request(HELLO))
                if status == 200:
                    continue
            return False
        return True

    async def go():
        inbox, log = Inbox(), Log()
        inbox.gateway = Gateway(lambda: settings[0], build, None, log)
        tasks = [asyncio.create_task(inbox.gateway.run()),
                 asyncio.create_task(channel(port=own).listen(inbox))]
        found = []
        try:
            for port in (other, own, other):
                settings[0] = GatewaySettings(port=port)
                inbox.gateway.renew()
                for _ in range(100):
                    if await accepts(own, port):
                        break
                    await asyncio.sleep(0.05)
                found.append(await accepts(other))
                assert port in [fields["port"] for event, fields in log.lines
                                if event == "gateway.listening"]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return found
    assert asyncio.run(go()) == [True, False, True]
