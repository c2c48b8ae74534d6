"""What every channel must do, as tests to inherit.

    class Mine(Stage):
        def make(self): return MyChannel(...)
        ...

    class TestMine(ChannelContract):
        @contextmanager
        def running(self):
            with FakePlatform() as platform:
                yield Mine(platform)

pytest collects the subclass. A Stage is a channel beside its platform: it
lets a person say something and shows what arrived.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from claw.channels import REGISTRY
from claw.core.abilities import (
    Diagnoses,
    Doubt,
    FindsSent,
    MarksRepeats,
    PollsOnce,
    PreviewsAnswers,
)
from claw.core.channel import ChannelMessage, Part, SendMessage, SendsParts
from claw.core.errors import ClawError
from claw.testing.contracts.stage import (
    HOSTILE,
    UNKNOWN,
    Kept,
    Stage,
    close,
    hidden,
    listening,
    more,
    refusal,
    told,
    until,
)

T = TypeVar("T")


class ChannelContract:
    """Inherit and give `running`.

    `name` is the channel's, `failures` the ways in which its platform can
    be made to fail, `drawn` keys of Part.data that are drawn anew for each
    message (idempotency keys) and so may differ.
    """

    name = ""
    failures: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()

    def running(self) -> AbstractContextManager[Stage]:
        """A fresh stage for one test."""
        raise NotImplementedError

    def use(self, work: Callable[[Stage], Awaitable[T]]) -> T:
        """Run `work` on a stage; its channel is closed afterwards."""
        async def on(stage: Stage) -> T:
            try:
                return await work(stage)
            finally:
                await close(stage.channel)
        with self.running() as stage:
            found = asyncio.run(on(stage))
            hidden(stage, "\n".join(stage.logged))
            return found

    # receiving

    def test_it_has_its_name(self) -> None:
        with self.running() as stage:
            assert stage.channel.name == self.name
            if self.name in REGISTRY.names():
                assert type(stage.channel) is REGISTRY.load(self.name)

    def test_its_class_says_what_it_can_do(self) -> None:
        with self.running() as stage:
            channel = stage.channel
            can = channel.capabilities
            assert can.list_back is isinstance(channel, FindsSent)
            assert can.several_connections is not isinstance(
                channel, PollsOnce)
            if channel.Settings is not None:
                assert channel.Settings()  # no key has to be set

    def test_what_a_person_says_is_put(self) -> None:
        async def work(stage: Stage) -> ChannelMessage:
            inbox = Kept()
            async with listening(stage.channel, inbox):
                await stage.say("hello there")
                await until(lambda: inbox.messages)
            return inbox.messages[0]

        message = self.use(work)

        assert "hello there" in message.content
        assert message.channel.partition(":")[0] == self.name
        assert message.id
        assert message.sender
        assert message.reply_target
        assert message.kind == "message"
        assert isinstance(message.timestamp, int)
        assert abs(message.timestamp - time.time()) < 300

    def test_a_person_is_the_same_sender_under_another_name(self) -> None:
        async def work(stage: Stage) -> list[ChannelMessage]:
            inbox = Kept()
            async with listening(stage.channel, inbox):
                await stage.say("before")
                await until(lambda: inbox.messages)
                if await stage.rename():
                    await stage.say("after")
                    await until(lambda: len(inbox.messages) == 2)
            return inbox.messages

        first, *renamed = self.use(work)

        assert [m.sender for m in renamed] == [first.sender] * len(renamed)
        assert [m.reply_target for m in renamed] == [
            first.reply_target] * len(renamed)
        assert all(m.sender_name != first.sender_name for m in renamed)

    def test_messages_are_put_in_order_and_one_by_one(self) -> None:
        said = [f"number {n}" for n in range(5)]

        async def work(stage: Stage) -> list[ChannelMessage]:
            inbox = Kept()
            async with listening(stage.channel, inbox):
                for text in said:
                    await stage.say(text)
                await until(lambda: len(inbox.messages) == 5)
            return inbox.messages

        messages = self.use(work)

        assert [m.content for m in messages] == said
        assert len({m.id for m in messages}) == 5

    def test_any_text_can_be_said(self) -> None:
        async def work(stage: Stage) -> list[ChannelMessage]:
            inbox = Kept()
            async with listening(stage.channel, inbox):
                for kind in ("scripts", "half a character", "controls"):
                    await stage.say(HOSTILE[kind])
                await until(lambda: len(inbox.messages) == 3)
            return inbox.messages

        for message in self.use(work):
            assert "alpha" in message.content
            assert "omega" in message.content
            for text in (message.content, message.id, message.sender):
                assert text.encode()

    def test_nothing_is_acknowledged_before_it_is_kept(self) -> None:
        async def work(stage: Stage) -> list[bool | None]:
            inbox = Kept(holds=True)
            async with listening(stage.channel, inbox):
                await stage.say("hello")
                await until(lambda: inbox.offered)
                await asyncio.sleep(0.1)
                heard = [stage.acknowledged()]
                inbox.free.set()
                await until(lambda: stage.acknowledged() is not False)
                return [*heard, stage.acknowledged()]

        held, kept = self.use(work)

        assert held in (False, None)
        assert kept in (True, None)

    def test_what_could_not_be_kept_comes_again(self) -> None:
        async def work(stage: Stage) -> Kept:
            inbox = Kept(refuses=1)
            async with listening(stage.channel, inbox):
                await stage.say("hello")
                await until(lambda: inbox.offered)
                assert stage.acknowledged() in (False, None)
                await stage.resend()
                await until(lambda: inbox.messages)
            return inbox

        inbox = self.use(work)

        assert len(inbox.offered) >= 2
        assert len({m.id for m in inbox.offered}) == 1
        assert {m.content for m in inbox.messages} == {"hello"}

    def test_a_redelivery_to_a_new_process_has_the_same_id(self) -> None:
        async def work(stage: Stage) -> list[ChannelMessage]:
            killed, inbox = Kept(holds=True), Kept()
            async with listening(stage.channel, killed):
                await stage.say("hello")
                await until(lambda: killed.offered)
            await close(stage.channel)
            stage.channel = stage.make()
            async with listening(stage.channel, inbox):
                await asyncio.sleep(0.02)
                await stage.resend()
                await until(lambda: inbox.messages)
            return [killed.offered[0], inbox.messages[0]]

        first, again = self.use(work)

        assert first.id == again.id
        assert first.content == again.content
        assert first.sender == again.sender
        assert first.reply_target == again.reply_target

    def test_a_cancelled_listen_ends_at_once_and_leaves_nothing(self) -> None:
        async def work(stage: Stage) -> tuple[list[float], set[Any]]:
            before = asyncio.all_tasks()
            took = []
            for holds in (False, True):
                inbox = Kept(holds=holds)
                task = asyncio.create_task(stage.channel.listen(inbox))
                await stage.say("hello")
                await until(partial(len, inbox.offered))
                await asyncio.sleep(0.02)
                begun = time.monotonic()
                task.cancel()
                await asyncio.wait({task}, timeout=5)
                took.append(time.monotonic() - begun)
                assert task.cancelled() or task.exception() is None
            await close(stage.channel)
            await asyncio.sleep(0.05)
            left = asyncio.all_tasks() - before
            await until(lambda: stage.connections() == 0)
            return took, left

        took, left = self.use(work)

        assert max(took) < 1.0
        assert left == set()

    # sending

    def test_hostile_text_arrives_or_is_refused_plainly(self) -> None:
        async def work(stage: Stage) -> dict[str, str | ClawError]:
            found: dict[str, str | ClawError] = {}
            for kind, text in HOSTILE.items():
                before = len(stage.shown())
                error = await refusal(stage.channel.send(
                    SendMessage(text, stage.recipient)))
                if error is not None:
                    found[kind] = error
                    continue
                found[kind] = "".join(
                    await until(partial(more, stage, before)))
            return found

        found = self.use(work)

        for kind, arrived in found.items():
            if isinstance(arrived, ClawError):
                assert arrived.message, kind
                continue
            assert "alpha" in arrived, kind
            assert "omega" in arrived, kind
            assert arrived.count("x") >= HOSTILE[kind].count("x"), kind
            assert arrived.count("👋") >= HOSTILE[kind].count("👋"), kind

    def test_plain_text_arrives_as_it_is(self) -> None:
        async def work(stage: Stage) -> str:
            await stage.channel.send(
                SendMessage("안녕, it is done.", stage.recipient))
            await until(stage.shown)
            return "".join(stage.shown())

        assert self.use(work).strip() == "안녕, it is done."

    def test_no_link_is_previewed(self) -> None:
        """A platform fetches what it previews, before anyone clicks."""
        async def work(stage: Stage) -> int:
            channel = stage.channel
            link = SendMessage("see https://example.org/a", stage.recipient)
            await channel.send(link)
            draft = await channel.send_draft(link)
            if draft is not None:
                await channel.update_draft(link.recipient, draft,
                                           link.content)
                await channel.finalize_draft(link.recipient, draft,
                                             link.content)
            await until(stage.shown)
            return stage.previews()

        assert self.use(work) == 0

    def test_parts_are_pure(self) -> None:
        async def work(stage: Stage) -> None:
            channel = stage.channel
            if not isinstance(channel, SendsParts):
                return
            for kind, text in HOSTILE.items():
                message = SendMessage(text, stage.recipient)
                first, second = channel.parts(message), channel.parts(message)
                assert first, kind
                assert list(map(self._settled, first)) == list(
                    map(self._settled, second)), kind
                assert stage.shown() == [], "parts() sent something"
                together = "".join(p.text for p in first)
                assert "alpha" in together, kind
                assert "omega" in together, kind
            for blank in ("", " \n"):
                assert isinstance(
                    channel.parts(SendMessage(blank, stage.recipient)), list)

        self.use(work)

    def test_parts_survive_the_outbox(self) -> None:
        """They are kept as JSON and sent by another process."""
        async def work(stage: Stage) -> str | None:
            if not isinstance(stage.channel, SendsParts):
                return None
            message = SendMessage("alpha **bold** 👋 " + "y " * 5_000
                                  + "omega", stage.recipient)
            kept = json.dumps([[p.kind, p.text, dict(p.data)]
                               for p in stage.channel.parts(message)])
            await close(stage.channel)
            stage.channel = channel = stage.make()
            assert isinstance(channel, SendsParts)
            for kind, text, data in json.loads(kept):
                await channel.send_part(message, Part(kind, text, data))
            await until(stage.shown)
            return "".join(stage.shown())

        arrived = self.use(work)

        if arrived is not None:
            assert arrived.count("y") == 5_000
            assert "omega" in arrived

    def test_a_key_is_shown_once(self) -> None:
        """Where the platform knows the key of a part, sending it twice is
        sending it once; another part of the same words has another key."""
        async def work(stage: Stage) -> list[Any] | None:
            channel = stage.channel
            if not channel.capabilities.key_holds_s \
                    or not isinstance(channel, SendsParts):
                return None
            message = SendMessage("it is done", stage.recipient)
            (part,), (other,) = channel.parts(message), channel.parts(message)
            first = await channel.send_part(message, part)
            again = await channel.send_part(message, part)
            await until(stage.shown)
            shown = len(stage.shown())
            second = await channel.send_part(message, other)
            await until(partial(more, stage, shown))
            return [first == again, first != second, shown]

        found = self.use(work)

        assert found in (None, [True, True, 1])

    def test_what_arrived_is_found_and_a_repeat_says_so(self) -> None:
        """Found only under an id that nobody else has; the note stands in
        front of whatever kind of part it is."""
        async def work(stage: Stage) -> list[Any] | None:
            channel = stage.channel
            if not isinstance(channel, FindsSent) \
                    or not isinstance(channel, SendsParts):
                return None
            message = SendMessage("it is **done** 👋", stage.recipient)
            (part,), (other,) = channel.parts(message), channel.parts(message)
            first = await channel.send_part(message, other)
            second = await channel.send_part(message, part)
            assert first
            assert second
            to, before = stage.recipient, ((stage.recipient, first),)
            return [second, *[await channel.find_sent(Doubt(
                message, part, before, owned))
                for owned in ((), ((to, second),))]]

        found = self.use(work)

        if found is not None:
            second, lost, known = found
            assert lost == (second,)
            assert not known

    def test_a_repeated_part_shows_its_note(self) -> None:
        async def work(stage: Stage) -> list[str] | None:
            channel = stage.channel
            if not isinstance(channel, MarksRepeats) \
                    or not isinstance(channel, SendsParts):
                return None
            message = SendMessage("it is **done** 👋", stage.recipient)
            (part,) = channel.parts(message)
            await channel.send_part(message, channel.mark_repeated(
                part, "(again) "))
            await until(stage.shown)
            return stage.shown()

        shown = self.use(work)

        if shown is not None:
            (text,) = shown
            assert text.startswith("(again) it is")
            assert text.endswith("👋")

    # what goes wrong

    def test_a_failed_send_says_so_without_secrets(self) -> None:
        async def work(stage: Stage, how: str) -> None:
            stage.fail(how)
            error = await refusal(stage.channel.send(
                SendMessage("hello", stage.recipient)))
            assert error is not None, f"{how}: the send raised nothing"
            assert error.message, how
            hidden(stage, *told(error))

        for how in self.failures:
            self.use(partial(work, how=how))

    def test_health_is_a_yes_or_no(self) -> None:
        async def work(stage: Stage, how: str | None) -> None:
            if how is not None:
                stage.fail(how)
            async with asyncio.timeout(10):
                healthy = await stage.channel.health_check()
            assert isinstance(healthy, bool), how
            assert healthy or how is not None

        for how in (None, *self.failures):
            self.use(partial(work, how=how))

    def test_small_signs_never_raise(self) -> None:
        async def work(stage: Stage) -> None:
            channel = stage.channel
            for who in UNKNOWN:
                await channel.start_typing(who)
                await channel.stop_typing(who)
                await channel.add_reaction(who, who, "👀")
                await channel.remove_reaction(who, who, "not an emoji")

        self.use(work)

    def test_drafts_of_unknown_people_are_refused_plainly(self) -> None:
        async def work(stage: Stage) -> None:
            channel = stage.channel
            assert isinstance(channel.supports_draft_updates(), bool)
            for who in UNKNOWN:
                for attempt in (
                        channel.send_draft(SendMessage("...", who)),
                        channel.update_draft(who, who, "text"),
                        channel.finalize_draft(who, who, "text"),
                        channel.cancel_draft(who, who)):
                    error = await refusal(attempt)
                    hidden(stage, *([] if error is None else told(error)))

        self.use(work)

    def test_a_preview_has_one_id_for_one_message(self) -> None:
        """A turn that runs again goes on in the preview of the first."""
        async def work(stage: Stage) -> None:
            channel = stage.channel
            if not isinstance(channel, PreviewsAnswers):
                return
            again = stage.make()
            assert isinstance(again, PreviewsAnswers)
            first, second = (channel.preview_id(stage.recipient, number)
                             for number in ("m1", "m2"))
            assert first == again.preview_id(stage.recipient, "m1")
            if first is not None:
                assert first != second
                for _ in range(2):
                    await channel.update_draft(stage.recipient, first, "...")
                await channel.cancel_draft(stage.recipient, first)

        self.use(work)

    def test_a_diagnosis_is_a_list_of_findings(self) -> None:
        async def work(stage: Stage, how: str | None) -> None:
            if how is not None:
                stage.fail(how)
            if not isinstance(stage.channel, Diagnoses):
                return
            findings = await stage.channel.diagnose()
            assert findings
            assert len({f.id for f in findings}) == len(findings)
            for finding in findings:
                assert finding.status in ("ok", "warn", "fail", "skip")
                assert finding.detail
                hidden(stage, finding.detail, finding.hint or "")

        for how in (None, *self.failures):
            self.use(partial(work, how=how))

    def test_who_polls_alone_names_its_account(self) -> None:
        with self.running() as stage:
            if isinstance(stage.channel, PollsOnce):
                assert stage.channel.poll_time_s > 0
                assert stage.channel.account
                assert stage.channel.account == stage.make().account  # type: ignore[attr-defined]
                hidden(stage, stage.channel.account)

    def test_it_closes_more_than_once(self) -> None:
        async def work(stage: Stage) -> None:
            await close(stage.channel)
            await close(stage.channel)

        self.use(work)

    def test_its_repr_hides_the_secret(self) -> None:
        with self.running() as stage:
            hidden(stage, repr(stage.channel), str(stage.channel))

    def _settled(self, part: Part) -> tuple[str, str, dict[str, Any]]:
        """What of a part must come out the same."""
        data = json.loads(json.dumps(dict(part.data)))
        return part.kind, part.text, {key: value for key, value in
                                      data.items() if key not in self.drawn}


__all__ = ["ChannelContract", "Stage"]
