"""The composer: what is opened in which order, and closed in reverse."""

import asyncio

import pytest

from claw.core.errors import ConfigError
from claw.core.provider import ChatMessage, ChatRequest
from claw.testing.fake_openai import FakeOpenAI
from claw.wiring import compose
from claw.wiring.ask.dry_run import CallStopped
from claw.wiring.compose import (
    AgentOptions,
    build_owners_turn,
    open_parts,
)


@pytest.fixture
def steps(monkeypatch):
    """What is opened and closed, in order."""
    seen = []

    def watch(name, close):
        original = getattr(compose, name)

        def call(*args, **more):
            made = original(*args, **more)
            seen.append(name)
            end = getattr(made, close, None)
            if close == "aclose":
                async def closing():
                    seen.append(f"close {name}")
                    await end()
            else:
                def closing():
                    seen.append(f"close {name}")
                    end()
            setattr(made, close, closing)
            return made
        monkeypatch.setattr(compose, name, call)
    watch("open_ledger", "close")
    watch("add_response_cache", "aclose")
    watch("open_on_demand", "close")
    return seen


def opened(tree, **options):
    async def go():
        async with open_parts(tree, AgentOptions(**options)) as parts:
            return parts
    return asyncio.run(go())


def test_what_is_opened_is_closed_in_reverse(ask_server, steps):
    with FakeOpenAI(["one"]) as server:
        parts = opened(ask_server(server), tools=None)

    assert steps == [
        "open_ledger", "add_response_cache", "open_on_demand",
        "close open_on_demand", "close add_response_cache",
        "close open_ledger"]
    assert parts.agent.memory is parts.memory


def test_what_fails_on_the_way_leaves_nothing_open(ask_server, steps):
    with FakeOpenAI(["one"]) as server:
        tree = ask_server(server)
        with pytest.raises(ConfigError):
            opened(tree, tools=["no_such_tool"])
        assert steps[-1] == "close open_ledger"
        assert steps.count("close open_on_demand") == 1
        steps.clear()
        with pytest.raises(ConfigError):
            opened(tree, provider="no-such-provider")
    assert steps == ["open_ledger", "close open_ledger"]


def test_without_memory_none_is_opened(ask_server, steps):
    with FakeOpenAI(["one"]) as server:
        parts = opened(ask_server(server), use_memory=False,
                       offline_tools=["memory_recall"])

    assert parts.memory is None
    assert "open_on_demand" not in steps


def test_the_provider_without_a_model_has_tools_of_its_own(write_settings):
    names = ["memory_recall", "file_read"]
    parts = opened(write_settings(), tools=["file_read"],
                   offline_tools=names, use_memory=False)
    every = opened(write_settings(), tools=None, offline_tools=names)

    assert [tool.name for tool in parts.agent.tools] == [
        "file_read", "memory_recall"]
    assert parts.memory is not None
    assert parts.agent.memory is None
    assert "shell" in [tool.name for tool in every.agent.tools]


@pytest.mark.parametrize(("options", "tools", "prompt"), [
    ({"identity": False}, 0, None),
    ({"identity": False, "system": "Be brief."}, 0, "Be brief."),
    ({"identity": False, "tools": ["file_read"]}, 1, None),
    ({"identity": True, "system": "Be brief."}, 0, "Be brief."),
    ({"identity": True, "tools": ["file_read"]}, 1, ""),
])
def test_tools_and_prompt_are_those_that_were_asked_for(
        write_settings, options, tools, prompt):
    tree = write_settings()
    agent = opened(tree, **options).agent

    assert len(agent.tools) == tools
    assert (agent.prompt and agent.prompt.custom) == prompt
    if options["identity"]:
        assert agent.prompt.workspace == str(tree.places.workspace)
        assert agent.prompt.policy


def test_settings_reach_the_agent(write_settings):
    agent = opened(write_settings("""
default_temperature = 0.25
[agent]
max_history_messages = 7
[memory]
auto_save = false
min_relevance_score = 0.75
[[model_routes]]
hint = "fast"
provider = "groq"
model = "small"
""")).agent

    assert agent.temperature == 0.25
    assert agent.settings.max_history_messages == 7
    assert agent.auto_save is False
    assert agent.min_relevance == 0.75
    assert agent.hints == ["fast"]


def test_images_are_built_once_and_only_when_needed(write_settings):
    parts = opened(write_settings())

    assert parts.images() is parts.images()
    assert parts.agent.images is parts.images


def test_a_dry_run_stops_before_the_call_and_meters_nothing(ask_server):
    async def go(tree):
        async with open_parts(tree, AgentOptions(dry_run=True)) as parts:
            await parts.agent.provider.chat(
                ChatRequest([ChatMessage.user("hi")]), "m", 0.5)
    with FakeOpenAI(["never"]) as server:
        tree = ask_server(server,
                          "[memory]\nresponse_cache_enabled = true\n")
        with pytest.raises(CallStopped) as caught:
            asyncio.run(go(tree))

        assert server.chats == []
    assert caught.value.choice.model == "m"
    assert caught.value.temperature == 0.5
    assert not (tree.places.workspace / "state").exists()
    assert not (tree.places.workspace / "memory").exists()


def test_who_hears_of_memory_is_another_where_one_is_named(
        write_settings, monkeypatch):
    given = []
    original = compose.open_on_demand

    def call(tree, notify, *more):
        given.append(notify)
        return original(tree, notify, *more)
    monkeypatch.setattr(compose, "open_on_demand", call)
    one, other = [].append, [].append
    opened(write_settings(), notify=one)
    opened(write_settings(), notify=one, note_memory=other)

    assert given == [one, other]


def test_an_owners_turn_names_conversation_and_turn():
    cancel = asyncio.Event()
    turn = build_owners_turn("agent", "work", cancel)

    assert turn.message == f"agent:work:{turn.turn_id}"
    assert (turn.origin, turn.cancel) == ("agent", cancel)
