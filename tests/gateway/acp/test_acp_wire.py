"""claw acp over bare pipes: garbage, huge lines, an editor that vanishes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from claw.gateway.acp.peer import Peer
from claw.gateway.acp.stdio import LineWriter, Splitter
from claw.storage.sessions import SessionStore
from claw.testing.fake_openai import FakeOpenAI, Reply, slow, tool_call

from .conftest import CONFIG


def write(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method,
                       "params": params})


INITIALIZE = write(0, "initialize", protocolVersion=1)


class Raw:
    """A `claw acp` and its pipes."""

    def __init__(self, environment, **options):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "claw", "acp"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment, **options)

    def send(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def read_answer(self, number):
        """The answer to a request; what comes before is passed over."""
        while True:
            found = self.read()
            if found.get("id") == number and "method" not in found:
                return found

    def open(self, cwd="/"):
        self.send(INITIALIZE, write(1, "session/new", cwd=cwd,
                                    mcpServers=[]))
        return self.read_answer(1)["result"]["sessionId"]

    def prompt(self, session, text, number=2):
        self.send(write(number, "session/prompt", sessionId=session,
                        prompt=[{"type": "text", "text": text}]))

    def end(self):
        """Close the pipe; (exit code, what was still said, errors)."""
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


@pytest.fixture
def raw(environment):
    started = []

    def start(**options):
        started.append(Raw(environment, **options))
        return started[-1]
    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


@pytest.mark.each(("line", "code"), [
    ("garbage", -32700),
    ("{", -32700),
    ('"' + "[" * 5_000, -32700),
    ("[" * 100_000, -32600),
    ("[]", -32600),
    ("17", -32600),
    ("{}", -32600),
    ('{"jsonrpc": "2.0"}', -32600),
    ('{"jsonrpc": "1.0", "id": 1, "method": "initialize"}', -32600),
    ('{"jsonrpc": "2.0", "id": [], "method": "initialize"}', -32600),
    ('{"jsonrpc": "2.0", "id": 1, "method": 2}', -32600),
    (write(1, "nope"), -32601),
    (write(1, "fs/read_text_file"), -32601),
    ('{"jsonrpc": "2.0", "id": 1, "method": "initialize"}', -32602),
    (write(1, "initialize", protocolVersion="one"), -32602),
    (write(1, "session/new"), -32602),
    (write(1, "session/new", cwd="here", mcpServers=[]), -32602),
    (write(1, "session/new", cwd=7, mcpServers=[]), -32602),
    (write(1, "session/new", cwd="/", mcpServers="x"), -32602),
    (write(1, "session/prompt", sessionId="x", prompt=[]), -32002),
    (write(1, "session/prompt", sessionId="x", prompt=[
        {"type": "audio", "data": "", "mimeType": "a"}]), -32602),
    (write(1, "session/prompt", sessionId="x", prompt=[{}]), -32602),
    (write(1, "session/load", sessionId="../../etc/passwd", cwd="/",
           mcpServers=[]), -32002),
    (write(1, "session/set_mode", sessionId="x", modeId="full"), -32002),
    (write(1, "authenticate", methodId="x"), -32602),
])
def test_nonsense_is_answered_with_an_error(line, code, served):
    found = served(line)

    assert [one["error"]["code"] for one in found] == [code]


@pytest.fixture
def served(claw, tmp_path):
    """What one line is answered with, in the process of the test."""
    def serve(*lines):
        done = claw("acp", stdin="\n".join(lines))
        assert done.code == 0
        return [json.loads(line) for line in done.out.splitlines()]
    return serve


@pytest.mark.parametrize("half", ["\\ud800", "\\uDC00", "\\ud800x"])
def test_half_a_character_is_answered_with_the_requests_own_id(half, served):
    [found] = served('{"jsonrpc": "2.0", "id": 7, "method": "session/prompt",'
                     ' "params": {"sessionId": "x", "prompt": [{"type": '
                     f'"text", "text": "a{half}b"}}]}}}}')

    assert found["id"] == 7
    assert found["error"]["code"] == -32002  # no such session


@pytest.mark.parametrize("line", [
    "", "  ", '{"jsonrpc": "2.0", "method": "nope"}',
    '{"jsonrpc": "2.0", "method": "session/cancel"}',
    '{"jsonrpc": "2.0", "method": "session/cancel", "params": '
    '{"sessionId": "x"}}',
    '{"jsonrpc": "2.0", "method": "$/cancel_request", "params": '
    '{"requestId": 1}}',
    '{"jsonrpc": "2.0", "id": 99, "result": {}}',
    '{"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}}',
])
def test_what_wants_no_answer_gets_none(line, served):
    assert served(line) == []


def test_a_huge_line_is_refused_and_the_next_one_served(environment, raw):
    one = raw()
    for _ in range(40):
        one.process.stdin.write("x" * (1 << 20))
    one.send("", INITIALIZE)

    refused, answered = one.read(), one.read()
    with open(f"/proc/{one.process.pid}/status") as status:
        most = next(line for line in status if line.startswith("VmHWM"))

    assert refused["id"] is None
    assert "longer than 32 MiB" in refused["error"]["message"]
    assert answered["result"]["protocolVersion"] == 1
    assert int(most.split()[1]) < 150_000  # kB


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_lines_come_out_whole_however_they_are_cut(chunk):
    text = b"one\n\n0123456789\n01234567890\ntwo\nrest"
    lines = Splitter(limit=10)
    found = [line for at in range(0, len(text), chunk)
             for line in lines.feed(text[at:at + chunk])]
    found += lines.end()

    assert found == [b"one", b"", b"0123456789", None, b"two", b"rest"]


@pytest.mark.parametrize("way", ["eof", "term", "gone"])
def test_an_editor_that_vanishes_ends_the_turn_and_it_is_kept(
        raw, home, write_config, way):
    with FakeOpenAI([Reply("It was a dark night. " * 9, fault="stall",
                           after_chunks=9)]) as server:
        write_config(CONFIG.format(url=server.url))
        one = raw()
        session = one.open(str(home / "workspace"))
        one.prompt(session, "tell me")
        said = ""
        while "dark night" not in said:
            update = one.read().get("params", {}).get("update", {})
            said += update.get("content", {}).get("text", "")
        started = time.monotonic()
        if way == "term":
            one.process.send_signal(signal.SIGTERM)
        elif way == "gone":
            one.process.stdout.close()
            one.process.stdout = None
            one.send(INITIALIZE)
            one.process.wait(20)
        code, _, err = one.end()

    assert code == 0
    assert time.monotonic() - started < 8
    assert "Traceback" not in err
    kept = SessionStore(home / "workspace" / "sessions").load(session)
    assert [one["data"]["role"] for one in kept] == ["user", "assistant"]
    assert "dark night" in kept[1]["data"]["content"]
    assert "interrupted" in kept[1]["data"]["content"]


def test_a_tool_dies_with_the_editor(raw, home, write_config):
    with FakeOpenAI([tool_call("shell", command="sleep 97.25")]) as server:
        write_config(CONFIG.format(url=server.url))
        one = raw()
        one.prompt(one.open(), "wait")
        while '"in_progress"' not in json.dumps(one.read()):
            pass
        code, _, _ = one.end()

    assert code == 0
    time.sleep(0.3)
    assert "97.25" not in subprocess.run(
        ["ps", "-eo", "args"], capture_output=True, text=True,
        check=True).stdout


def test_a_request_that_nobody_waits_for_any_more_is_cancelled(
        raw, write_config):
    with FakeOpenAI([slow("never", 30), "Here."]) as server:
        write_config(CONFIG.format(url=server.url))
        one = raw()
        session = one.open()
        one.prompt(session, "hello", number="a")
        time.sleep(0.5)
        one.send('{"jsonrpc": "2.0", "method": "$/cancel_request", '
                 '"params": {"requestId": "a"}}')
        cancelled = one.read_answer("a")
        one.prompt(session, "again", number="b")
        after = one.read_answer("b")

    assert cancelled["error"]["code"] == -32800
    assert after["result"] == {"stopReason": "end_turn"}


def test_an_answer_is_out_before_the_end(raw, write_config):
    one = raw()
    one.send(INITIALIZE, write(1, "session/new", cwd="/", mcpServers=[]))
    code, out, _ = one.end()

    ids = {json.loads(line).get("id") for line in out.splitlines()}
    assert code == 0
    assert {0, 1} <= ids


def test_prints_of_others_are_no_part_of_the_protocol(environment):
    code = """
import os
from claw.cli.app import run
from claw.gateway.acp.server import Server

async def print_much(self, params):
    print("printed")
    os.write(1, b"written\\n")
    os.system("echo echoed")
    return {}

Server._authenticate = print_much
run(["acp"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        env=environment, check=True,
        input=write(1, "authenticate", methodId="x") + "\n")

    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1]
    for word in ("printed", "written", "echoed"):
        assert word in done.stderr


def test_initialize_loads_no_http_client_and_no_provider(environment):
    code = """
import json, sys
from claw.cli.app import run
run(["acp"])
sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        env={**environment, "OPENAI_API_KEY": "k"}, check=True,
        input=INITIALIZE + "\n" + write(1, "session/new", cwd="/",
                                        mcpServers=[]) + "\n")
    loaded = set(json.loads(done.stderr.rsplit("\n", 1)[1]))

    assert '"image":true' in done.stdout
    assert loaded & {"httpx", "numpy", "rich", "pydantic", "acp", "mcp",
                     "starlette", "claw.providers.openai.provider",
                     "claw.net.http"} == set()


def test_a_turn_is_the_owners_and_stands_in_the_log(raw, home, claw,
                                                    write_config):
    with FakeOpenAI(["Noted."]) as server:
        write_config(CONFIG.format(url=server.url))
        one = raw()
        one.prompt(one.open(), "I like Assam tea best")
        one.read_answer(2)
        one.end()
        logged = claw("log", "list", "--json")

    assert "Assam" in logged.out
    assert "Assam" in claw("memory", "recall", "Assam").out


def test_without_standard_input_it_is_wrong_usage(environment):
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m claw acp <&-"],
        env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "there is no standard input" in done.stderr


def test_half_a_character_does_not_end_the_connection():
    sent = []
    Peer({}, sent.append, print).notify("x", {"text": "a\ud83d"})

    assert json.loads(sent[0])["params"]["text"] == "a?"


def test_a_writer_gives_up_on_an_editor_that_does_not_read():
    async def stuff():
        gone = asyncio.Event()
        loop = asyncio.get_running_loop()
        readable, writable = os.pipe()
        writer = LineWriter(writable, lambda: loop.call_soon_threadsafe(
            gone.set))
        for _ in range(70):
            writer.write(b"x" * (1 << 20))
        await asyncio.wait_for(gone.wait(), 5)
        os.close(readable)
        writer.close()
        os.close(writable)
    asyncio.run(stuff())
