"""One message out, with and without a running service."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.channel import Part, SendMessage
from claw.core.errors import (
    AuthError,
    ConfigError,
    RefusedError,
    UnavailableError,
    UnknownNameError,
    UsageError,
)
from claw.core.value import replace
from claw.runtime.outbox import REPEATED, Sender
from claw.runtime.process.health import Health
from claw.storage.queue.model import NewSend
from claw.storage.queue.owner import this_process
from claw.storage.queue.sqlite import SqliteQueue
from claw.testing.fake_telegram import FakeTelegram
from claw.wiring.channels.build import open_channel
from claw.wiring.listen.outgoing_files import tidy_outgoing
from claw.wiring.listen.send import (
    Sent,
    collect_attachments,
    parse_target,
    require_sent,
    send,
)
from claw.wiring.workspace.place_names import queue_path

TOKEN = "1234567:TEST-token-of-the-fake"


def silent(event, **fields):
    return None


@pytest.fixture
def platform():
    with FakeTelegram(TOKEN, chats=(1001, 1002)) as fake:
        yield fake


@pytest.fixture
def tree(tmp_path, platform):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    config = home / "config.toml"
    config.write_text(
        "[channels_config.telegram]\n"
        f'bot_token = "{TOKEN}"\napi_base_url = "{platform.url}"\n')
    config.chmod(0o600)
    return load(locate(str(home), None, {}))


def another():
    """Another process that runs: the one that started us."""
    pid = os.getppid()
    started = Path(f"/proc/{pid}/stat").read_text().rpartition(
        ")")[2].split()[19]
    return replace(this_process(), pid=pid, started=started)


def out(tree, text="hello", timeout_s=60, to="1001", **fields):
    return asyncio.run(send(tree, "telegram", SendMessage(
        text, to, **fields), silent, timeout_s=timeout_s))


def test_without_a_service_the_command_sends_itself(tree, platform):
    sent = out(tree)

    assert sent.state == "sent"
    assert platform.answers() == ["hello"]
    assert sent.message_ids == (str(platform.messages()[0].message_id),)
    require_sent(sent)


def test_a_long_text_goes_out_in_order(tree, platform):
    text = "\n".join(f"line {n}" for n in range(2000))
    sent = out(tree, text)
    assert "\n".join(platform.answers()).replace("\n", "") \
        == text.replace("\n", "")
    assert len(sent.message_ids) == len(platform.answers()) > 1


def test_a_service_that_runs_sends_it(tree, platform, monkeypatch):
    monkeypatch.setattr("claw.runtime.outbox.IDLE_S", 0.05)

    async def go():
        queue = SqliteQueue(queue_path(tree.places), owner=another())
        lease = await queue.lease("listen", 30)
        room = open_channel(tree, "telegram", silent)
        sender = Sender("telegram", lambda: room.channel, queue,
                        lambda: lease, Health(), silent)
        running = asyncio.ensure_future(sender.run())
        sent = await send(tree, "telegram", SendMessage("hello", "1001"),
                          silent, timeout_s=60)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await room.channel.aclose()
        await queue.aclose()
        return sent
    assert asyncio.run(go()).state == "sent"
    assert platform.answers() == ["hello"]


def test_what_can_not_go_now_stays_queued(tree, platform):
    platform.fault("sendMessage", "429", retry_after=60)
    sent = out(tree, timeout_s=0.3)

    assert sent.state == "waiting"
    with pytest.raises(UnavailableError, match="not sent yet"):
        require_sent(sent)


def test_what_waits_behind_an_earlier_message_says_so(tree, platform):
    """After a token was put right the next `claw send` named no reason."""
    platform.fault("sendMessage", "429", retry_after=60)
    out(tree, timeout_s=0.3)
    sent = out(tree, timeout_s=0.3)

    with pytest.raises(UnavailableError, match=r"not sent yet: behind 1: ."):
        require_sent(sent)


def test_a_platform_that_hangs_is_not_waited_for_longer_than_told(
        tree, platform):
    platform.fault("sendMessage", "stall", times=1)
    began = time.monotonic()
    sent = out(tree, timeout_s=0.3)
    assert sent.state == "waiting"
    assert time.monotonic() - began < 20


def test_what_is_refused_for_good_has_failed(tree, platform):
    sent = out(tree, to="999999")

    assert sent.state == "failed"
    with pytest.raises(RefusedError, match="not sent: ") as raised:
        require_sent(sent)
    assert "claw queue list --failed" in raised.value.hint
    assert raised.value.exit_code == 1
    assert TOKEN not in raised.value.message


def test_a_text_of_more_than_100_parts_is_not_out_before_its_last(
        tree, platform):
    text = "שלום 👩‍👩‍👧‍👦 مرحبا " * 20_000
    sent = out(tree, text, 600)

    assert sent.state == "sent"
    assert len(sent.message_ids) == sent.parts > 100
    assert "".join("".join(platform.answers()).split()) \
        == "".join(text.split())


def test_what_is_half_out_says_how_much():
    half = Sent("send:1", "waiting", ("7", "8"), "slow down", parts=160)

    with pytest.raises(UnavailableError, match="2 of 160 parts are out"):
        require_sent(half)


def test_a_refused_token_is_not_waited_for(tree, platform):
    platform.fault("sendMessage", "status", times=None, status=401)
    began = time.monotonic()
    sent = out(tree, timeout_s=60)

    assert time.monotonic() - began < 20
    assert sent.state == "waiting"
    with pytest.raises(AuthError, match="not sent yet"):
        require_sent(sent)


def test_a_send_that_died_with_its_process_holds_up_nothing(tree, platform):
    """Its part is in doubt: repeated with a note where a file was sent,
    and the chat goes on."""
    async def die():
        queue = SqliteQueue(queue_path(tree.places))
        lease = await queue.lease("listen", 30)
        message = SendMessage("first", "1001")
        row, = await queue.post([NewSend("s:1", "telegram", message, (
            Part("text", "first", {"whole": True}),))])
        await queue.mark_sending(lease, row)
        await queue.yield_lease(lease)
        await queue.aclose()
    asyncio.run(die())

    assert out(tree, "second").state == "sent"
    assert platform.answers() == [REPEATED + "first", "second"]


def test_a_message_without_anything_in_it_is_no_message(tree):
    with pytest.raises(UsageError, match="nothing to send"):
        out(tree, "  ")


@pytest.mark.parametrize(("target", "parsed"), [
    ("telegram:12345", ("telegram", "12345")),
    ("telegram: -100:7 ", ("telegram", "-100:7")),
    ("cli:user", ("cli", "user")),
])
def test_a_target_is_channel_and_recipient(tree, target, parsed):
    assert parse_target(tree, target) == parsed


@pytest.mark.parametrize(("target", "error", "said"), [
    ("telegram", UsageError, "is no target"),
    ("telegram:", UsageError, "is no target"),
    (":1", UsageError, "is no target"),
    ("webhook:1", ConfigError, "not configured"),
    ("webhok:1", UnknownNameError, "unknown channel"),
])
def test_a_wrong_target_says_what_is_wrong(tree, target, error, said):
    with pytest.raises(error, match=said):
        parse_target(tree, target)


def test_files_go_along_by_their_names(tree, platform, tmp_path):
    path = tmp_path / "chart.txt"
    path.write_text("x")
    attached, = collect_attachments([path])
    assert (attached.file_name, attached.size_bytes) == ("chart.txt", 1)
    with pytest.raises(UsageError, match="is no file"):
        collect_attachments([tmp_path])


def test_copies_of_sends_that_are_over_go_and_those_that_wait_stay(
        tree, platform, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("x")
    files = collect_attachments([note])
    platform.fault("sendDocument", "status", times=None, status=502)
    out(tree, "", 0.3, attachments=files)  # waits
    platform._faults.clear()
    platform.fault("sendDocument", "status", status=403)
    assert out(tree, "", 60, to="1002", attachments=files).state == "failed"
    folder = tree.places.workspace / "outgoing"
    waiting = {path.name for path in folder.iterdir()}
    assert len(waiting) == 2
    for name in ("0" * 32, "1" * 32, "not ours"):
        (folder / name / "0").mkdir(parents=True)
        (folder / name / "0" / "a.txt").write_text("left by a kill")
    for path in folder.iterdir():
        if path.name != "1" * 32:  # this one is just being made
            os.utime(path, (0, 0))

    async def tidy():
        queue = SqliteQueue(queue_path(tree.places))
        await tidy_outgoing(tree.places, queue)
        await queue.aclose()

    async def purge():
        queue = SqliteQueue(queue_path(tree.places))
        await queue.purge(older_than_s=-1, states=("failed",))
        await queue.aclose()
    asyncio.run(tidy())
    assert {path.name for path in folder.iterdir()} == {
        *waiting, "1" * 32, "not ours"}

    asyncio.run(purge())
    asyncio.run(tidy())
    left = {path.name for path in folder.iterdir()} & waiting
    assert len(left) == 1
    assert out(tree, "on with it").state == "sent"
