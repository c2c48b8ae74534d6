"""Routes, fall-backs, costs and the answer cache as the settings say."""

import asyncio
import contextlib
import json
import os

import pytest

import claw
from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import (
    BudgetError,
    ConfigError,
    UnavailableError,
    UsageError,
)
from claw.providers.catalog.info import ModelInfo
from claw.testing.fake_ollama import FakeOllama
from claw.testing.fake_openai import FakeOpenAI, failure
from claw.wiring.ask.answer import answer
from claw.wiring.ask.question import Question, Watch
from claw.wiring.checks.config import check_settings
from claw.wiring.compose import build_agent
from claw.wiring.models.providers import build_providers
from claw.wiring.tools.build import build_policy, build_tools


@pytest.fixture
def places(tmp_path):
    found = locate(str(tmp_path / "home"), None, {})
    found.workspace.mkdir(parents=True)
    return found


@pytest.fixture
def configured(places, monkeypatch):
    monkeypatch.setenv("CLAW_NO_PROBE", "1")

    def call(text):
        places.config_file.write_text(text)
        places.config_file.chmod(0o600)
        return load(places, {})
    return call


def default(server):
    return (f'default_provider = "custom:{server.url}"\n'
            'default_model = "m"\n')


def opened_files():
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return found


ROUTES = """
[[model_routes]]
hint = "fast"
provider = "groq"
model = "small"
"""


def found(tree, level):
    return {f.key: (f.message, f.hint) for f in check_settings(tree)
            if f.level == level}


@pytest.mark.parametrize(("text", "key", "near"), [
    (ROUTES + "[query_classification]\nenabled = true\n"
     "[[query_classification.rules]]\nhint = 'fats'\nkeywords = ['tldr']\n",
     "query_classification.rules.0.hint", '"fast"'),
    (ROUTES + "[agent.auto_classify]\nsimple_hint = 'quick'\n",
     "agent.auto_classify.simple_hint", "add a route"),
    ("default_model = 'hint:fatser'\n" + ROUTES, "default_model", '"fast"'),
    ("[agents.helper]\nmodel = 'hint:x'\n", "agents.helper.model", "add"),
])
def test_a_hint_without_a_route_is_an_error(configured, text, key, near):
    message, hint = found(configured(text), "error")[key]

    assert "no [[model_routes]] has the hint" in message
    assert near in hint


@pytest.mark.parametrize(("text", "level", "key"), [
    ("[[model_routes]]\nprovider = 'groq'\nmodel = 'm'\n", "error",
     "model_routes.0.hint"),
    ("[[model_routes]]\nhint = 'fast'\nprovider = 'groq'\n", "error",
     "model_routes.0.model"),
    (ROUTES + ROUTES, "warning", "model_routes.1.hint"),
    ("[[model_routes]]\nhint = 'a'\nmodel = 'm'\nprovider = 'grog'\n",
     "warning", "model_routes.0.provider"),
])
def test_a_broken_route_is_told(configured, text, level, key):
    assert key in found(configured(text), level)


def test_good_routes_are_no_finding(configured):
    tree = configured("default_model = 'hint:fast'\n" + ROUTES
                      + "[agent.auto_classify]\ncomplex_hint = 'fast'\n")

    assert found(tree, "error") == {}
    assert found(tree, "warning") == {}


def test_a_route_leads_to_its_own_server_and_model(configured):
    with FakeOpenAI(["default"]) as first, FakeOpenAI(["fast"]) as second:
        tree = configured(default(first) + f"""
[model_providers.other]
base_url = "{second.url}"
[[model_routes]]
hint = "fast"
provider = "other"
model = "small"
""")
        found = answer(tree, Question("hi", model="hint:fast"))

    assert (found["text"], found["provider"]) == ("fast", "other")
    assert second.chats[0].body["model"] == "small"
    assert first.requests == []


def test_a_rule_of_classification_finds_its_route_in_a_question(configured):
    with FakeOpenAI(["default"]) as first, FakeOpenAI(["fast"]) as second:
        tree = configured(default(first) + f"""
[query_classification]
enabled = true
[[query_classification.rules]]
hint = "fast"
keywords = ["tldr"]
[model_providers.other]
base_url = "{second.url}"
[[model_routes]]
hint = "fast"
provider = "other"
model = "small"
""")

        assert answer(tree, Question("tldr please"))["text"] == "fast"
        assert answer(tree, Question("at length"))["text"] == "default"


def test_an_unknown_hint_goes_to_the_default_and_is_told(configured):
    heard = []
    with FakeOpenAI(["hello"]) as server:
        tree = configured(default(server) + ROUTES)
        found = answer(tree, Question("hi", model="hint:fats"),
                       Watch(notify=heard.append))

    assert found["text"] == "hello"
    assert server.chats[0].body["model"] == "hint:fats"
    assert any('"hint:fast"' in line for line in heard)


def test_another_provider_stands_in_and_is_named(configured):
    heard = []
    with FakeOpenAI([failure(400, "no")]) as first, \
            FakeOpenAI(["from the other"]) as second:
        tree = configured(default(first) + f"""
[model_providers.other]
base_url = "{second.url}"
model = "own"
[reliability]
fallback_providers = ["nowhere", "other"]
""")
        found = answer(tree, Question("hi"), Watch(notify=heard.append))

    assert (found["text"], found["provider"], found["model"]) == (
        "from the other", "other", "own")
    assert any("nowhere" in line for line in heard)
    assert any("asking other instead" in line for line in heard)


def chain(first, *others):
    return (f'default_provider = "{first}"\n[reliability]\n'
            "provider_backoff_ms = 1\n"
            f"fallback_providers = {list(others)}\n".replace("'", '"'))


def test_a_fall_back_is_asked_where_the_first_is_away_and_names_no_model(
        configured):
    with FakeOpenAI(["from the other"], models=["own"],
                    strict_models=True) as second:
        tree = configured(chain("custom:http://127.0.0.1:1/v1",
                                f"custom:{second.url}"))
        found = answer(tree, Question("hi"))

    assert (found["text"], found["model"]) == ("from the other", "own")


def test_without_a_fall_back_an_absent_server_is_still_told(configured):
    tree = configured(chain("custom:http://127.0.0.1:1/v1"))

    with pytest.raises(UnavailableError, match="could not reach"):
        answer(tree, Question("hi"))


@pytest.mark.parametrize(("listed", "asked"), [
    (["text-embed", "llama3"], "llama3"), (["llama3", "m"], "m"),
    (["llama3", "m:latest"], "m"), ([], "m")])
def test_a_fall_back_is_not_asked_for_the_model_of_the_first(
        configured, listed, asked):
    with FakeOpenAI([failure(400, "no")]) as first, \
            FakeOpenAI(["local"], models=listed) as second:
        tree = configured("default_model = 'm'\n" + chain(
            f"custom:{first.url}", f"custom:{second.url}"))
        found = answer(tree, Question("hi"))

    assert found["text"] == "local"
    assert second.chats[0].body["model"] == asked


def test_the_fall_backs_of_the_readme_answer_with_a_model_of_their_own(
        configured):
    heard = []
    with FakeOpenAI([failure(400, "no")]) as first, \
            FakeOllama(["local"]) as second:
        tree = configured(
            "default_model = 'm'\n"
            + chain(f"custom:{first.url}", "openai", "ollama")
            + f"[model_providers.ollama]\nbase_url = '{second.url}'\n")
        found = answer(tree, Question("hi"), Watch(notify=heard.append))

    assert (found["text"], found["provider"], found["model"]) == (
        "local", "ollama", "fake-model")
    assert any("openai has no key" in line for line in heard)


def test_the_default_provider_as_a_fall_back_is_asked_for_its_model(
        configured):
    with FakeOpenAI([failure(400, "no")]) as first, \
            FakeOpenAI(["local"], models=["a", "m"]) as second:
        tree = configured("default_model = 'm'\n" + chain(
            f"custom:{second.url}", f"custom:{second.url}"))
        found = answer(tree, Question(
            "hi", provider=f"custom:{first.url}", model="x"))

    assert (found["text"], second.chats[0].body["model"]) == ("local", "m")


def test_the_next_key_is_taken_when_one_is_over_its_limit(configured):
    def by_key(_):
        key = server.requests[-1].headers["authorization"]
        return "fine" if key.endswith("second") \
            else failure(429, "slow down")
    with FakeOpenAI([by_key]) as server:
        tree = configured(default(server) + "api_key = 'first'\n"
                          "[reliability]\napi_keys = ['second']\n")
        assert answer(tree, Question("hi"))["text"] == "fine"

    assert [r.headers["authorization"] for r in server.chats] == [
        "Bearer first", "Bearer second"]


PRICED = """
[cost.prices."m"]
input = 1.0
output = 2.0
"""


def test_what_an_answer_cost_is_told(configured):
    with FakeOpenAI(["hello there"]) as server:
        found = answer(configured(default(server) + PRICED),
                       Question("hi"))
    usage = found["usage"]

    assert found["cost"] == pytest.approx(
        (usage["input_tokens"] + 2 * usage["output_tokens"]) / 1e6)


def test_a_call_that_may_cost_too_much_is_not_made(configured):
    with FakeOpenAI(["hello"]) as server:
        tree = configured(default(server) + PRICED)
        with pytest.raises(BudgetError):
            answer(tree, Question("hi", max_cost_usd=1e-6))
        assert server.chats == []

        assert answer(tree, Question("hi", max_cost_usd=1.0))["text"]


def test_a_spent_day_stops_every_question(configured):
    with FakeOpenAI(["hello"]) as server:
        tree = configured(default(server) + PRICED
                          + "[cost]\ndaily_limit_usd = 0.000001\n")
        with pytest.raises(BudgetError, match="daily"):
            answer(tree, Question("hi"))

    assert server.chats == []


def test_the_same_question_at_temperature_0_is_answered_from_disk(
        configured):
    with FakeOpenAI(["one", "two"]) as server:
        tree = configured(default(server) + "default_temperature = 0.0\n"
                          "[memory]\nresponse_cache_enabled = true\n")
        texts = [answer(tree, Question("hi"))["text"] for _ in range(2)]
        other = answer(tree, Question("hi", temperature=0.5))["text"]

    assert texts == ["one", "one"]
    assert other == "two"
    assert len(server.chats) == 2
    assert [p for p in opened_files() if "workspace" in p] == []


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_an_empty_prompt_is_refused(prompt, tmp_path):
    with pytest.raises(UsageError, match="nothing was asked"):
        claw.ask(prompt, config_dir=str(tmp_path))


@pytest.mark.parametrize(("model_info", "config", "expected"), [
    (None, "", "xml"),
    (ModelInfo(native_tools=True), "", "native"),
    (ModelInfo(native_tools=False), "", "xml"),
    (ModelInfo(native_tools=True),
     "[agent]\ntool_dispatcher = 'xml'\n", "xml"),
    (ModelInfo(native_tools=True),
     "[model_providers.llamacpp]\nnative_tools = false\n", "xml"),
])
def test_a_local_model_that_was_seen_calling_tools_gets_them_natively(
        configured, model_info, config, expected):
    tree = configured(config)
    providers = build_providers(tree, {})
    if model_info is not None:
        providers.model_info.learn("http://localhost:8080/v1/chat/completions",
                              "m", model_info)
    provider = providers.create_resilient("llamacpp")
    agent = build_agent(tree, provider, "m")

    tools = build_tools(tree, build_policy(tree), names=["file_read"])

    assert agent.select_dispatcher(
        [tool.spec() for tool in tools]).name == expected
    asyncio.run(provider.aclose())


def test_a_malformed_address_shows_no_query(configured):
    with pytest.raises(ConfigError) as caught:
        build_providers(configured(""), {}).vendor(
            "custom:ftp://h/v1?key=CANARY")

    assert "CANARY" not in json.dumps([str(caught.value),
                                       caught.value.hint])


def test_a_key_in_an_address_is_in_nothing_that_is_said(configured):
    heard = []
    with FakeOpenAI([failure(503, "busy")]) as first, \
            FakeOpenAI(["hello"]) as second:
        tree = configured(
            f'default_provider = "custom:{first.url}?key=CANARY1"\n'
            'default_model = "hint:nope"\n' + ROUTES
            + '[reliability]\nprovider_backoff_ms = 1\n'
            f'fallback_providers = ["custom:{second.url}?key=CANARY2"]\n')
        found = answer(tree, Question("hi"), Watch(notify=heard.append))

    assert found["text"] == "hello"
    assert "?…" in found["provider"]
    assert len(heard) > 1
    assert "CANARY" not in json.dumps([found, heard])
    assert second.chats[0].path.endswith("?key=CANARY2")


def test_a_fall_back_without_a_key_is_told_as_that(configured):
    heard = []
    with FakeOpenAI(["hello"]) as server:
        tree = configured(
            'default_provider = "gemini"\ndefault_model = "m"\n'
            '[reliability]\n'
            f'fallback_providers = ["custom:{server.url}"]\n')
        providers = build_providers(tree, {}, notify=heard.append)
        provider = providers.create_resilient("gemini")

        async def go():
            try:
                return await provider.chat_with_system(None, "hi", "m", 0.5)
            finally:
                await provider.aclose()
        assert asyncio.run(go()) == "hello"

    assert any("gemini has no key" in line for line in heard)


@pytest.mark.parametrize("text", [
    "provider_timeout_secs = 0\n",
    "[runtime]\nreasoning_effort = 'hihg'\n",
])
def test_a_setting_that_can_not_be_is_an_error(configured, text):
    assert found(configured(text), "error")


def test_a_route_may_belong_to_the_default_provider(configured):
    tree = configured("[[model_routes]]\nhint = 'a'\nmodel = 'm'\n")

    assert found(tree, "error") == {}
