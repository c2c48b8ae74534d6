"""A conversation: what goes on, what begins anew, what is done beside it."""

import asyncio
import threading
from contextlib import suppress

import pytest

from claw.agent.memory.recall import bare_message
from claw.core.errors import StorageError
from claw.storage.log.reader import Filters, open_reader
from claw.testing.fake_openai import FakeOpenAI, failure
from claw.wiring.chat import session as module
from claw.wiring.chat.session import ChatOptions, maintain_beside, open_chat
from claw.wiring.workspace.place_names import log_path
from claw.wiring.workspace.sessions import open_sessions, read_messages

QUIET = {"tools": (), "use_memory": False}


def sent(server, number=-1):
    return [bare_message(m["content"])
            for m in server.chats[number].body["messages"]
            if m["role"] != "system"]


def kept(tree, name="agent"):
    """What a session keeps, without the system prompt."""
    session = open_sessions(tree.places).read(name)
    return [message.text for message in read_messages(session)
            if message.role != "system"]


def talk(tree, *messages, **options):
    """Say these; gives the texts that came back."""
    async def go():
        async with open_chat(tree, ChatOptions(**{**QUIET, **options})) as it:
            return [(await it.say(text, lambda event: None)).text
                    for text in messages]
    return asyncio.run(go())


def test_each_message_is_kept_as_it_is_said(ask_server):
    with FakeOpenAI(["one", "two", "three"]) as server:
        tree = ask_server(server)
        assert talk(tree, "first", "second") == ["one", "two"]
        assert kept(tree) == ["first", "one", "second", "two"]
        talk(tree, "third")

    assert kept(tree) == ["third", "three"]
    assert sent(server) == ["third"]


def test_a_named_conversation_goes_on(ask_server):
    with FakeOpenAI(["one", "two"]) as server:
        tree = ask_server(server)
        talk(tree, "first", session="work")
        talk(tree, "second", session="work")

        assert sent(server) == ["first", "one", "second"]
    assert kept(tree, "work") == ["first", "one", "second", "two"]


def test_a_new_one_begins_without_what_was_said(ask_server):
    async def go(tree):
        async with open_chat(tree, ChatOptions(**QUIET)) as chat:
            await chat.say("first", lambda event: None)
            assert chat.messages == 3  # with the system prompt
            assert chat.last.text == "one"
            chat.new()
            assert (chat.messages, chat.last) == (0, None)
            await chat.say("second", lambda event: None)
    with FakeOpenAI(["one", "two"]) as server:
        tree = ask_server(server)
        asyncio.run(go(tree))

        assert sent(server) == ["second"]
    assert kept(tree) == ["second", "two"]


def test_the_options_reach_the_model(ask_server):
    async def go(tree):
        options = ChatOptions(**QUIET, system="Be brief.", temperature=0.25,
                              session="work")
        async with open_chat(tree, options) as chat:
            assert (chat.model, chat.session) == ("m", "work")
            chat.use_model("other")
            assert chat.model == "other"
            result = await chat.say("hi", lambda event: None)
            return chat.answer_json(result, 1.5)
    with FakeOpenAI(["one"]) as server:
        found = asyncio.run(go(ask_server(server)))
        body = server.chats[0].body

    assert (body["model"], body["temperature"]) == ("other", 0.25)
    assert body["messages"][0]["content"].startswith("Be brief.")
    assert str(found["session"]) == "work"
    assert (found["text"], found["duration_ms"]) == ("one", 1500)


def test_the_prompt_says_where_the_agent_works(ask_server):
    with FakeOpenAI(["one"]) as server:
        tree = ask_server(server)
        talk(tree, "hi", tools=None)
        system = server.chats[0].body["messages"][0]["content"]
        tools = {tool["function"]["name"]
                 for tool in server.chats[0].body["tools"]}

    assert str(tree.places.workspace) in system
    assert {"file_read", "shell"} <= tools


def test_an_image_that_can_not_be_kept_is_told(ask_server):
    events = []

    async def go(tree):
        async with open_chat(tree, ChatOptions(**QUIET)) as chat:
            (tree.places.workspace / "sessions").write_text("")
            with suppress(StorageError):  # nor can the conversation
                await chat.say("see [IMAGE:chart.png]", events.append)
    with FakeOpenAI(["one"]) as server:
        tree = ask_server(server)
        (tree.places.workspace / "chart.png").write_bytes(
            b"\x89PNG\r\n\x1a\n" + bytes(20))
        asyncio.run(go(tree))

    assert [event.text for event in events if hasattr(event, "text")
            and "an image can't be kept: " in event.text]


# --- hygiene beside a conversation


def beside(monkeypatch, work, *, patience_s=5.0):
    """What is told at the end of a conversation beside which `work` runs."""
    told, seen = [], []
    monkeypatch.setattr(module, "TIDY_S", patience_s)

    def maintain(tree, notify, *, who, protected):
        assert who == "terminal"
        seen.append(protected)
        return work(notify)
    monkeypatch.setattr(module, "maintain_memory", maintain)

    async def go():
        async with maintain_beside(None, "work", ChatOptions(
                notify=told.append)):
            pass
    asyncio.run(go())
    assert seen == [("work",)]
    return told


class Report:
    def lines(self):
        return ["2 archived", "1 purged"]


def test_what_went_well_is_not_told_and_the_rest_is(monkeypatch):
    def work(notify):
        notify("memory hygiene: 2 archived, 1 purged")
        notify("the disk is full")
        notify("so is the other")
        return Report()

    assert beside(monkeypatch, work) == ["the disk is full; so is the other"]


def test_nothing_to_tell_is_not_told(monkeypatch):
    assert beside(monkeypatch, lambda notify: None) == []


def test_an_error_of_hygiene_is_told_and_not_raised(monkeypatch):
    def work(notify):
        raise ValueError("odd")

    told, = beside(monkeypatch, work)
    assert "odd" in told


def test_hygiene_that_takes_long_is_left_behind(monkeypatch):
    release, ended = threading.Event(), []

    def work(notify):
        release.wait(20)
        ended.append(True)

    assert beside(monkeypatch, work, patience_s=0.01) == []
    assert ended == []
    release.set()


def test_without_memory_there_is_no_hygiene(monkeypatch, ask_server):
    seen = []
    monkeypatch.setattr(module, "maintain_memory",
                        lambda *args, **more: seen.append(more))
    with FakeOpenAI(["one", "two"]) as server:
        tree = ask_server(server)
        talk(tree, "hi")
        assert seen == []
        talk(tree, "hi", use_memory=True)
    assert seen == [{"who": "terminal", "protected": ("agent",)}]


def test_a_failed_turn_leaves_the_conversation_fit(ask_server):
    async def go(tree):
        async with open_chat(tree, ChatOptions(**QUIET)) as chat:
            with pytest.raises(Exception, match="no"):
                await chat.say("first", lambda event: None)
            return (await chat.say("second", lambda event: None)).text
    with FakeOpenAI([failure(400, "no"), "two"]) as server:
        assert asyncio.run(go(ask_server(server))) == "two"


@pytest.mark.parametrize("by", ["session", "entry"])
def test_what_follows_an_undo_goes_on_from_the_turn_before(ask_server, by):
    """Also where the turn that is taken back was one of an earlier
    start."""
    async def go(tree, cid):
        named = {"session": "work"} if by == "session" else {}
        async with open_chat(tree, ChatOptions(**QUIET, **named)) as it:
            if by == "entry":
                it.resume(tree, cid)
            it.take_back()
            await it.say("another", lambda event: None)

    with FakeOpenAI(["one", "two", "three"]) as server:
        tree = ask_server(server)
        talk(tree, "first", "second", session="work")
        with open_reader(log_path(tree.places)) as reader:
            second, first = reader.page(Filters(), 2)
        asyncio.run(go(tree, second.id))
        with open_reader(log_path(tree.places)) as reader:
            last = reader.last()

    assert (last.prompt, last.parent, last.root) == (
        "another", first.id, first.id)
    assert sent(server) == ["first", "one", "another"]
