"""The cli channel: pipes, files, a terminal."""

import asyncio
import io
import json
import os
import pty
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from claw.channels import REGISTRY
from claw.channels.cli.channel import MAX_LINE_BYTES, CliChannel, CliSettings
from claw.core.channel import Button, ChannelDeps, SendMessage
from claw.core.errors import StorageError, UnavailableError


class Inbox:
    def __init__(self, error=None):
        self.messages = []
        self.error = error
        self.heard = 0
        self.arrived = asyncio.Event()

    async def put(self, message):
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        self.messages.append(message)
        self.arrived.set()

    def received(self):
        self.heard += 1


def channel(stdin=None, stdout=None, *, jsonl=False, log=None):
    nowhere = Path("/nowhere")
    deps = ChannelDeps(nowhere, nowhere,
                       log=log or (lambda event, **fields: None))
    return CliChannel(CliSettings(jsonl=jsonl), deps,
                      stdin=stdin or io.BytesIO(), stdout=stdout)


def heard(data, **settings):
    """The messages of some input."""
    inbox = Inbox()
    asyncio.run(channel(io.BytesIO(data), **settings).listen(inbox))
    return inbox.messages


@contextmanager
def pipe():
    """(file to read, descriptor to write)."""
    read, write = os.pipe()
    file = os.fdopen(read, "rb")
    try:
        yield file, write
    finally:
        file.close()
        try:
            os.close(write)
        except OSError:  # the test closed it
            pass


# -- in


def test_the_registry_knows_it():
    assert REGISTRY.load("cli") is CliChannel


def test_each_line_is_a_message():
    one, two = heard(b"hello\n  two words \r\n\n \t \n")

    assert (one.content, two.content) == ("hello", "two words")
    assert (one.sender, one.reply_target, one.channel) == (
        "user", "user", "cli")
    assert one.thread_ts is None
    assert len(one.id) == 36
    assert one.id != two.id
    assert abs(one.timestamp - time.time()) < 5


def test_the_last_line_needs_no_end():
    assert [m.content for m in heard(b"a\nb")] == ["a", "b"]


@pytest.mark.parametrize("end", [b"/quit", b" /exit  "])
def test_a_command_ends_it(end):
    assert [m.content for m in heard(b"a\n" + end + b"\nb\n")] == ["a"]


@pytest.mark.parametrize("text", ["/quit now", "/quitter", "say /exit"])
def test_a_command_stands_alone(text):
    assert [m.content for m in heard(text.encode())] == [text]


def test_any_bytes_are_text():
    [message] = heard(b"\xef\xbb\xbfna\xefve \xe4\xbd\xa0\xe5\xa5\xbd \0 end")

    assert message.content == "na\ufffdve 你好 \0 end"


def test_a_long_line_arrives_and_a_longer_one_is_told_of():
    log = []
    fits, too_long = b"x" * MAX_LINE_BYTES, b"y" * (MAX_LINE_BYTES + 1)
    found = heard(b"\n".join((fits, too_long, b"z" * 5_000_000, b"after")),
                  log=lambda event, **fields: log.append((event, fields)))

    assert [len(m.content) for m in found] == [MAX_LINE_BYTES, 5]
    assert [event for event, _ in log] == ["cli_line_refused"] * 2
    assert "1,048,576 bytes" in log[0][1]["error"]


def test_what_could_not_be_kept_comes_again_with_the_same_id():
    inbox = Inbox(StorageError("disk full"))
    cli = channel(io.BytesIO(b"one\ntwo\n"))
    seen = []
    put = inbox.put

    async def noting(message):
        seen.append(message.id)
        await put(message)
    inbox.put = noting
    with pytest.raises(StorageError):
        asyncio.run(cli.listen(inbox))
    asyncio.run(cli.listen(inbox))

    assert [m.content for m in inbox.messages] == ["one", "two"]
    assert seen[0] == seen[1] == inbox.messages[0].id
    assert inbox.heard == 2


def test_after_the_end_there_is_nothing():
    cli = channel(io.BytesIO(b"one"))
    inbox = Inbox()
    asyncio.run(cli.listen(inbox))
    asyncio.run(cli.listen(inbox))

    assert len(inbox.messages) == 1


def test_without_stdin_it_ends_at_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    nowhere = Path("/nowhere")
    inbox = Inbox()
    asyncio.run(CliChannel(CliSettings(), ChannelDeps(nowhere, nowhere)
                           ).listen(inbox))

    assert inbox.messages == []


def test_a_file_is_read(tmp_path):
    (tmp_path / "in").write_bytes(b"a\nb\n" * 20_000)
    inbox = Inbox()
    with open(tmp_path / "in", "rb") as file:
        asyncio.run(channel(file).listen(inbox))

    assert len(inbox.messages) == 40_000


def test_nothing_to_read_is_the_end():
    with open(os.devnull, "rb") as file:
        asyncio.run(channel(file).listen(Inbox()))


def test_a_pipe_is_waited_for_without_blocking_the_loop():
    async def go(file, write):
        inbox = Inbox()
        task = asyncio.create_task(channel(file).listen(inbox))
        beats = 0
        for _ in range(5):
            await asyncio.sleep(0.005)
            beats += 1
        os.write(write, "grüße".encode()[:3])  # inside a character
        await asyncio.sleep(0.005)
        assert inbox.messages == []
        os.write(write, "grüße\nnext".encode()[3:])
        await inbox.arrived.wait()
        os.close(write)
        await task
        return beats, [m.content for m in inbox.messages]
    with pipe() as (file, write):
        beats, found = asyncio.run(go(file, write))

    assert beats == 5
    assert found == ["grüße", "next"]


def test_a_waiting_listener_can_be_cancelled_and_loses_nothing():
    async def go(file, write):
        inbox = Inbox()
        cli = channel(file)
        os.write(write, b"one\nhal")
        task = asyncio.create_task(cli.listen(inbox))
        await inbox.arrived.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        os.write(write, b"f\n")
        os.close(write)
        await cli.listen(inbox)
        return [m.content for m in inbox.messages]
    with pipe() as (file, write):
        before = threading.active_count()
        assert asyncio.run(go(file, write)) == ["one", "half"]
        assert threading.active_count() == before


def test_a_terminal_is_read():
    host, guest = pty.openpty()

    async def go(file):
        inbox = Inbox()
        task = asyncio.create_task(channel(file).listen(inbox))
        await asyncio.sleep(0.01)
        os.write(host, b"typed\n")
        await inbox.arrived.wait()
        os.write(host, b"\x04")  # Ctrl-D
        await task
        return inbox.messages[0].content
    try:
        with os.fdopen(guest, "rb", buffering=0) as file:
            assert asyncio.run(go(file)) == "typed"
    finally:
        os.close(host)


def test_a_terminal_that_goes_away_is_the_end():
    host, guest = pty.openpty()
    with os.fdopen(guest, "rb", buffering=0) as file:
        os.close(host)
        asyncio.run(channel(file).listen(Inbox()))


# -- jsonl in


def test_a_json_line_carries_its_own_names():
    line = json.dumps({"content": " hi ", "id": 7, "sender": "ミナ",
                       "reply_target": "room", "thread_id": "t",
                       "other": [1]}, ensure_ascii=False)
    [message] = heard(line.encode(), jsonl=True)

    assert (message.id, message.sender, message.reply_target,
            message.thread_ts, message.content) == (
        "7", "ミナ", "room", "t", "hi")


def test_a_json_line_needs_only_its_text():
    one, two = heard(b'{"message": "a"}\n\n{"content": "b", '
                     b'"sender": "mina"}\n', jsonl=True)

    assert (one.content, one.sender, one.reply_target) == (
        "a", "user", "user")
    assert two.reply_target == "mina"
    assert len(one.id) == 36


@pytest.mark.parametrize("line", [
    b"hello", b"[]", b'"text"', b"{}", b'{"content": ""}', b"\xff",
    b'{"content": 7}', b'{"content": "x", "id": true}',
    b'{"content": "x", "sender": null}', b'{"content": "x", "sender": ""}',
    b"[" * 100_000, b"{" + b" " * MAX_LINE_BYTES,
])
def test_a_bad_line_is_one_error_and_the_next_is_read(line):
    out, inbox, log = io.BytesIO(), Inbox(), []
    cli = channel(io.BytesIO(line + b'\n{"content": "after"}\n'), out,
                  jsonl=True, log=lambda event, **_: log.append(event))
    asyncio.run(cli.listen(inbox))

    [error] = [json.loads(x) for x in out.getvalue().splitlines()]
    assert set(error) == {"error"}
    assert set(error["error"]) == {"kind", "message", "hint"}
    assert log == ["cli_line_refused"]
    assert [m.content for m in inbox.messages] == ["after"]


def test_half_a_surrogate_pair_does_not_break_a_line():
    [message] = heard(b'{"content": "cut \\ud83d"}', jsonl=True)

    assert message.content == "cut \ufffd"


# -- out


def said(*messages, jsonl=False):
    out = io.BytesIO()

    async def go():
        cli = channel(stdout=out, jsonl=jsonl)
        for message in messages:
            await cli.send(message)
    asyncio.run(go())
    return out.getvalue()


def test_an_answer_is_a_line():
    assert said(SendMessage("你好\nzwei", "user"), SendMessage("b", "user")) \
        == "你好\nzwei\nb\n".encode()


@pytest.mark.parametrize(("word", "kind", "content"), [
    ("y", "action", "approve:1:yes"), ("NO", "action", "approve:1:no"),
    ("always", "message", "always"), ("yes please", "message", "yes please"),
])
def test_a_word_answers_the_question_that_was_asked_last(word, kind, content):
    question = SendMessage("Allow it?", "user", buttons=(
        Button("Allow", "approve:1:yes"), Button("Deny", "approve:1:no")))
    out, inbox = io.BytesIO(), Inbox()
    cli = channel(io.BytesIO(f"{word}\n{word}\n".encode()), out)

    async def go():
        await cli.send(question)
        await cli.listen(inbox)
    asyncio.run(go())

    assert out.getvalue() == b"Allow it?\nyes / no?\n"
    first, second = inbox.messages
    assert (first.kind, first.content) == (kind, content)
    assert (second.kind, second.content) == ("message", word)


def test_an_answer_as_json_is_one_line():
    line = said(SendMessage("你\n\ud83d", "mina", thread_ts="t"), jsonl=True)

    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "type": "message", "content": "你\n\ufffd", "recipient": "mina",
        "thread_id": "t"}


def test_a_terminal_is_not_steered_by_an_answer():
    host, guest = pty.openpty()
    try:
        with os.fdopen(guest, "wb", buffering=0) as file:
            asyncio.run(channel(stdout=file).send(SendMessage(
                "a\x1b]0;title\x07\tb\x9b31m", "user")))
        shown = os.read(host, 1000)
    finally:
        os.close(host)

    assert shown == b"a]0;title\tb31m\r\n"


def test_a_closed_stdout_is_an_error():
    with pipe() as (file, write):
        file.close()
        with open(write, "wb", buffering=0, closefd=False) as out, \
                pytest.raises(UnavailableError) as caught:
            asyncio.run(channel(stdout=out).send(SendMessage("x", "user")))

    assert "stdout is closed" in caught.value.message


def test_answers_wait_for_a_slow_reader_in_order():
    big = "a" * 300_000

    async def go(file, out):
        cli = channel(stdout=out)
        tasks = [asyncio.create_task(cli.send(SendMessage(t, "user")))
                 for t in (big, "b")]
        await asyncio.sleep(0.02)
        assert not any(task.done() for task in tasks)
        data = b""
        while not data.endswith(b"b\n"):
            data += await asyncio.to_thread(os.read, file.fileno(), 65536)
        await asyncio.gather(*tasks)
        return data
    with pipe() as (file, write), \
            open(write, "wb", buffering=0, closefd=False) as out:
        assert asyncio.run(go(file, out)) == big.encode() + b"\nb\n"


def test_a_reader_that_never_reads_does_not_hold_up_the_end():
    code = """
import asyncio, sys
from pathlib import Path
from claw.channels.cli.channel import CliChannel, CliSettings
from claw.core.channel import Button, ChannelDeps, SendMessage

async def go():
    cli = CliChannel(CliSettings(), ChannelDeps(Path("/"), Path("/")))
    task = asyncio.create_task(cli.send(SendMessage("x" * 500_000, "user")))
    await asyncio.sleep(0.05)
    task.cancel()
asyncio.run(go())
print("ended", file=sys.stderr)
"""
    with pipe() as (_, write):
        done = subprocess.run([sys.executable, "-c", code], stdout=write,
                              stdin=subprocess.DEVNULL, timeout=10,
                              stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (0, b"ended\n")
