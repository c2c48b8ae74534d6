"""The network at its worst: every wire against every fault.

The only outcomes are the whole answer, or a ClawError of the right class
with the next step in its hint; connections are closed behind both.
"""

import asyncio
import gzip
import json
import zlib

import pytest
from raw_server import (
    HELLO,
    NAMES,
    TEXT,
    Raw,
    ask,
    event,
    head,
    in_pieces,
    meet,
    reply,
    reset,
    saying,
    settle,
    wires,
)

from claw.core.errors import (
    AuthError,
    IncompleteAnswerError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)

both = pytest.mark.each("stream", [False, True])
every = pytest.mark.parametrize("name", NAMES)
# One of each kind, where the table of faults is long.
few = pytest.mark.parametrize("name", ["loopback", "openai", "anthropic",
                                       "gemini", "ollama"])
SSE = tuple(n for n in NAMES if n != "ollama")


@pytest.fixture
def wire(name, tmp_path):
    return wires(tmp_path)[name]


def top(wire, stream, length=None, *more):
    return head(200, wire.content_type(stream), length, *more)


def good(found):
    assert found.error is None, (found.error, found.error.hint)
    assert found.text == TEXT


def bad(found, kind, *words):
    assert type(found.error) is kind, found
    told = f"{found.error.message} | {found.error.hint}"
    for word in words:
        assert word in told, told
    assert found.error.hint, f"no next step: {found.error.message}"


@both
@every
def test_a_good_answer_is_read(wire, stream):
    body = wire.body(stream)

    good(meet(wire, stream, saying(top(wire, stream, len(body)) + body)))


@both
@every
def test_half_a_character_at_every_border_is_no_loss(wire, stream):
    body = wire.body(stream)

    good(meet(wire, stream, in_pieces(
        top(wire, stream, None, "Transfer-Encoding: chunked"),
        [body[i:i + 1] for i in range(len(body))])))


@pytest.mark.each("ending", [b"\r\n", b"\r", b"\n"])
@pytest.mark.parametrize("name", SSE)
def test_events_end_in_any_kind_of_line_end(wire, ending):
    body = b"\xef\xbb\xbf: hello\n\n:\nid: 1\nretry: 5\n\n" \
        + wire.body(True)
    body = body.replace(b"\n", ending)

    good(meet(wire, True, in_pieces(
        top(wire, True, None, "Transfer-Encoding: chunked"),
        [body[i:i + 7] for i in range(0, len(body), 7)])))


@pytest.mark.parametrize("name", NAMES)
def test_the_last_event_needs_no_blank_line(wire):
    body = wire.body(True).rstrip(b"\n")

    good(meet(wire, True, saying(top(wire, True) + body)))


@both
@every
@pytest.mark.each("packing", ["gzip", "deflate"])
def test_a_packed_answer_is_unpacked_though_nobody_asked(
        wire, stream, packing):
    body = wire.body(stream)
    body = gzip.compress(body) if packing == "gzip" else zlib.compress(body)

    good(meet(wire, stream, saying(top(
        wire, stream, len(body), f"Content-Encoding: {packing}") + body)))


@both
@few
@pytest.mark.each("packing", ["br", "zstd", "x-odd"])
def test_a_packing_that_nobody_can_open_is_named(wire, stream, packing):
    body = b"\x8b\x04\x80\xff\xfe garbage"

    bad(meet(wire, stream, saying(top(
        wire, stream, len(body), f"Content-Encoding: {packing}") + body)),
        IncompleteAnswerError)


@both
@every
def test_a_broken_packing_is_an_error(wire, stream):
    body = b"this is no gzip"

    bad(meet(wire, stream, saying(top(
        wire, stream, len(body), "Content-Encoding: gzip") + body)),
        IncompleteAnswerError)


@both
@pytest.mark.parametrize("name", ["loopback", "httpx", "openai"])
def test_a_gzip_bomb_goes_off_far_away(wire, stream):
    bomb = gzip.compress(b"\0" * (100 << 20))

    bad(meet(wire, stream, saying(top(
        wire, stream, len(bomb), "Content-Encoding: gzip") + bomb)),
        UnavailableError)


@both
@pytest.mark.parametrize("name", ["loopback", "openai", "ollama"])
def test_a_hundred_megabytes_are_too_much(wire, stream):
    async def script(_reader, writer, _top, _body):
        writer.write(top(wire, stream))
        for _ in range(100):
            writer.write(b" " * (1 << 20))
            await writer.drain()

    bad(meet(wire, stream, reply(script)), UnavailableError, "more than")


@every
@pytest.mark.each("open_ended", [False, True])
def test_ten_megabytes_in_one_event_are_a_named_error(wire, open_ended):
    body = (b"data: " if wire.kind.endswith("stream") else b"") + (
        b"x" * (10 << 20)) + (b"" if open_ended else b"\n\n")

    bad(meet(wire, True, saying(top(wire, True, len(body)) + body)),
        UnavailableError, "more than")


PAGE = b"<!DOCTYPE html><html><head><title>Welcome</title></head></html>"


@both
@few
@pytest.mark.each(("status", "kind", "body", "error"), [
    (200, "text/html", PAGE, UnavailableError),
    (200, "TEXT/HTML; charset=utf-8", PAGE, UnavailableError),
    (200, "application/json", PAGE, None),
    (200, "text/event-stream", PAGE, None),
    (502, "text/html", PAGE, UnavailableError),
    (503, "text/html", PAGE, OverloadedError),
    (200, "application/json", b"", IncompleteAnswerError),
    (200, "text/event-stream", b"", IncompleteAnswerError),
    (200, "application/json", b"null", IncompleteAnswerError),
    (200, "application/json", b"[]", IncompleteAnswerError),
    (200, "application/json", b"[1, {}]", IncompleteAnswerError),
    (200, "application/json", b"17", IncompleteAnswerError),
    (200, "application/json", b'"hello"', IncompleteAnswerError),
    (200, "application/json", b"NaN", IncompleteAnswerError),
    (200, "application/json", b"{}", IncompleteAnswerError),
    (200, "application/json", b"[" * 2000 + b"]" * 2000,
     IncompleteAnswerError),
    (200, "application/json", b'{"a":' * 2000 + b"1" + b"}" * 2000,
     IncompleteAnswerError),
    (200, "application/json", b'{"a": ' + b"9" * 5000 + b"}",
     IncompleteAnswerError),
    (200, "application/json", b"\xff\xfe{}", IncompleteAnswerError),
    (200, "text/plain", b"ok", IncompleteAnswerError),
    (204, "application/json", b"", IncompleteAnswerError),
])
def test_what_is_no_answer_is_said(wire, stream, status, kind, body, error):
    length = None if status == 204 else len(body)
    found = meet(wire, stream, saying(head(status, kind, length) + body))

    if error is None:
        assert isinstance(found.error, UnavailableError), found
        assert found.error.hint
    else:
        assert isinstance(found.error, error), found
        assert found.error.hint


def cut(data, script_end=None):
    async def script(_reader, writer, _top, _body):
        writer.write(data)
        await writer.drain()
        if script_end == "reset":
            reset(writer)
    return reply(script)


@both
@few
@pytest.mark.each("end", ["close", "reset"])
@pytest.mark.each("where", ["nothing", "status", "headers", "middle",
                                   "length", "chunk"])
def test_a_connection_that_breaks_is_an_incomplete_answer(
        wire, stream, where, end):
    body = wire.body(stream)
    half = body[:len(body) // 3]
    data = {
        "nothing": b"", "status": b"HTTP/1.1 200",
        "headers": top(wire, stream, len(body)),
        "middle": top(wire, stream, len(body)) + half,
        "length": top(wire, stream, len(body) + 100)
        + (wire.cut_body() if stream else body),
        "chunk": top(wire, stream, None, "Transfer-Encoding: chunked")
        + b"%x\r\n" % len(body) + half}[where]

    bad(meet(wire, stream, cut(data, end)), IncompleteAnswerError,
        "try again")


@every
def test_a_stream_without_its_end_is_no_short_answer(wire):
    body = wire.cut_body()

    found = meet(wire, True, saying(top(wire, True, len(body)) + body))

    bad(found, IncompleteAnswerError, "try again")
    assert found.shown


@every
@pytest.mark.each("after", ["again", "garbage", "error", "reset"])
def test_what_comes_behind_the_end_does_no_harm(wire, after):
    end = wire.events()[-1]
    if "candidates" in end:  # has no last event, text may go on
        end["candidates"][0]["content"]["parts"] = [{"text": ""}]
    end = wire.frame(end) + wire.tail
    body = wire.body(True) + {
        "again": end, "garbage": b"data: {\xff\xfe\n\n\0\0\0\n",
        "error": wire.frame(wire.broken), "reset": b""}[after]

    async def script(_reader, writer, _top, _body):
        writer.write(top(wire, True, len(body) + 50) + body)
        await writer.drain()
        if after == "reset":
            await asyncio.sleep(0.05)
            reset(writer)
    found = meet(wire, True, reply(script))

    if found.error is not None:  # who has no last word has to listen on
        assert after in ("garbage", "error"), found
        assert "gemini" in found.error.message.lower(), found
    else:
        good(found)


@every
def test_an_error_after_the_first_words_is_that_error(wire):
    body = b"".join(wire.frame(e) for e in wire.events()[:-wire.last]) \
        + wire.frame(wire.broken)

    found = meet(wire, True, saying(top(wire, True, len(body)) + body))

    bad(found, UnavailableError, "it broke")
    assert found.shown


@both
@every
@pytest.mark.each("where", ["nothing", "headers", "middle"])
def test_silence_ends_at_the_time_limit(wire, stream, where):
    body = wire.body(stream)
    data = {"nothing": b"", "headers": top(wire, stream, len(body)),
            "middle": top(wire, stream, len(body))
            + body[:len(body) // 3]}[where]

    async def script(reader, writer, _top, _body):
        writer.write(data)
        await writer.drain()
        await reader.read()

    bad(meet(wire, stream, reply(script), timeout_s=0.3), UnavailableError,
        "within 0.3 s", "claw config set provider_timeout_secs")


@every
def test_a_trickle_is_no_answer_within_the_limit(wire):
    async def script(_reader, writer, _top, _body):
        writer.write(top(wire, False))
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.05)

    bad(meet(wire, False, reply(script), timeout_s=0.4), UnavailableError,
        "within 0.4 s")


@both
@every
def test_interim_answers_are_passed_over(wire, stream):
    body = wire.body(stream)
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n" \
        b"Link: </x>\r\n\r\n"

    good(meet(wire, stream, saying(
        interim + top(wire, stream, len(body)) + body)))


@both
@every
@pytest.mark.each("where", ["other", "circle", "nowhere", "odd"])
@pytest.mark.each("status", [302, 303, 307])
def test_a_key_never_travels_with_a_redirect(wire, stream, status, where):
    async def go():
        async with Raw(reply(other)) as elsewhere:
            target = {"other": f"http://localhost:{elsewhere.port}/v1/x",
                      "circle": None, "nowhere": "",
                      "odd": "http://[::1"}[where]

            async def script(_reader, writer, request, _body):
                path = target
                if path is None:
                    path = request.split(b" ")[1].decode()
                writer.write(head(status, "text/plain", 0,
                                  f"Location: {path}"))
                return True
            async with Raw(reply(script)) as raw:
                from_here = wire.build(f"http://127.0.0.1:{raw.port}")
                try:
                    found = await ask(from_here, stream)
                finally:
                    await from_here.aclose()
                assert await raw.left()
            assert not elsewhere.heard, elsewhere.heard
            return found

    async def other(_reader, writer, _top, _body):
        writer.write(head(200, "text/plain", 2) + b"no")

    found = settle(go)
    assert isinstance(found.error, UnavailableError), found
    assert "base URL" in (found.error.hint or ""), found


ODD_BODIES = [b"", b"\xff\xfe\0", b"null", b"[]", b"[" * 3000, b'{"error": 5}',
              b'{"error": [[1]]}',
              b'{"error": {"message": {"a": 1}}}', b'{"message": "\\ud800"}',
              b'{"error": {"code": "x", "metadata": {"raw": {}}}}',
              b"x" * 200_000]


@both
@few
@pytest.mark.each(("status", "kinds"), [
    (400, (RequestRefusedError,)), (401, (AuthError,)),
    (402, (QuotaError,)), (403, (AuthError, RequestRefusedError)),
    (404, (RequestRefusedError,)), (405, (RequestRefusedError,)),
    (407, (UnavailableError, AuthError, RequestRefusedError)),
    (408, (UnavailableError,)), (409, (UnavailableError,)),
    (413, (RequestRefusedError,)), (422, (RequestRefusedError,)),
    (429, (RateLimitedError,)), (451, (RequestRefusedError,)),
    (500, (UnavailableError,)), (501, (UnavailableError,)),
    (503, (OverloadedError,)), (504, (UnavailableError,)),
    (529, (OverloadedError,)), (599, (UnavailableError,)),
    (600, (UnavailableError,)), (999, (UnavailableError,)),
])
def test_every_status_has_its_error_whatever_the_body(
        wire, stream, status, kinds):
    async def go():
        state = {"body": b""}

        async def script(_reader, writer, _top, _body):
            body = state["body"]
            writer.write(head(status, "application/json", len(body))
                         + body)
            return True
        async with Raw(reply(script)) as raw:
            provider = wire.build(f"http://127.0.0.1:{raw.port}")
            try:
                for body in ODD_BODIES:
                    state["body"] = body
                    found = await ask(provider, stream)
                    assert isinstance(found.error, kinds), (body[:40], found)
                    assert len(found.error.message) < 700
            finally:
                await provider.aclose()
            assert await raw.left()
    settle(go)


@both
@few
@pytest.mark.each("data", [
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: garbage\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
    b"HTTP/1.1 two OK\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.6\r\n", b"\0\0\0\0", b"220 smtp ready\r\n",
    b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nA\0B: c\r\n\r\n",
    b"\x15\x03\x01\x00\x02\x02\x16",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
    b"Connection: upgrade\r\n\r\n",
], ids=lambda d: repr(d[:30]))
def test_what_is_no_http_is_an_error(wire, stream, data):
    found = meet(wire, stream, saying(data))

    assert isinstance(found.error, UnavailableError), found
    assert found.error.hint


@both
@every
def test_a_body_longer_than_said_is_cut_where_it_was_said(wire, stream):
    body = wire.body(stream)

    good(meet(wire, stream, saying(
        top(wire, stream, len(body)) + body + b"HTTP/1.1 500 X\r\n\r\n")))


@both
@every
def test_a_server_that_answers_before_it_read(wire, stream):
    if name_is_asked_beside(wire):
        pytest.skip("asks for the project first")
    body = wire.body(stream)

    async def script(_reader, writer, _top, _body):
        writer.write(top(wire, stream, len(body)) + body)
        await writer.drain()

    found = meet(wire, stream, script, read_first=False)
    if found.error is None:
        good(found)
    else:
        bad(found, IncompleteAnswerError)


def name_is_asked_beside(wire):
    return "login" in repr(wire.build)


@both
@every
def test_surrogates_and_nul_arrive_as_text(wire, stream):
    given = "a\ud800b\0c\ud83e\udd80 tail to be long enough"
    if stream:
        body = b"".join(
            wire.frame(_ascii(e)) if wire.frame is event
            else _ascii(e) + b"\n" for e in wire.events(given)) + wire.tail
    else:
        body = _ascii(wire.whole(given))

    found = meet(wire, stream, saying(top(wire, stream, len(body)) + body))

    assert found.error is None, found
    (found.text or "").encode()
    assert "tail to be long enough" in found.text


async def fail_in(stream):
    async for _ in stream:
        raise KeyError


def _ascii(value):
    return json.dumps(value).encode()


@every
@pytest.mark.each("way", ["aclose", "cancel", "cancel_waiting",
                                 "raise"])
def test_a_stream_that_is_left_early_is_hung_up(wire, way):
    pieces = wire.cut_body()

    async def script(reader, writer, _top, _body):
        if way != "cancel_waiting":
            writer.write(top(wire, True) + pieces)
            await writer.drain()
        await reader.read()

    async def go():
        async with Raw(reply(script)) as raw:
            provider = wire.build(f"http://127.0.0.1:{raw.port}")
            stream = provider.stream_chat(HELLO, "m", 0.5)
            if way == "aclose":
                await anext(stream)
                await stream.aclose()
            elif way == "raise":
                with pytest.raises(KeyError):
                    await fail_in(stream)
                await stream.aclose()
            else:
                async def read():
                    async for _ in stream:
                        pass
                task = asyncio.create_task(read())
                await asyncio.sleep(0.2)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert await raw.left(), "the server still waits"
            await provider.aclose()
    settle(go)
