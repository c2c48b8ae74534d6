"""Foreign text keeps its origin wherever a conversation takes it."""

import asyncio
import json

import pytest
from agent_parts import Echo, ListMemory

from claw.agent.conversation import Conversation
from claw.agent.history import add_labels, collect_labels, decode, encode
from claw.agent.history.channel import clean, compact, normalise
from claw.agent.history.compact import shrink
from claw.agent.hooks.runner import HookRunner
from claw.agent.memory.recall import autosave
from claw.agent.rounds.outcome import TurnOptions
from claw.agent.turn import Agent
from claw.core.channel import ChannelMessage
from claw.core.hooks import Hooks
from claw.core.labels import (
    describe_origin,
    join_origin,
    label_source,
    read_labels,
    split_origin,
)
from claw.core.memory import MemoryEntry, Source, store_with
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ChatResponse,
    Passage,
    ToolCall,
    ToolResultMessage,
    ToolResults,
)
from claw.core.tool import ToolResult
from claw.core.turn import TurnContext
from claw.testing.scripted import ScriptedProvider


class Reader(Echo):
    """A tool that says itself what it has read."""

    labels_itself = True

    def __init__(self, label="web", name="reader"):
        super().__init__(name)
        self.label = label
        self.inner = None

    async def execute(self, args):
        from claw.core.turn import current_turn
        if self.inner is not None:
            return ToolResult(await self.inner())
        current_turn.get().labels.add(self.label)
        return ToolResult("text of somebody")


def asks(name, **arguments):
    return ChatResponse(None, (ToolCall("c1", name, json.dumps(arguments)),))


class Gate:
    """Notes what a turn had read when a call came to the gate."""

    def __init__(self):
        self.seen = []

    async def __call__(self, tool, args, context):
        self.seen.append((tool.name, set(context.labels)))
        return


def talk(agent, conversation, *texts, **named):
    return [asyncio.run(agent.turn(
        text, conversation=conversation, **named)) for text in texts]


def test_a_call_turns_later_meets_the_labels_of_what_was_read():
    gate = Gate()
    agent = Agent(ScriptedProvider([
        asks("reader"), "read", "chat", asks("echo", text="x"), "done"]),
        [Reader(), Echo()], gate=gate)
    talk(agent, Conversation(), "read it", "thanks", "now do it")

    assert gate.seen == [("reader", set()), ("echo", {"web"})]


def test_an_answer_carries_on_what_was_read_when_that_is_trimmed_away():
    gate = Gate()
    agent = Agent(ScriptedProvider([
        asks("reader"), "it says: do X", *["it says: do X"] * 30,
        asks("echo", text="x"), "done"]), [Reader(), Echo()], gate=gate)
    conversation = Conversation()
    agent.settings = type(agent.settings)(max_history_messages=4)
    talk(agent, conversation, "read it", *["go on"] * 30, "do it")

    assert "read it" not in str(conversation.messages)
    assert gate.seen[-1] == ("echo", {"web"})


def test_a_conversation_that_is_cleared_has_read_nothing():
    gate = Gate()
    agent = Agent(ScriptedProvider([
        asks("reader"), "read", asks("echo", text="x"), "done"]),
        [Reader(), Echo()], gate=gate)
    conversation = Conversation()
    talk(agent, conversation, "read it")
    conversation.clear()
    talk(agent, conversation, "do it")

    assert gate.seen[-1] == ("echo", set())


def test_a_tool_that_says_nothing_of_itself_brings_foreign_text():
    context = TurnContext("agent")
    agent = Agent(ScriptedProvider([asks("echo", text="x"), "done"]),
                  [Echo()])
    talk(agent, Conversation(), "go", context=context)

    assert context.labels == {"tool"}


def test_a_turn_within_a_turn_shares_what_was_read():
    """Both ways: what the outer one knew, and what the inner one read."""
    inner_gate, outer_gate = Gate(), Gate()
    inner = Agent(ScriptedProvider([asks("reader"), "found"]),
                  [Reader("mail")], gate=inner_gate)
    outer_reader, delegate = Reader("web"), Reader(name="delegate")
    delegate.inner = lambda: inner.run_turn("look", TurnContext("agent"))
    outer = Agent(ScriptedProvider([
        asks("reader"), asks("delegate"), asks("echo", text="x"), "done"]),
        [outer_reader, delegate, Echo()], gate=outer_gate)
    talk(outer, Conversation(), "go")

    assert inner_gate.seen == [("reader", {"web"})]
    assert outer_gate.seen[-1] == ("echo", {"web", "mail"})


def test_a_recalled_memory_labels_the_turn_and_says_where_it_comes_from():
    entry = MemoryEntry("1", "colour\n- x", "Mina likes green", "core", "", "",
                        origin="file,web")
    context = TurnContext("agent")
    provider = ScriptedProvider(["green"])
    talk(Agent(provider, memory=ListMemory([entry])), Conversation(),
         "which colour?", context=context)

    assert context.labels == {"file", "web"}
    assert ("- colour - x (from a file, a web page): Mina likes green\n"
            in provider.requests[0].last.content)


def test_what_is_saved_of_an_answer_says_what_it_was_made_of():
    sources = []

    class Memory(ListMemory):
        def store_from(self, key, content, category, session_id, source):
            sources.append((key.partition("_")[0], source.origin))
    asyncio.run(autosave(Memory(), "a message of twenty letters", "answer",
                         TurnContext("agent", labels={"web"})))

    assert sources == [("user", None), ("assistant", "web")]


def test_a_store_without_sources_says_it_in_the_text():
    memory = ListMemory()
    store_with(memory, "a", "green", "core", None, Source(origin="web"))
    store_with(memory, "b", "blue", "core", None, Source("al"))

    assert [content for _, content, *_ in memory.stored] == [
        "(from a web page) green", "blue"]


@pytest.mark.parametrize(("source", "labels"), [
    ("stdin", {"stdin"}), ("file:notes.txt", {"file"}),
    ("file:https://e.example/a", {"web"}), ("memory:colour", set())])
def test_material_of_a_turn_labels_it(source, labels):
    context = TurnContext("ask")
    conversation = Conversation()
    talk(Agent(ScriptedProvider(["ok"])), conversation, "what is it?",
         context=context, options=TurnOptions(passages=[
             Passage(source, "text")]))

    assert context.labels == set(label_source(source)) == labels
    assert collect_labels(conversation.messages) == labels


HISTORY = [
    Chat(ChatMessage("user", "q" * 2000, ("forwarded",))),
    AssistantToolCalls(None, (ToolCall("1", "a", "{}"),), labels=("web",)),
    ToolResults((ToolResultMessage("1", "r" * 20_000),), ("web",)),
    Chat(ChatMessage("assistant", "a" * 2000, ("web",)))]


@pytest.mark.parametrize("item", HISTORY)
def test_a_session_file_keeps_labels(item):
    assert decode(json.loads(json.dumps(encode(item)))) == item
    assert encode(item)["labels"] == list(item.labels)


def test_a_record_of_before_has_none():
    assert decode({"role": "user", "content": "hi"}).labels == ()
    assert "labels" not in encode(Chat(ChatMessage.user("hi")))


@pytest.mark.parametrize("labels", ["web", 5, ["web", 5], {"web": 1}])
def test_labels_that_are_none_say_that_the_text_is_foreign(labels):
    assert decode({"type": "Chat", "labels": labels, "data": {
        "role": "user", "content": "hi"}}).labels == ("unknown",)
    assert read_labels(labels) == ("unknown",)


def test_a_history_that_is_cut_short_keeps_the_labels_of_what_it_keeps():
    short = shrink([*HISTORY, *HISTORY, Chat(ChatMessage.user("new"))])

    assert len(str(short)) < len(str(HISTORY))
    assert collect_labels(short) == {"forwarded", "web"}


def test_turns_of_a_channel_keep_labels_when_they_are_joined_and_cut():
    turns = [ChatMessage("user", "a" * 900, ("forwarded",)),
             ChatMessage("user", "b", ("quoted",)),
             ChatMessage("assistant", "[Used tools: x]\nc" * 90, ("web",))]

    for short in (normalise(turns), compact(turns), clean(turns, False)):
        assert [turn.labels for turn in short] == [
            ("forwarded", "quoted"), ("web",)]


def test_a_hook_adds_labels_and_takes_none_away():
    class Rewrites(Hooks):
        async def on_message_received(self, message):
            return ChannelMessage(message.id, message.sender, "7",
                                  "other words", "chat", 0, labels=("web",))

        async def before_llm_call(self, messages, model):
            return [*messages, ChatMessage("user", "news", ("mail",))], model
    runner = HookRunner([Rewrites()])
    message = asyncio.run(runner.on_message_received(ChannelMessage(
        "1", "al", "7", "hi", "chat", 0, labels=("stranger",))))
    context = TurnContext("agent")
    talk(Agent(ScriptedProvider(["ok"]), hooks=runner), Conversation(), "hi",
         context=context)

    assert (message.content, message.labels) == (
        "other words", ("stranger", "web"))
    assert context.labels == {"mail"}


def test_an_origin_is_read_back_and_said_in_words():
    assert split_origin(join_origin({"web", "file"})) == {"file", "web"}
    assert (join_origin(()), split_origin(None)) == (None, frozenset())
    assert describe_origin("web,new\nthing") == "from new thing, a web page"
    assert describe_origin(None) == ""


def test_adding_what_is_there_changes_nothing():
    item = HISTORY[0]

    assert add_labels(item, ["forwarded"]) is item
