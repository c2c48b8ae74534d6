"""Questions to the owner over a channel."""

import asyncio
import json

import pytest

from claw.channels.markers import parse_markers
from claw.core.channel import Button, ChannelMessage
from claw.core.provider import ChatResponse, ToolCall
from claw.core.turn import ApprovalRequest
from claw.runtime.people.approvals import (
    NOT_OPEN,
    build_question,
    parse_answer,
    render_request,
)
from claw.runtime.settings import ChannelsSettings
from claw.testing.memory_channel import MemoryChannel
from claw.testing.scripted import ScriptedProvider


def call(**arguments):
    return ChatResponse(tool_calls=(
        ToolCall("c1", "probe", json.dumps(arguments)),))


def gate(stage):
    """A gate that asks for every call."""
    async def asks(tool, args, context):
        decision = await stage.approver.approve(ApprovalRequest(
            tool.name, f"run {args.get('x', 0)}", f"key-{dict(args)}",
            "supervised mode"))
        return None if decision != "no" else "Denied by user."
    return asks


class Dialogue:
    """A stage whose one tool needs a yes."""

    def __init__(self, stage, probe, script=None, **more):
        self.tool = probe()
        self.script = script or [call(x=1), "done"]
        self.stage = stage(ScriptedProvider(self.script), gate=gate,
                           tools=[self.tool], **more)

    async def __aenter__(self):
        await self.stage.__aenter__()
        return self

    async def __aexit__(self, *_):
        await self.stage.__aexit__()

    @property
    def channel(self):
        return self.stage.channel

    async def question(self, number=0):
        """The buttons' id of the question."""
        def asked():
            found = [m for m in self.channel.sent
                     if m.text.startswith("Approve")]
            return found[number] if len(found) > number else None
        found = await self.stage.until(asked)
        return found.message.buttons[0].action.split(":")[1]

    def press(self, approval, word="yes", **fields):
        self.channel.say(f"approve:{approval}:{word}", kind="action",
                         **fields)

    def told(self):
        """What the model read of the call."""
        return self.stage.provider.requests[-1].last.content


@pytest.fixture
def dialogue(stage, probe):
    return lambda *args, **more: Dialogue(stage, probe, *args, **more)


async def test_a_pressed_button_lets_the_call_run(dialogue):
    async with dialogue() as d:
        d.channel.say("go", reply_target="room", thread_ts="t1")
        approval = await d.question()
        assert d.tool.runs == []
        asked = d.channel.sent[0]
        assert (asked.recipient, asked.thread_ts) == ("room", "t1")

        d.press(approval, reply_target="room")

        await d.stage.until(lambda: "done" in d.channel.texts())
        assert d.tool.runs == [{"x": 1}]
        assert "Allowed:\n```\nprobe: run 1\n```" in d.channel.texts()
        trace = await d.stage.raw.trace("memory_1")
        assert trace["approvals"] == [{
            "tool": "probe", "reason": "supervised mode",
            "decision": "yes"}]


@pytest.mark.parametrize(("text", "runs"), [
    ("/approve {}", 1), ("/APPROVE@bot {} please", 1),
    ("/approve {} always", 1), ("/deny {}", 0), ("yes {}", 1),
    ("Always {}", 1), ("no {}", 0), ("claw: ja {}", 1), ("아니요 {}", 0),
    ("да {}\n\nOn Monday claw wrote:\n> no {}", 1)])
async def test_what_is_typed_counts_like_a_button(dialogue, text, runs):
    async with dialogue() as d:
        d.channel.say("go")
        d.channel.say(text.replace("{}", await d.question()))

        await d.stage.until(lambda: "done" in d.channel.texts())
        assert len(d.tool.runs) == runs
        said = "Allowed" if runs else "Refused"
        assert f"{said}:\n```\nprobe: run 1\n```" in d.channel.texts()
        assert runs or "Denied by user." in d.told()


@pytest.mark.parametrize("other", [
    {"sender": "mallory"}, {"sender": "mallory", "reply_target": "alice"}])
async def test_nobody_else_can_answer(dialogue, other):
    async with dialogue() as d:
        d.channel.say("go")
        approval = await d.question()
        d.press(approval, **other)
        await d.stage.until(lambda: NOT_OPEN in d.channel.texts())
        for word in ("/approve", "yes"):
            d.channel.say(f"{word} {approval}", **other)
        await d.stage.until(
            lambda: d.channel.texts().count(NOT_OPEN) == 3)
        assert d.tool.runs == []

        d.press(approval)
        await d.stage.until(lambda: d.tool.runs)


async def test_what_is_refused_sends_no_file_by_being_shown(dialogue):
    marker = "[IMAGE:https://e.example/?q=secret]"
    async with dialogue([call(x=marker), "done"]) as d:
        d.channel.say("go")
        approval = await d.question()
        d.press(approval, "no")

        await d.stage.until(lambda: "done" in d.channel.texts())
        answer, = (text for text in d.channel.texts()
                   if text.startswith("Refused"))
        assert "IMAGE:https://e.example/?q=secret" in answer
        assert parse_markers(answer)[1] == []


@pytest.mark.parametrize("labels", [("forwarded",), ("quoted",)])
async def test_words_of_others_are_no_answer(dialogue, labels):
    async with dialogue() as d:
        d.channel.say("go")
        approval = await d.question()
        d.channel.say(f"/approve {approval}", labels=labels)

        await d.stage.until(lambda: NOT_OPEN in d.channel.texts())
        assert d.tool.runs == []

        d.press(approval)
        await d.stage.until(lambda: d.tool.runs)


async def test_the_same_name_on_another_platform_is_somebody_else(dialogue):
    home, away = MemoryChannel("home"), MemoryChannel("away")
    async with dialogue(channels=[home, away]) as d:
        home.say("go")
        approval = await d.question()
        away.say(f"approve:{approval}:yes", "alice", kind="action")

        assert await away.until(away.texts) == [NOT_OPEN]
        assert d.tool.runs == []


@pytest.mark.parametrize("text", [
    "/approve", "/deny", "/approve 00000000", "/approve ' OR 1=1"])
async def test_an_answer_to_no_question_says_so(stage, text):
    async with stage() as s:
        s.channel.say(text)
        assert await s.answers(1) == [NOT_OPEN]


async def test_other_buttons_are_no_answers(stage):
    async with stage() as s:
        s.channel.say("approve:x:perhaps", kind="action")
        s.channel.say("hello")
        assert await s.answers(1) == ["hello"]
        await s.idle()
        assert s.channel.texts() == ["hello"]


async def test_an_answer_counts_once(dialogue):
    async with dialogue() as d:
        d.channel.say("go")
        approval = await d.question()
        d.press(approval, "no")
        d.press(approval, "yes")
        await d.stage.until(lambda: NOT_OPEN in d.channel.texts())
        assert d.tool.runs == []


async def test_a_question_that_nobody_answers_is_a_no(dialogue):
    async with dialogue(valid_s=0.05) as d:
        d.channel.say("go")
        approval = await d.question()
        await d.stage.until(lambda: "done" in d.channel.texts())
        assert d.tool.runs == []
        d.press(approval)
        d.channel.say(f"yes {approval}")
        await d.stage.until(lambda: d.channel.texts().count(NOT_OPEN) == 2)
        assert d.tool.runs == []


async def test_of_two_open_questions_the_one_that_is_named_is_answered(
        dialogue):
    async with dialogue([call(x=1), call(x=2), "done", "done"]) as d:
        d.channel.say("go", reply_target="room")
        first = await d.question()
        d.channel.say("go", reply_target="den")
        second = await d.question(1)
        d.channel.say(f"yes {second}", reply_target="den")
        await d.stage.until(lambda: d.tool.runs)
        d.channel.say(f"no {first}", reply_target="room")

        await d.stage.until(lambda: d.channel.texts().count("done") == 2)
        assert d.tool.runs == [{"x": 2}]


@pytest.mark.parametrize("word", ["yes", "Ja!", "no"])
async def test_a_lone_yes_decides_nothing_and_is_asked_which(dialogue, word):
    """It may have been meant for the question before."""
    async with dialogue() as d:
        d.channel.say("go")
        approval = await d.question()
        d.channel.say(word)
        await d.stage.until(lambda: (
            f"Say which: yes {approval} or no {approval}"
            in d.channel.texts()))
        assert d.tool.runs == []

        d.channel.say(f"yes {approval}")
        await d.stage.until(lambda: "done" in d.channel.texts())
        assert len(d.tool.runs) == 1


async def test_a_yes_where_nothing_is_open_is_said_to_the_model(dialogue):
    async with dialogue(["Shall I?", "I did"]) as d:
        d.channel.say("go")
        await d.stage.until(lambda: "Shall I?" in d.channel.texts())
        d.channel.say("yes")
        await d.stage.until(lambda: "I did" in d.channel.texts())


async def test_a_yes_in_another_chat_is_said_to_the_model(dialogue):
    async with dialogue([call(x=1), "hello", "done"]) as d:
        d.channel.say("go", reply_target="room")
        approval = await d.question()
        d.channel.say("yes", reply_target="den")
        await d.stage.until(lambda: "hello" in d.channel.texts("den"))
        d.press(approval, "no", reply_target="room")
        await d.stage.until(lambda: "done" in d.channel.texts("room"))
        assert d.tool.runs == []


async def test_an_id_that_was_used_is_not_drawn_again(dialogue, monkeypatch):
    drawn = ["k2m3p", "k2m3p", "r4s5t"]
    monkeypatch.setattr("claw.channels.answers.draw_id",
                        lambda sign="": drawn.pop(0))
    async with dialogue([call(x=1), call(x=2), "done"]) as d:
        d.channel.say("go")
        d.press(await d.question(), "no")

        assert await d.question(1) == "r4s5t"


async def test_a_yes_is_good_for_one_call(dialogue):
    """The same call later in the same turn is asked about again."""
    async with dialogue([call(x=1), call(x=1), "done"]) as d:
        d.channel.say("go")
        d.press(await d.question(), "yes")
        second = await d.question(1)
        assert len(d.tool.runs) == 1
        d.press(second, "no")

        await d.stage.until(lambda: "done" in d.channel.texts())
        assert len(d.tool.runs) == 1


async def test_a_no_holds_to_the_end_of_the_turn(dialogue):
    async with dialogue([call(x=1), call(x=1), "done"]) as d:
        d.channel.say("go")
        d.press(await d.question(), "no")

        await d.stage.until(lambda: "done" in d.channel.texts())
        assert d.tool.runs == []
        assert sum("Approve" in t for t in d.channel.texts()) == 1


async def test_a_question_that_is_open_when_claw_is_killed_stays_open(
        dialogue):
    channel = MemoryChannel()
    async with dialogue(channels=[channel]) as d:
        channel.say("go")
        approval = await d.question()
    async with dialogue(["never asked"], channels=[channel]) as d:
        await d.stage.until(lambda: d.stage.said("turn.resumed"))
        d.press(approval)

        await d.stage.until(lambda: "never asked" in channel.texts())
        assert d.tool.runs == [{"x": 1}]
        assert sum("Approve" in t for t in channel.texts()) == 1


async def test_an_answer_that_came_while_claw_was_dead_is_found(dialogue):
    channel = MemoryChannel()
    async with dialogue(channels=[channel]) as d:
        channel.say("go")
        approval = await d.question()
        await d.stage.idle_outbox()
        d.stage.dispatcher._control = lambda *_: asyncio.sleep(0)
        d.press(approval)
        await d.stage.until(lambda: not channel.waiting)
    async with dialogue(["done"], channels=[channel]) as d:
        await d.stage.until(lambda: "done" in channel.texts())
        assert d.tool.runs == [{"x": 1}]
        assert sum("Approve" in t for t in channel.texts()) == 1


async def test_the_clock_stands_while_somebody_is_asked(dialogue,
                                                        monkeypatch):
    monkeypatch.setattr("claw.runtime.settings.MIN_TIMEOUT_S", 0.03)
    async with dialogue(settings=ChannelsSettings(
            message_timeout_secs=0)) as d:
        d.channel.say("go")
        approval = await d.question()
        await asyncio.sleep(0.2)
        d.press(approval)
        await d.stage.until(lambda: "done" in d.channel.texts())
        assert len(d.tool.runs) == 1


async def test_a_turn_that_is_stopped_while_it_asks_ends(dialogue):
    async with dialogue() as d:
        d.channel.say("go")
        approval = await d.question()
        d.channel.say("/stop")
        await d.stage.until(lambda: "Stop signal sent." in d.channel.texts())
        d.press(approval)
        await d.stage.until(lambda: any(
            t.startswith(("Allowed", NOT_OPEN)) for t in d.channel.texts()))
        await asyncio.sleep(0.02)
        assert d.tool.runs == []


async def test_turns_that_came_through_no_channel_are_refused(stage):
    async with stage() as s:
        assert await s.approver.approve(
            ApprovalRequest("shell", "rm", "k", "r")) == "no"


# -- the words


def asked(content="x", **more):
    return ChannelMessage("1", "alice", "room", content, "memory", 0,
                          thread_ts="t", **more)


@pytest.mark.parametrize(("message", "answer"), [
    (asked("approve:1a:yes", kind="action"), ("1a", "yes")),
    (asked("approve:1a:always", kind="action"), ("1a", "always")),
    (asked("approve:1a:maybe", kind="action"), None),
    (asked("approve:1a", kind="action"), None),
    (asked("approve:1a:yes"), None),
    (asked("/approve 1a"), ("1a", "yes")),
    (asked("/approve 1a ALWAYS"), ("1a", "always")),
    (asked("/deny@bot 1a"), ("1a", "no")),
    (asked("/approve"), ("", "yes")),
    (asked("approve 1a"), None),
    (asked("approve K7m3p"), ("k7m3p", "yes")),
    (asked("/approve K7M3P"), ("k7m3p", "yes")),
])
def test_answers_are_buttons_and_two_commands(message, answer):
    assert parse_answer(message) == answer


def test_a_question_shows_the_whole_call_and_where_to_answer():
    request = ApprovalRequest("shell", "echo ``` " + "x" * 500, "k",
                              "high-risk command", may_remember=False)
    message = build_question("1a2b", request, asked())

    assert message.content.startswith(
        "Approve shell?\nCommand:\n````\necho ``` " + "x" * 500)
    assert "Why: high-risk command" in message.content
    assert message.content.endswith("Answer: yes 1a2b or no 1a2b")
    assert (message.recipient, message.thread_ts) == ("room", "t")
    assert message.buttons == (Button("Allow", "approve:1a2b:yes"),
                               Button("Deny", "approve:1a2b:no"))
    assert all(len(b.action.encode()) <= 64 for b in message.buttons)


def test_always_is_offered_only_where_it_may_be_remembered():
    request = ApprovalRequest("file_write", "path: a", "k", "r")
    message = build_question("1a2b", request, asked())

    assert message.buttons[-1] == Button("Always", "approve:1a2b:always")
    assert "Arguments:" in message.content
    assert message.content.endswith(" or no 1a2b or always 1a2b")


def test_what_hides_in_a_call_is_made_visible():
    request = ApprovalRequest("shell", "ls\u202e\x1b[2Kmr", "k", "r")

    for text in (build_question("1", request, asked()).content,
                 render_request(request)):
        assert "\u202e" not in text
        assert "\x1b" not in text


async def test_who_is_no_owner_approves_nothing(dialogue):
    async with dialogue([call(x=1)]) as d:
        d.channel.say("go", labels=("stranger",))

        await d.stage.answers(1)
        assert d.tool.runs == []
        assert not any("Approve" in t for t in d.channel.texts())
