"""The program that a tap runs for a message, when it is none of the good."""

import asyncio
import json
import os
import time

import pytest

from claw.core.channel import ChannelMessage
from claw.runtime.tap.program import Program
from claw.runtime.tap.wire import NotHandledError
from claw.storage.queue.model import InboxRow


def handle(script, text="hello"):
    """The answer of the script, which has ten seconds."""
    row = InboxRow(1, ChannelMessage("m1", "ada", "ada", text, "webhook", 0),
                   "webhook:ada", "t1", 0.0)

    async def go():
        async with asyncio.timeout(10):
            return await Program(["sh", "-c", script]).handle(row)
    return asyncio.run(go()).reply


def test_one_that_prints_without_end_is_ended():
    with pytest.raises(NotHandledError, match="1 MiB"):
        handle("yes")


def test_one_may_print_before_it_reads_a_long_message():
    answer = handle("head -c 900000 /dev/zero | tr '\\0' a; cat >/dev/null",
                    "x" * 300_000)

    assert answer == "a" * 900_000


def test_one_may_read_on_after_its_output_has_ended(tmp_path):
    kept = tmp_path / "kept"
    handle(f"exec >&-; cat > '{kept}'", "x" * 300_000)

    assert kept.stat().st_size > 300_000


@pytest.mark.parametrize(("end", "code"), [("echo done", 0),
                                           ("kill -9 $$", -9)])
def test_what_a_program_leaves_running_holds_up_no_message(end, code):
    began = time.monotonic()
    script = f"sleep 8 & {end}"
    if code:
        with pytest.raises(NotHandledError, match=f"exit code {code}"):
            handle(script)
    else:
        assert handle(script) == "done"

    assert time.monotonic() - began < 7


def test_the_message_is_there_before_the_program_starts(monkeypatch):
    """One that claw's own kill -9 leaves alone reads it all the same."""
    start, found = asyncio.create_subprocess_exec, []

    async def look_and_start(*argv, stdin, **more):
        found.append(os.pread(stdin.fileno(), 1 << 20, 0))
        return await start(*argv, stdin=stdin, **more)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", look_and_start)

    assert handle("cat >/dev/null", "x" * 300_000) == ""
    assert json.loads(found[0])["text"] == "x" * 300_000
