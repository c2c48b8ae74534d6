"""Parts go out one by one for each chat, and none is forgotten."""

import pytest

from claw.core.abilities import Report
from claw.core.channel import Part, SendMessage
from claw.core.errors import LeaseLostError, UsageError
from claw.core.value import replace
from claw.storage.queue.model import DRAFT_UNKNOWN, NewSend


def texts(rows):
    return [row.part.text for row in rows]


async def test_a_source_is_posted_once(kit):
    queue = kit.open()
    rows = await queue.post([kit.send("job:1:9", "a"),
                             kit.send("job:1:9", "b")])

    assert texts(rows) == ["a"]
    assert await queue.post([kit.send("job:1:9", "c")]) == []
    assert await queue.post([kit.send("empty")]) == []
    assert texts(await queue.post([kit.send("empty", "d")])) == ["d"]


async def test_parts_of_a_chat_go_one_by_one_also_across_messages(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.post([kit.send("1", "a", "b"), kit.send("2", "c"),
                      kit.send("3", "d", recipient="43"),
                      kit.send("4", "e", thread="t"),
                      kit.send("5", "f", channel="irc")])
    gone = []
    while rows := await kit.due(queue):
        assert len({row.message.recipient for row in rows}) == len(rows)
        assert [row.seq for row in rows] == sorted(row.seq for row in rows)
        await queue.mark_sending(lease, rows[0])
        await queue.mark_sent(lease, rows[0], f"id {rows[0].part.text}")
        gone.append(rows[0].part.text)

    assert gone == ["a", "b", "c", "d", "e"]
    assert texts(await kit.due(queue, "irc")) == ["f"]
    stored = await queue.outbox_rows(source="1")
    assert [(row.state, row.message_id, row.sent_at, row.attempts)
            for row in stored] == [("sent", "id a", kit.clock, 1),
                                   ("sent", "id b", kit.clock, 1)]


async def test_a_part_of_another_topic_is_not_taken_for_one_in_doubt(kit):
    """The ids of a group's topics are of one counter: what was sent while
    a part was looked for was found in its place, which was lost."""
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    doubted, _, other = await queue.post([
        kit.send("1", "a", recipient="42:7", thread="7"),
        kit.send("2", "b", recipient="42:8", thread="8"),
        kit.send("3", "c", recipient="43:8", thread="8")])
    await queue.mark_sending(lease, doubted)
    await queue.put_off(lease, doubted, 0, "timed out", uncertain=True)

    assert [row.seq for row in await kit.due(queue)] == [
        doubted.seq, other.seq]


async def test_a_part_that_is_being_sent_blocks_its_chat(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    first, second = await queue.post([kit.send("1", "a", "b")])
    await queue.mark_sending(lease, first)

    assert await kit.due(queue) == []
    assert await queue.next_due("telegram") is None
    for row in (first, second):
        with pytest.raises(LeaseLostError):
            await queue.mark_sending(lease, row)


async def test_a_part_that_was_put_off_blocks_its_chat(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    first, _ = await queue.post([kit.send("1", "a", "b")])
    await queue.mark_sending(lease, first)
    await queue.put_off(lease, first, kit.clock + 30, "HTTP 429",
                        uncertain=False)

    assert await kit.due(queue) == []
    assert await queue.next_due("telegram") == kit.clock + 30
    kit.clock += 30
    (row,) = await kit.due(queue)
    assert (row.part.text, row.state, row.error, row.attempts) == (
        "a", "waiting", "HTTP 429", 1)
    assert await queue.next_due("irc") is None


async def test_a_doubt_is_never_forgotten(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    (row,) = await queue.post([kit.send("1", "a")])
    for uncertain in (True, False):
        await queue.mark_sending(lease, row)
        await queue.put_off(lease, row, 0, "timeout", uncertain=uncertain)
        (row,) = await kit.due(queue)

        assert (row.state, row.uncertain) == ("uncertain", True)
    await queue.mark_sending(lease, row)
    await queue.mark_failed(lease, row, "gone")
    await queue.retry()
    (row,) = await kit.due(queue)
    assert (row.state, row.uncertain, row.attempts) == ("uncertain", True, 0)


async def test_a_clock_that_was_set_back_does_not_put_parts_off(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    (row,) = await queue.post([kit.send("1", "a")])
    await queue.mark_sending(lease, row)
    until = kit.clock + 14_000
    await queue.put_off(lease, row, until, "flood", uncertain=False)
    kit.clock += 3600

    assert await kit.due(queue) == []  # a long wait is kept ...
    assert await queue.next_due("telegram") == until
    kit.clock -= 7200
    assert texts(await kit.due(queue)) == ["a"]  # ... a jump is seen
    assert await queue.next_due("telegram") == 0


@pytest.mark.parametrize("never", [float("inf"), float("nan")])
async def test_a_part_is_not_put_off_for_ever(kit, never):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    (row,) = await queue.post([kit.send("1", "a")])
    with pytest.raises(UsageError):
        await queue.put_off(lease, row, never, "x", uncertain=False)

    assert texts(await kit.due(queue)) == ["a"]


async def test_a_half_message_is_not_continued(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    first, second, _ = await queue.post([kit.send("1", "a", "b", "c")])
    await queue.post([kit.send("2", "next")])
    await queue.mark_sending(lease, first)
    await queue.mark_sent(lease, first, "1")
    await queue.mark_sending(lease, second)
    await queue.mark_failed(lease, second, "chat not found")

    assert texts(await kit.due(queue)) == ["next"]
    rows = await queue.outbox_rows(source="1")
    assert [(row.state, row.error) for row in rows] == [
        ("sent", None), ("failed", "chat not found"),
        ("failed", "an earlier part failed")]
    assert await queue.retry([first.seq]) == 0
    assert await queue.retry([second.seq]) == 2
    assert texts(await kit.due(queue)) == ["b"]


async def test_a_retried_part_waits_for_the_one_in_sending(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    (first,) = await queue.post([kit.send("1", "a")])
    (second,) = await queue.post([kit.send("2", "b")])
    await queue.mark_failed(lease, first, "no")
    await queue.mark_sending(lease, second)
    await queue.retry([first.seq])

    assert await kit.due(queue) == []
    with pytest.raises(LeaseLostError):
        await queue.mark_sending(lease, first)
    await queue.mark_sent(lease, second, None)
    assert texts(await kit.due(queue)) == ["a"]


async def test_a_finished_part_stays_as_it_is(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    (row,) = await queue.post([kit.send("1", "a")])
    await queue.mark_sending(lease, row)
    await queue.mark_sent(lease, row, "9")
    await queue.mark_failed(lease, row, "late")
    await queue.put_off(lease, row, 0, "late", uncertain=True)
    await queue.mark_sent(lease, row, "11")

    (stored,) = await queue.outbox_rows()
    assert (stored.state, stored.message_id, stored.error) == (
        "sent", "9", None)


async def test_the_first_text_takes_the_place_of_the_draft(kit):
    queue = kit.open()
    rows = await queue.post([NewSend(
        "1", "telegram", SendMessage("x", "42"),
        (Part("image", "i"), Part("text", "a"), Part("text", "b")), "77")])

    assert [row.message_id for row in rows] == [None, "77", None]
    stored = await queue.outbox_rows()
    assert [row.message_id for row in stored] == [None, "77", None]


async def test_a_long_message_is_stored_once(kit):
    queue = kit.open()
    text = "x" * 200_000
    await queue.post([NewSend(
        "1", "telegram", SendMessage(text, "42"),
        tuple(Part("text", text[:4000]) for _ in range(50)))])

    assert len(await queue.outbox_rows()) == 50
    await queue.aclose()
    assert kit.path.stat().st_size < 1_000_000


async def test_parts_that_never_left_wait_and_those_that_did_are_in_doubt(
        kit):
    queue = kit.open(kit.dead())
    lease = await queue.lease("listen", 30)
    await queue.recover(lease)
    rows = await queue.post([kit.send("1", "a", recipient="x"),
                             kit.send("2", "b", recipient="y")])
    for row in rows:
        await queue.mark_sending(lease, row)
    queue.note_leaving(rows[0])
    other = kit.open()
    lease = await other.lease("listen", 30)

    assert await other.recover(lease) == 2
    assert [(row.state, row.uncertain, row.attempts)
            for row in await kit.due(other)] == [
        ("uncertain", True, 1), ("waiting", False, 0)]


async def test_what_an_owner_noted_that_still_runs_is_not_believed(kit):
    """It only stood still: what had not left may leave yet."""
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.recover(lease)
    rows = await queue.post([kit.send("1", "a", recipient="x"),
                             kit.send("2", "b", recipient="y")])
    for row in rows:
        await queue.mark_sending(lease, row)
    queue.note_leaving(rows[0])
    kit.uptime += 31
    other = kit.open(kit.process(pid=1, started="another"))
    lease = await other.lease("listen", 30)

    assert await other.recover(lease) == 2
    assert [(row.state, row.uncertain, row.attempts)
            for row in await kit.due(other)] == [
        ("uncertain", True, 1), ("uncertain", True, 1)]


async def test_what_is_known_around_a_doubt_is_read_off_the_rows(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("7")])
    rows = await queue.post([kit.send("1", "a"), kit.send("2", "b"),
                             kit.send("3", "c")])
    await queue.mark_sending(lease, rows[0])
    await queue.mark_sent(lease, rows[0], "8")

    doubt = await queue.read_doubt(rows[1])

    to = rows[1].message.recipient
    assert doubt.before == ((to, "8"),)
    assert ("", "7") in doubt.owned
    assert (to, "8") in doubt.owned
    assert doubt.unsure == ()


async def test_a_draft_without_an_id_is_unsure_for_all_but_its_own_turn(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("7")])
    claim = await queue.claim(lease, (await queue.waiting())[0])
    await queue.keep_draft(lease, claim, DRAFT_UNKNOWN)
    row, = await queue.post([kit.send("1", "a")])
    target = claim.rows[0].message.reply_target

    other, own = [await queue.read_doubt(one) for one in (row, replace(
        row, seq=0, source=f"turn:{claim.turn_id}"))]

    assert other.unsure == ((target, ""),)
    assert (target, "") not in own.unsure


async def test_a_draft_that_was_never_found_hides_later_parts_for_a_moment(
        kit):
    """All that was in doubt in its chat came again for ever."""
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("7")])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.keep_draft(lease, claim, DRAFT_UNKNOWN)
    turn = kit.send(f"turn:{claim.turn_id}", "a")
    await queue.complete(lease, claim, kit.answered(turn))
    await queue.post([kit.send("2", "b"), kit.send("3", "c")])
    *before, last = await queue.outbox_rows()
    seen = []
    for number, row in enumerate(before):
        seen.append((await queue.read_doubt(last)).unsure)
        await queue.mark_sending(lease, row)
        await queue.mark_sent(lease, row, str(8 + number))

    seen.append((await queue.read_doubt(last)).unsure)
    assert seen == [(("42", ""),), (("42", ""),), (("42", "9"),)]


@pytest.mark.parametrize(("reports", "became", "state", "seen"), [
    ([None], ["kept"], "sent", "verified"),
    ([None, None], ["kept", "known"], "sent", "verified"),
    (["lost"], ["kept"], "failed", "not there"),
    ([None, "lost"], ["kept", "kept"], "failed", "not there"),
    (["lost", None], ["kept", "known"], "failed", "not there"),
])
async def test_a_report_says_what_became_of_a_part(kit, reports, became,
                                                   state, seen):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    row, = await queue.post([kit.send("1", "a")])
    await queue.mark_sending(lease, row)
    await queue.mark_sent(lease, row, "m1")

    assert [await queue.mark_reported(lease, row.channel, Report("m1", error))
            for error in reports] == became

    row, = await queue.outbox_rows()
    assert (row.state, row.seen) == (state, seen)
    assert row.error == ("lost" if state == "failed" else None)


async def test_a_report_of_before_says_nothing_of_a_part_that_is_sent_again(
        kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    row, = await queue.post([kit.send("1", "a")])
    await queue.mark_sending(lease, row)
    await queue.mark_sent(lease, row, "m1")
    lost = Report("m1", "lost")
    await queue.mark_reported(lease, row.channel, lost)
    await queue.retry()

    assert await queue.mark_reported(lease, row.channel, lost) == "known"
    row, = await queue.outbox_rows()
    assert (row.state, row.seen, row.error) == ("waiting", None, None)


async def test_a_report_that_overtakes_the_answer_is_waited_for(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    made = kit.send("1", "a")
    row, = await queue.post([replace(made, parts=(
        replace(made.parts[0], data={"key": "0f"}),))])
    await queue.mark_sending(lease, row)

    assert await queue.mark_reported(
        lease, row.channel, Report("m1", key="0f")) == "under way"
    assert await queue.mark_reported(
        lease, row.channel, Report("m1", key="0e")) == "unknown"
    assert await queue.mark_reported(
        lease, "irc", Report("m1", key="0f")) == "unknown"
