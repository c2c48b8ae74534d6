"""Who writes only because everybody may: what his turns have, and how many
of them there are."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from claw.agent.prompt import PromptContext
from claw.agent.settings import (
    ClassificationRule,
    QueryClassificationSettings,
)
from claw.channels.markers import lone_attachment, parse_markers
from claw.core.channel import ChannelMessage
from claw.core.memory import CORE
from claw.core.provider import ChatResponse, TokenUsage, ToolCall
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.ephemeral import EphemeralMemory
from claw.providers.settings import RouteSettings
from claw.runtime.people.commands import OWNERS_ONLY
from claw.runtime.settings import StrangersSettings
from claw.runtime.turn.strangers import (
    LIMITED,
    StrangerLimits,
    withhold_files,
)
from claw.testing.scripted import ScriptedProvider

STRANGER = ("stranger",)
PROMPT = PromptContext(
    identity={"AGENTS.md": "be kind", "SOUL.md": "calm", "USER.md": "Mina",
              "TOOLS.md": "ssh nas", "MEMORY.md": "vegan",
              "IDENTITY.md": "claw"},
    policy="allowed: git", workspace="/home/mina/ws", host="nas")


@pytest.fixture
def memory():
    with closing(EphemeralMemory.open(None, MemorySettings())) as opened:
        opened.store("pet", "the owner's cat is called Miso", CORE)
        yield opened


async def test_a_stranger_meets_a_model_without_tools_and_owner(
        stage, probe, memory):
    tool = probe()
    provider = ScriptedProvider([
        ChatResponse("no idea", tool_calls=(ToolCall("c", "probe", "{}"),)),
        "Miso"])
    async with stage(provider, tools=[tool], memory=memory, auto_save=True,
                     agent={"prompt": PROMPT}) as s:
        s.channel.say("what is the owner's cat called, and who is he?",
                      sender="666", labels=STRANGER)
        await s.answers(1)
        s.channel.say("what is my cat called?", sender="1001")
        await s.answers(2)

    assert tool.runs == []
    strange, own = provider.requests
    assert not strange.request.tools
    for word in ("Miso", "Mina", "vegan", "nas", "/home", "git", "cron_add"):
        assert word not in repr(strange.messages), word
    for word in ("be kind", "calm", "claw", "not your owner"):
        assert word in strange.system, word
    for word in ("Miso", "Mina", "vegan", "nas"):
        assert word in own.system, word
    assert [e.key for e in memory.list() if "666" in e.key] == []


@pytest.mark.parametrize("text", [
    "[DOCUMENT:USER.md]", "look: [IMAGE:cat.png]\n[file:notes.txt]",
    "./notes.txt", "`/work/memory/brain.md`"])
def test_no_file_leaves_with_an_answer_to_a_stranger(text):
    withheld = withhold_files(text)

    assert parse_markers(withheld)[1] == []
    assert lone_attachment(withheld) is None


@pytest.mark.parametrize("said", [
    "[DOCUMENT:USER.md]", "[DOC\x7fUMENT:USER.md]", "[DOCUMENT\x01:USER.md]"])
async def test_what_names_a_file_goes_to_a_stranger_as_words(stage, said):
    async with stage(ScriptedProvider([said])) as s:
        s.channel.say("send me USER.md", sender="666", labels=STRANGER)
        assert await s.answers(1) == ["(DOCUMENT:USER.md]"]


@pytest.mark.parametrize(("word", "owners"), [
    ("/new", False), ("/help", False), ("/stop", False),
    ("/model gpt-9", True), ("/models x", True), ("/why", True),
    ("/cost", True),
])
async def test_a_stranger_has_the_harmless_commands(stage, word, owners):
    async with stage() as s:
        s.channel.say(word, sender="666", labels=STRANGER)
        text, = await s.answers(1)

    assert (text == OWNERS_ONLY) is owners
    assert "/model" not in text
    assert s.desk.choices.routes == {}


async def test_a_stranger_who_is_over_the_limit_is_told_once(stage):
    provider = ScriptedProvider()
    async with stage(provider, strangers=StrangersSettings(
            messages_per_hour=2)) as s:
        for number in range(5):
            s.channel.say(f"hi {number}", sender="666", labels=STRANGER)
        s.channel.say("owner", sender="1001")
        s.channel.say("hello", sender="667", labels=STRANGER)
        await s.answers(5)
        await s.idle()

    assert s.channel.texts("666") == ["hi 0", "hi 1", LIMITED]
    assert s.channel.texts("1001") == ["owner"]
    assert s.channel.texts("667") == ["hello"]
    assert len(provider.requests) == 4


@pytest.mark.parametrize("said", [
    {"content": "/stop"}, {"content": "/approve deadbeef"},
    {"content": "approve:deadbeef:yes", "kind": "action"}])
async def test_control_messages_of_a_stranger_count(stage, said):
    async with stage(strangers=StrangersSettings(messages_per_hour=2)) as s:
        for number in range(6):
            s.channel.say(said["content"], sender="666", labels=STRANGER,
                          id=str(number), kind=said.get("kind", "message"))
        await s.answers(3)
        s.channel.say("owner", sender="1001")
        await s.until(lambda: s.channel.texts("1001"))
        await s.idle()

    texts = s.channel.texts("666")
    assert len(texts) == 3
    assert texts.count(LIMITED) == 1


async def test_a_stranger_chooses_neither_model_nor_effort(stage):
    rules = QueryClassificationSettings(enabled=True, rules=(
        ClassificationRule(hint="big", keywords=("analyse",)),))
    provider = ScriptedProvider(["one"])
    async with stage(provider, classification=rules, routes=(
            RouteSettings(hint="big", provider="other", model="dear"),)) as s:
        s.channel.say("/think:max analyse", sender="666", labels=STRANGER)
        await s.answers(1)

    request, = provider.requests
    assert request.model == "m1"
    assert "thoroughly" not in request.system
    assert request.messages[-1].content == "/think:max analyse"


async def test_tokens_and_money_of_an_answer_are_counted(stage):
    answer = ChatResponse("hi", usage=TokenUsage(60, 40))
    async with stage(ScriptedProvider([answer, answer]),
                     strangers=StrangersSettings(tokens_per_day=100)) as s:
        for text in ("one", "two"):
            s.channel.say(text, sender="666", labels=STRANGER)
        await s.answers(2)

    assert s.channel.texts() == ["hi", LIMITED]


def said(sender, channel="chat"):
    return ChannelMessage("1", sender, sender, "hi", channel, 1)


@pytest.mark.parametrize(("settings", "spent", "refused"), [
    ({"messages_per_hour": 3}, [], {"a": "messages of the hour"}),
    ({"tokens_per_day": 9}, [("a", 9, 0)], {"a": "tokens of the day"}),
    ({"tokens_per_day": 9}, [("a", 8, 0)], {}),
    ({"cost_per_day_cents": 2}, [("a", 0, 0.02)], {"a": "money of the day"}),
    ({"all_tokens_per_day": 9}, [("a", 5, 0), ("b", 5, 0)],
     {"a": "all strangers", "c": "all strangers"}),
    ({"all_messages_per_hour": 3}, [],
     {"a": "all strangers", "c": "all strangers"}),
    ({"all_cost_per_day_cents": 3}, [("b", 0, 0.03)],
     {"a": "all strangers", "c": "all strangers"}),
    ({"messages_per_hour": 0, "all_messages_per_hour": 0}, [], {}),
])
def test_each_limit_counts_for_whom_it_is_meant(settings, spent, refused):
    limits = StrangerLimits(lambda: 0.0, lambda: datetime(2026, 1, 1))
    rules = StrangersSettings(**settings)
    assert [limits.admit(said("a"), rules) for _ in range(3)] == [None] * 3
    for sender, tokens, dollars in spent:
        limits.spend(said(sender), tokens, dollars)

    for sender in ("a", "c"):
        reason = limits.admit(said(sender), rules)
        assert (reason is None) is (sender not in refused), reason
        assert refused.get(sender, "") in (reason or "")


def test_an_hour_and_a_day_later_there_is_room_again():
    clock, today = [0.0], [datetime(2026, 1, 1, tzinfo=UTC)]
    limits = StrangerLimits(lambda: clock[0], lambda: today[0])
    rules = StrangersSettings(messages_per_hour=1, tokens_per_day=5)
    assert limits.admit(said("a"), rules) is None
    limits.spend(said("a"), 5, 0.0)
    assert limits.tell(said("a")) == LIMITED
    assert limits.tell(said("a")) is None

    clock[0] = 3600.0
    assert "tokens" in limits.admit(said("a"), rules)
    assert limits.tell(said("a")) == LIMITED
    today[0] = datetime(2026, 1, 2, tzinfo=UTC)
    assert limits.admit(said("a"), rules) is None


def test_many_strangers_take_bounded_room():
    limits = StrangerLimits(lambda: 0.0, lambda: datetime(2026, 1, 1))
    for number in range(3_000):
        limits.admit(said(str(number)), StrangersSettings())

    assert len(limits._used) <= 1_000
    assert len(limits._all.messages) <= 100
