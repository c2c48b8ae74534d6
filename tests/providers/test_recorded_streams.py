"""Streams that aimock and LiteLLM once sent (tests/peers/record_streams.py),
read by us and by the vendors' own clients: both understand the same."""

from pathlib import Path

import pytest

from claw.core.errors import IncompleteAnswerError
from claw.testing.http_server import HttpServer, Reply

from ..peers.vendor_sdks import Question, Usage, by_claw, by_sdk

FOLDER = Path(__file__).parent / "recorded"
NAMES = sorted(p.stem for p in FOLDER.glob("*.sse"))
CLIENTS = {"chat": "openai", "responses": "openai",
           "anthropic": "anthropic", "gemini": "google.genai"}
SAID = {
    "cut": "Hello from the other side, in pieces: 안녕 👋 done.",
    "text": "Hello, in pieces: 안녕 👋 done.",
    "thoughts": "42",
    "calls": "I look.",
}
CALLS = [("get_weather", {"city": 'Ålesund "x" \\ \n',
                          "near": [1, -2.5, None, {}]}),
         ("get_weather", {})]
# LiteLLM's streams for Gemini leave thoughts out and count nothing.
POOR = "litellm-gemini-"
streams = pytest.mark.parametrize("name", NAMES)


class Replay:
    """Answers every request with the same bytes."""

    def __init__(self):
        self.body = b""
        self._server = HttpServer(lambda _: Reply(
            body=self.body, content_type="text/event-stream"))

    def __enter__(self):
        self._server.start()
        return self

    def __exit__(self, *_):
        self._server.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.port}"

    def read(self, reader, wire):
        return reader(wire, self.url, "sk-any-0123456789", Question("hello"),
                      stream=True, model="m")


@pytest.fixture(scope="module")
def replay():
    with Replay() as server:
        yield server


def parts(name):
    server, wire, case = name.split("-")
    return server, wire, case


def events(name):
    """The stream, event by event."""
    return (FOLDER / f"{name}.sse").read_bytes().replace(
        b"\r\n", b"\n").split(b"\n\n")[:-1]


def test_every_wire_has_its_streams():
    assert len(NAMES) == 2 * len(CLIENTS) * 3


@streams
def test_the_vendors_client_and_claw_read_the_same(name, replay):
    _, wire, _ = parts(name)
    pytest.importorskip(CLIENTS[wire])
    replay.body = (FOLDER / f"{name}.sse").read_bytes()
    client, ours = (replay.read(r, wire) for r in (by_sdk, by_claw))

    assert ours.text == client.text
    assert [c[1:] for c in ours.calls] == [c[1:] for c in client.calls]
    assert [c.id for c in client.calls if c.id] in (
        [c.id for c in ours.calls], [])  # who gets no id gives one
    assert ours.thoughts == client.thoughts
    assert ours.usage == client.usage


@streams
def test_what_was_said_is_read(name, replay):
    _, wire, case = parts(name)
    replay.body = (FOLDER / f"{name}.sse").read_bytes()
    ours = replay.read(by_claw, wire)

    assert ours.text == SAID[case]
    assert [(c.name, c.arguments) for c in ours.calls] == (
        CALLS if case == "calls" else [])
    assert len({c.id for c in ours.calls}) == len(ours.calls)
    assert ours.thoughts == ("Let me think about it." if case == "thoughts"
                             and not name.startswith(POOR) else "")
    assert ours.usage == (Usage(0, 0) if name.startswith(POOR)
                          else Usage(1234, 56))


@streams
def test_a_stream_cut_between_two_events_is_whole_or_an_error(name, replay):
    _, wire, _ = parts(name)
    pieces = events(name)
    replay.body = b"\n\n".join(pieces) + b"\n\n"
    whole = replay.read(by_claw, wire)
    wholes = 0
    for end in range(len(pieces)):
        replay.body = b"".join(p + b"\n\n" for p in pieces[:end])
        try:
            ours = replay.read(by_claw, wire)
        except IncompleteAnswerError:
            assert not wholes, "what was whole is no longer"
            continue
        wholes += 1
        assert ours.text == whole.text
        assert [c[1:] for c in ours.calls] == [c[1:] for c in whole.calls]

    assert wholes <= 2  # token counts and [DONE] come behind the end
