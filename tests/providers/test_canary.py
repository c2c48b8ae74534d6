"""A thief of keys: whatever a server says back, no key comes out.

The keys here have no known shape, so that only what claw knows of them
hides them; the server echoes each in all the ways that servers write.
"""

import asyncio
import base64
import logging
import traceback
from urllib.parse import quote, quote_plus

import pytest
from raw_server import (
    NAMES,
    Raw,
    ask,
    dump,
    event,
    head,
    line,
    reply,
    settle,
    wires,
)

from claw.core.errors import ClawError

KEY = "canary/0123+4567=birdsong.~x"
HEADER = "canary/89ab+cdef=cuckoo.~y"
FORMS = {
    "plain": lambda s: s,
    "quoted": lambda s: quote(s, safe=""),
    "plus": quote_plus,
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "basic": lambda s: base64.b64encode(f"user:{s}".encode()).decode(),
    "json": lambda s: dump(s).decode(),
}


def traces(secret):
    """The forms of a secret, and what is left of it in base64."""
    return [form(secret) for name, form in FORMS.items() if name != "basic"]


class Heard(logging.Handler):
    def __init__(self):
        super().__init__(logging.DEBUG)
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.getMessage()} {record.args!r} "
                          f"{record.exc_text or ''}")


@pytest.fixture
def log():
    """Everything that is logged, at DEBUG."""
    heard, root = Heard(), logging.getLogger()
    names = ["", "httpx", "httpcore", "openai", "asyncio", "h11", "claw"]
    before = {n: logging.getLogger(n).level for n in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    root.addHandler(heard)
    yield heard.lines
    root.removeHandler(heard)
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def told_by(error):
    """Everything that can be read off an error."""
    seen = []
    current = error
    while current is not None:
        seen += [str(current), repr(current), repr(current.args),
                 str(getattr(current, "hint", "")),
                 str(getattr(current, "__notes__", ""))]
        current = current.__cause__ or current.__context__
    return "\n".join([*seen, *traceback.format_exception(error)])


def no_secret(text, *secrets):
    for secret in secrets:
        for trace in traces(secret):
            assert trace not in text, text[:3000]


async def from_server(build, script, stream, **more):
    async with Raw(reply(script)) as raw:
        provider = build(f"http://127.0.0.1:{raw.port}", **more)
        try:
            found = await ask(provider, stream)
            listed = None
            try:
                await provider.models()
            except ClawError as error:
                listed = error
        finally:
            await provider.aclose()
        return provider, found, listed


def echo(status, wire, stream):
    """A server that says every secret it was sent, in every form."""
    body = dump({"error": {"message": " or ".join(
        f"{form(KEY)} and {form(HEADER)}" for form in FORMS.values()),
        "code": status}})

    async def script(_reader, writer, _top, _body):
        if status == 200:
            framed = body + b"\n" if wire.frame is line else event(body)
            sent = framed if stream else body
            writer.write(head(200, wire.content_type(stream), len(sent))
                         + sent)
        else:
            writer.write(head(status, "application/json", len(body)) + body)
        return True
    return script


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [200, 400, 401, 403, 429, 500])
@pytest.mark.parametrize("name", NAMES)
def test_what_a_server_says_back_holds_no_key(
        name, status, stream, tmp_path, log):
    wire = wires(tmp_path)[name]

    provider, found, listed = settle(lambda: from_server(
        wire.build, echo(status, wire, stream), stream, key=KEY,
        extra_headers={"X-Mine": HEADER}))

    assert found.error is not None
    text = "\n".join([told_by(found.error), told_by(listed) if listed
                      else "", repr(provider), *log])
    no_secret(text, *(() if name == "ollama" else (KEY,)), HEADER)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("key", [
    "canary\nbirdsong-0123", "canary birdsong\r\nX: y", "canary\0birdsong1",
    "canary-Ünicode-birdsong", "canary\ud800birdsong", "birdsong " * 3_000,
], ids=["newline", "crlf", "nul", "letter", "surrogate", "long"])
@pytest.mark.parametrize("name", [n for n in NAMES if n != "login"])
def test_a_key_that_no_header_takes_is_not_told(
        name, key, stream, tmp_path, log):
    wire = wires(tmp_path)[name]

    async def script(_reader, writer, top, _body):
        writer.write(head(401, "application/json", 2) + b"{}")

    try:
        _, found, _ = settle(lambda: from_server(
            wire.build, script, stream, key=key))
    except ClawError as error:  # refused when it is built
        text = told_by(error)
    else:
        text = told_by(found.error) if found.error else ""
    assert "birdsong" not in text + "\n".join(log)


@pytest.mark.parametrize("fault", ["refused", "cut", "http", "dns"])
@pytest.mark.parametrize("name", ["loopback", "httpx", "anthropic",
                                  "gemini", "openai"])
def test_a_key_in_the_address_is_not_told(name, fault, tmp_path, log):
    """custom:http://host/v1?key=..., as some gateways want it."""
    wire = wires(tmp_path)[name]

    async def script(_reader, writer, _top, _body):
        if fault == "http":
            body = dump({"error": {"message": f"no: {KEY}"}})
            writer.write(head(401, "application/json", len(body)) + body)

    async def go():
        async with Raw(script) as raw:
            port = 1 if fault == "refused" else raw.port
            host = "name.invalid" if fault == "dns" else "127.0.0.1"
            provider = wire.build(
                f"http://{host}:{port}/v1?key={quote(KEY, safe='')}#",
                key="other-key-1234567")
            try:
                found = await ask(provider, False)
                return found.error
            finally:
                await provider.aclose()
    error = settle(go)
    assert error is not None
    assert error.hint
    no_secret(told_by(error) + "\n".join(log), KEY)


def test_asyncio_says_nothing_of_requests(log):
    asyncio.run(asyncio.sleep(0))

    no_secret("\n".join(log), KEY)
