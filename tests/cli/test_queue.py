"""claw queue and claw why: what waits, what failed, what happened."""

import asyncio
import time

import pytest

from claw.core.channel import ChannelMessage, Part, SendMessage
from claw.storage.queue.model import Arrival, Completion, NewSend
from claw.storage.queue.sqlite import SqliteQueue

TURN = {"outcome": "answered", "channel": "telegram", "sender": "bob",
        "messages": ["m1"], "provider": "smith", "model": "m9",
        "model_calls": 2, "waited_ms": 7, "duration_ms": 1234,
        "prompt": {"system": 4000, "history_turns": 3},
        "usage": {"input_tokens": 1200, "output_tokens": 30},
        "recalled": [{"key": "tea", "score": 0.87, "text": "likes tea"}],
        "tool_calls": [{"name": "shell", "arguments": "command: ls",
                        "ok": True, "seconds": 0.5, "output": ""}],
        "approvals": [{"tool": "shell", "decision": "yes",
                       "reason": "medium-risk command"}]}


def said(number, text="hello", sender="bob"):
    return Arrival(ChannelMessage(f"m{number}", sender, "1001", text,
                                  "telegram", 0), f"telegram_{sender}")


def reply(source, text="answer"):
    return NewSend(source, "telegram", SendMessage(text, "1001"),
                   (Part("text", text, {"text": text}),))


@pytest.fixture
def filled(home):
    """m1 answered (its answer failed to go), m2 waits, one send waits."""
    async def fill():
        queue = SqliteQueue(home / "workspace" / "state" / "queue.db")
        lease = await queue.lease("listen", 30)
        await queue.accept(lease, [said(1), said(2, "a\nlong " * 30)])
        claim = await queue.claim(lease, "telegram_bob")
        row, = await queue.complete(lease, claim, Completion(
            "answered", sends=(reply(f"turn:{claim.turn_id}"),),
            trace={"turn_id": claim.turn_id, **TURN}))
        await queue.mark_failed(lease, row, "chat not found")
        await queue.post([reply("send:1", "note")])
        await queue.yield_lease(lease)
        await queue.aclose()
        return claim.turn_id
    home.mkdir(exist_ok=True)
    (home / "config.toml").touch(0o600)
    (home / "config.toml").write_text(
        '[channels_config.telegram]\nbot_token = "1:a"\n')
    return asyncio.run(fill())


def test_list_shows_what_waits_and_all_or_the_failed_on_demand(claw,
                                                               filled):
    done = claw("queue", "list")
    assert done.code == 0
    first, second = done.out.splitlines()
    assert first.startswith("in\t2\twaiting\tm2\tbob: a long a long")
    assert first.endswith("...\tthe next")
    assert second == "out\t2\twaiting\ttelegram:1001\tnote\tdue now"
    assert done.err == ""

    failed = claw("queue", "list", "--failed").out
    assert failed == ("out\t1\tfailed\ttelegram:1001\tanswer\t"
                      "chat not found\n")


def put_off(home, seconds):
    """The answer of m1 waits for its next try, the note behind it."""
    async def change():
        queue = SqliteQueue(home / "workspace" / "state" / "queue.db")
        lease = await queue.lease("listen", 30)
        await queue.retry()
        row, *_ = await queue.outbox_rows()
        await queue.put_off(lease, row, time.time() + seconds,
                            "HTTP 502", uncertain=False)
        await queue.yield_lease(lease)
        await queue.aclose()
    asyncio.run(change())


@pytest.mark.parametrize(("seconds", "said"), [
    (45.4, "next try in 45 s"), (600.4, "next try in 10 min"),
    (9000, "next try in 2 h"), (-5, "due now")])
def test_list_says_when_a_row_is_tried_next_and_why(claw, home, filled,
                                                    seconds, said):
    put_off(home, seconds)
    out = claw("queue", "list").out.splitlines()

    assert out[1:] == [
        f"out\t1\twaiting\ttelegram:1001\tanswer\t{said}: HTTP 502",
        "out\t2\twaiting\ttelegram:1001\tnote\tbehind 1"]
    rows = claw("queue", "list", "--json").json["outbox"]
    assert rows[0]["why"] == f"{said}: HTTP 502"
    assert rows[0]["next_at"].startswith("20")
    assert rows[1]["next_at"] is None


def test_rows_of_a_channel_that_is_gone_are_named_and_can_be_purged(
        claw, home, filled):
    refused = claw("queue", "purge", "--channel", "telegram", "--yes")
    assert refused.code == 2
    assert "is configured" in refused.err

    (home / "config.toml").write_text("")
    done = claw("queue", "list")
    assert done.out.count("\tthe channel is not configured") == 2
    assert "claw queue purge --channel telegram --yes" in done.err
    assert claw("queue", "purge", "--channel", "telegram").code == 2

    done = claw("queue", "purge", "--channel", "telegram", "--yes")
    assert (done.code, done.out) == (0, "purged 3\n")
    assert claw("queue", "list").out == ""
    assert claw("queue", "list", "--failed").out == ""


def test_list_as_json_tells_everything(claw, filled):
    done = claw("queue", "list", "--all", "--json")

    assert done.code == 0
    assert done.json["total"] == 4
    assert [row["state"] for row in done.json["inbox"]] \
        == ["answered", "waiting"]
    assert done.json["inbox"][0]["turn_id"] == filled
    out = done.json["outbox"][0]
    assert {k: out[k] for k in ("number", "state", "source", "recipient",
                                "error")} == {
        "number": 1, "state": "failed", "source": f"turn:{filled}",
        "recipient": "1001", "error": "chat not found"}


def test_a_name_with_line_feeds_is_no_row_of_its_own(claw, home, filled):
    """Who chose "bob\\nout  9  failed ..." wrote a second row."""
    async def fill():
        queue = SqliteQueue(home / "workspace" / "state" / "queue.db")
        lease = await queue.lease("listen", 30)
        await queue.accept(lease, [Arrival(ChannelMessage(
            "m\n7", "eve\nout  9  failed  \x1b[31mx\u202e", "1\n2", "hi",
            "telegram", 0), "telegram_eve")])
        await queue.post([NewSend("send:2", "telegram", SendMessage(
            "a", "1\n2"), (Part("text", "a"),))])
        await queue.yield_lease(lease)
        await queue.aclose()
    asyncio.run(fill())
    out = claw("queue", "list").out

    assert len(out.splitlines()) == 4
    assert "eve out 9 failed \\x1b[31mx\\u202e: hi" in out
    assert "telegram:1 2\ta\t" in out


def test_an_empty_queue_is_an_empty_list_and_makes_nothing(claw, home):
    assert claw("queue", "list").code == claw("memory", "list").code == 0
    done = claw("queue", "list", "--json")
    assert (done.code, done.json) == (
        0, {"inbox": [], "outbox": [], "total": 0})
    assert claw("queue", "retry").code == 1
    assert not home.exists()


def test_what_failed_waits_again_after_a_retry(claw, filled):
    assert claw("queue", "retry", "99").code == 1
    done = claw("queue", "retry", "1")
    assert (done.code, done.out) == (0, "retried 1\n")
    assert len(claw("queue", "list").out.splitlines()) == 3
    assert claw("queue", "retry", "--json").json == {"retried": 0}


def test_a_retry_where_nothing_failed_says_when_what_waits_goes(
        claw, home, filled):
    put_off(home, 600.4)
    done = claw("queue", "retry")

    assert (done.code, done.out) == (1, "retried 0\n")
    assert "1 (next try in 10 min: HTTP 502); 2 (behind 1)" in done.err


def test_what_failed_without_an_answer_says_what_can_be_done(claw, home):
    async def fill():
        queue = SqliteQueue(home / "workspace" / "state" / "queue.db")
        lease = await queue.lease("listen", 30)
        await queue.accept(lease, [said(1)])
        await queue.complete(lease, await queue.claim(
            lease, "telegram_bob"), Completion("failed", reason="no model"))
        await queue.yield_lease(lease)
        await queue.aclose()
    home.mkdir()
    asyncio.run(fill())

    done = claw("queue", "retry")
    page = claw("status")

    assert done.code == 1
    assert "1 message failed before there was an answer" in done.err
    assert "claw queue list --failed, then: claw queue purge --failed" \
        in page.out


@pytest.mark.parametrize("number", [str(10**30), str(2**63), "0"])
def test_a_retry_of_a_number_that_no_row_has_is_no_fault(claw, filled,
                                                         number):
    """One past 64 bits was "a fault of claw"."""
    assert claw("queue", "retry", number).code == 1
    assert claw("queue", "list", "--failed").out.startswith("out\t1\tfailed")


def test_a_purge_asks_for_yes_and_leaves_what_waits(claw, filled):
    refused = claw("queue", "purge", "--older-than", "0s")
    assert refused.code == 2
    assert "--yes" in refused.err

    done = claw("queue", "purge", "--older-than", "0s", "--yes", "--json")
    assert done.json == {"purged": 2}
    left = claw("queue", "list", "--all", "--json").json
    assert [row["id"] for row in left["inbox"]] == ["m2"]
    assert [row["source"] for row in left["outbox"]] == ["send:1"]


@pytest.mark.parametrize("age", ["7", "d", "-1d", "7w", "", "1.5h"])
def test_a_wrong_age_is_wrong_usage(claw, filled, age):
    done = claw("queue", "purge", "--older-than", age, "--yes")
    assert done.code == 2
    assert "is no age" in done.err


def test_a_damaged_queue_says_so(claw, home):
    path = home / "workspace" / "state" / "queue.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database at all" * 100)
    done = claw("queue", "list")
    assert done.code == 74
    assert "queue.db" in done.err


# -- why


def test_why_tells_the_last_turn_and_what_became_of_it(claw, filled):
    done = claw("why")
    assert done.code == 0
    for line in (f"Turn {filled[:12]}: answered",
                 "Message: m1 from bob on telegram, waited 7 ms",
                 "Model: m9 (smith), 2 calls, 1,200 tokens in, 30 out",
                 "Recalled: tea 0.87: likes tea",
                 "Approval: shell: yes (medium-risk command)",
                 "Took 1,234 ms",
                 "Sent: part 0 failed (chat not found)"):
        assert line in done.out.splitlines()


def test_why_finds_a_turn_by_its_beginning_or_a_message(claw, filled):
    by_id = claw("why", filled[:8], "--json")
    by_message = claw("why", "m1", "--json")

    assert by_id.json == by_message.json
    assert by_id.json["turn_id"] == filled
    assert by_id.json["sends"] == [{
        "part": 0, "state": "failed", "message_id": None, "attempts": 0,
        "uncertain": False, "error": "chat not found",
        "seen": None}]


def test_why_of_a_message_that_still_waits_says_that_it_does(claw, filled):
    done = claw("why", "m2", "--json")
    assert done.code == 0
    assert done.json["queue"]["state"] == "waiting"
    assert claw("why", "m2").code == 0


@pytest.mark.parametrize("wanted", ["ffffffff", "m99", "' OR 1=1 --"])
def test_why_of_what_nobody_knows_is_a_negative_answer(claw, filled, wanted):
    assert claw("why", wanted).code == 1


def test_why_without_a_queue_makes_none(claw, home):
    done = claw("why", "--json")
    assert done.code == 1
    assert done.json["error"]["kind"] == "not_found"
    assert not home.exists()
