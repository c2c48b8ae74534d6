"""claw provider list, test, models, against a real HTTP server."""

import json
import time

import pytest

from claw.providers.catalog.model_info import ModelInfoFile
from claw.providers.catalog.models import load_models, save_models
from claw.providers.catalog.vendors import find_vendor
from claw.providers.factory import Providers
from claw.testing.fake_openai import (
    FakeOpenAI,
    failure,
    stalled,
    tool_call,
)

PASSING = ["OK", "OK", tool_call("report_word", word="OK")]


def by_name(ended, name):
    return next(p for p in ended.json["providers"] if p["name"] == name)


def test_a_fresh_machine_lists_the_provider_without_a_model(claw):
    ended = claw("provider", "list")

    assert ended.code == 0
    assert ended.out == ("offline\t-\tno key needed\tin use: it quotes and "
                         "computes, no model is asked\n")
    assert "OPENAI_API_KEY" in ended.err


def test_the_list_says_what_is_set_up_and_what_is_in_use(claw, home):
    home.mkdir()
    (home / "config.toml").write_text(
        'default_provider = "grok"\n'
        '[model_providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\n'
        'model = "m-1"\n')
    ended = claw("provider", "list", "--json",
                 env={"XAI_API_KEY": "xai-secret", "GROQ_API_KEY": "gsk_x"})

    rows = ended.json["providers"]
    assert [r["name"] for r in rows] == ["xai", "mine", "groq"]
    assert [r["chosen"] for r in rows] == [True, False, False]
    assert [r["model"] for r in rows] == [
        find_vendor("xai").model, "m-1", find_vendor("groq").model]
    assert [r["key"] for r in rows] == ["XAI_API_KEY", "not needed",
                                        "GROQ_API_KEY"]
    assert rows[0]["reason"] == "default_provider"
    assert ended.json["total"] == 3
    assert "xai-secret" not in ended.out + ended.err


def test_all_providers_are_listed_with_their_variables(claw):
    ended = claw("provider", "list", "--all")
    rows = dict(line.split("\t", 1) for line in ended.out.splitlines())

    assert rows["groq"] == "Groq\tGROQ_API_KEY"
    assert rows["moonshot"].endswith("kimi moonshot-cn kimi-cn")
    assert rows["ollama"] == "Ollama\tlocal"
    assert len(rows) > 60


def test_a_fault_in_the_settings_is_a_row_of_the_list(claw, home):
    home.mkdir()
    (home / "config.toml").write_text(
        'default_provider = "groq"\n[model_providers.mine]\n'
        'wire_api = "telepathy"\nbase_url = "http://h/v1"\n')
    ended = claw("provider", "list")

    assert ended.code == 0
    assert "wire_api" in ended.out


def test_a_provider_that_works_passes_every_probe(claw):
    with FakeOpenAI(PASSING) as server:
        ended = claw("provider", "test", f"custom:{server.url}")

    lines = ended.out.splitlines()
    assert ended.code == 0, ended
    assert lines[0] == f"custom:{server.url}  fake-model"
    assert [line.split()[:2] for line in lines[1:]] == [
        ["ok", i] for i in ("reach", "key", "model", "answer", "stream",
                            "tools", "vision", "usage")]
    assert "first words after" in ended.out
    assert "tools   the model calls them" in ended.out


def test_the_json_of_a_test_has_its_shape(claw):
    with FakeOpenAI(PASSING) as server:
        ended = claw("--json", "provider", "test", f"custom:{server.url}",
                     "-m", "own")

    (row,) = ended.json["providers"]
    assert (row["model"], row["ok"]) == ("own", True)
    assert set(row["checks"][0]) == {"id", "ok", "detail", "hint", "ms"}
    assert server.chats[0].body["model"] == "own"


@pytest.mark.parametrize(("replies", "code", "check", "words"), [
    ([failure(401, "bad key")], 4, "key", "(401): bad key"),
    ([failure(404, "no such model")], 5, "model", "(404): no such model"),
    ([failure(500, "oh no")], 5, "answer", "(500): oh no"),
    ([stalled()], 5, "reach", "did not answer within 0.3 s"),
])
def test_a_failure_says_the_cause_and_the_fix(claw, replies, code, check,
                                              words):
    with FakeOpenAI(replies) as server:
        ended = claw("provider", "test", f"custom:{server.url}", "--json",
                     "--timeout", "0.3")

    (row,) = ended.json["providers"]
    failed = [c for c in row["checks"] if not c["ok"]]
    assert ended.code == code
    assert row["ok"] is False
    assert [c["id"] for c in failed] == [check]
    assert words in failed[0]["detail"]
    assert failed[0]["hint"]


def test_the_exit_code_is_that_of_the_worst(claw):
    with FakeOpenAI(PASSING) as good, FakeOpenAI([failure(500, "x")]) as bad:
        ended = claw("provider", "test", f"custom:{good.url}",
                     f"custom:{bad.url}", "groq", "--json")

    assert ended.code == 5
    assert by_name(ended, f"custom:{good.url}")["ok"]
    assert by_name(ended, "groq")["checks"][-1]["detail"] == (
        "Groq API key not set")


def test_the_key_of_a_vendor_is_named_when_it_is_missing(claw):
    ended = claw("provider", "test", "deepseek")

    assert ended.code == 4
    assert "FAIL key" in ended.out
    assert "set DEEPSEEK_API_KEY" in ended.out


def test_without_names_all_that_is_set_up_is_tested(claw, home):
    with FakeOpenAI(PASSING) as server:
        home.mkdir()
        (home / "config.toml").write_text(
            f'[model_providers.a]\nbase_url = "{server.url}"\n'
            f'[model_providers.b]\nbase_url = "http://127.0.0.1:9/v1"\n')
        ended = claw("provider", "test", "--json")

    assert [p["name"] for p in ended.json["providers"]] == ["a", "b"]
    assert [p["ok"] for p in ended.json["providers"]] == [True, False]
    assert ended.code == 5


def test_an_unknown_name_is_told_with_the_nearest(claw):
    ended = claw("provider", "test", "opnai")

    assert ended.code == 2
    assert 'did you mean "openai"?' in ended.err


@pytest.mark.parametrize(("names", "code", "mark"), [
    ([], 3, "FAIL"), (["offline"], 0, "ok")])
def test_without_a_model_nothing_is_said_to_answer(claw, names, code, mark):
    ended = claw("provider", "test", *names)

    assert ended.code == code
    assert [line.split()[:2] for line in ended.out.splitlines()[1:2]] == [
        [mark, "config"]]
    assert "nothing was asked" in ended.out


def test_models_are_printed_one_a_line(claw):
    with FakeOpenAI(models=["a-1", "b-2"]) as server:
        ended = claw("provider", "models", f"custom:{server.url}")
        listed = claw("provider", "models", f"custom:{server.url}", "--json")

    assert (ended.code, ended.out) == (0, "a-1\nb-2\n")
    fetched_at = listed.json["fetched_at"]
    assert abs(time.time() - fetched_at) < 600
    assert listed.json == {"provider": f"custom:{server.url}", "total": 2,
                           "models": ["a-1", "b-2"],
                           "fetched_at": fetched_at}


def test_a_server_without_models_is_a_negative_answer(claw):
    with FakeOpenAI(models=[]) as server:
        ended = claw("provider", "models", f"custom:{server.url}")

    assert (ended.code, ended.out) == (1, "")
    assert "offers no models" in ended.err


def test_a_server_that_is_down_is_one_sentence(claw):
    with FakeOpenAI() as server:
        pass
    ended = claw("provider", "models", f"custom:{server.url}")

    assert (ended.code, ended.out) == (5, "")
    assert "connection refused" in ended.err
    assert "Traceback" not in ended.err


def test_the_key_of_the_settings_is_sent_and_never_shown(claw, home):
    home.mkdir()
    with FakeOpenAI(PASSING, api_key="very-secret") as server:
        (home / "config.toml").write_text(
            f'default_provider = "custom:{server.url}"\n'
            'default_model = "m"\napi_key = "very-secret"\n')
        ended = claw("provider", "test", "--json")
        wrong = claw("provider", "test", "--json",
                     env={"CLAW_API_KEY": "other"})

    assert ended.code == wrong.code == 0, ended
    assert "very-secret" not in json.dumps(ended.json) + ended.err


@pytest.fixture
def state(home):
    return home / "workspace" / "state"


def groq(server, home):
    """groq at the fake server, as if it stood far away: its list is kept."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        f'[model_providers.groq]\nbase_url = "{server.url}"\n')
    return {"GROQ_API_KEY": "gsk_secret-key"}


FAR = "http://models.example/v1"


def far(home, state, models, age_s=60.0):
    """A provider whose host does not exist, and what is known of it."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        f'[model_providers.far]\nbase_url = "{FAR}"\n')
    save_models(state / "models_cache.json", "far", models,
             time.time() - age_s, address=FAR)


def test_a_list_that_is_fresh_is_printed_without_asking(claw, home, state):
    far(home, state, ["kept"])
    ended = claw("provider", "models", "far")

    assert (ended.code, ended.out, ended.err) == (0, "kept\n", "")


@pytest.mark.parametrize(("flags", "age_s"), [
    (["--refresh"], 60.0), ([], 13 * 3600.0)])
def test_an_old_list_is_better_than_none(claw, home, state, flags, age_s):
    far(home, state, ["kept"], age_s)
    ended = claw("provider", "models", "far", *flags)

    assert (ended.code, ended.out) == (0, "kept\n")
    assert "could not reach" in ended.err
    assert "this list is from 20" in ended.err


def test_a_list_of_another_address_is_not_printed(claw, home, state):
    far(home, state, ["kept"])
    save_models(state / "models_cache.json", "far", ["other"], time.time(),
             address="http://elsewhere/v1")
    ended = claw("provider", "models", "far")

    assert (ended.code, ended.out) == (5, "")


def test_a_server_on_this_machine_is_asked_each_time(claw, home, state):
    with FakeOpenAI(models=["a"]) as server:
        env = groq(server, home)
        claw("provider", "models", "groq", env=env)
        server.models = ["b"]
        ended = claw("provider", "models", "groq", env=env)
        path, url = state / "models_cache.json", server.url

    assert ended.out == "b\n"
    assert load_models(path, "groq", address=url).models == ("b",)


def test_a_server_that_refuses_is_not_hidden_by_an_old_list(claw, home,
                                                            state):
    with FakeOpenAI(models=["a"], api_key="right") as server:
        env = groq(server, home)
        save_models(state / "models_cache.json", "groq", ["old"], time.time(),
                 address=server.url)
        ended = claw("provider", "models", "groq", env=env)

    assert (ended.code, ended.out) == (4, "")


def test_the_query_of_an_address_is_never_shown_or_kept(claw, home, state):
    with FakeOpenAI(["OK"], models=["a"]) as server:
        name = f"custom:{server.url}?key=canary-secret"
        home.mkdir()
        (home / "config.toml").write_text(f'default_provider = "{name}"\n')
        runs = [claw("provider", *line, *form)
                for line in (["list"], ["test", name], ["test"],
                             ["models", name], ["models"])
                for form in ([], ["--json"])]
    kept = "".join(p.read_bytes().decode("utf-8", "replace")
                   for p in state.iterdir())

    assert all(run.code == 0 for run in runs), runs
    assert "canary-secret" not in repr(runs) + kept
    assert "key=canary-secret" in server.requests[0].path
    assert runs[1].json["providers"][0]["url"] == server.url


def test_what_is_known_of_a_model_is_shown_and_kept(claw, state):
    with FakeOpenAI(PASSING) as server:
        name = f"custom:{server.url}"
        claw("provider", "test", name)
        server._played = 0
        ended = claw("provider", "test", name, "--json")
    (row,) = ended.json["providers"]
    tools = next(c for c in row["checks"] if c["id"] == "tools")
    known = ModelInfoFile(state / "model_facts.json").find(
        f"{server.url}/chat/completions", "fake-model")

    assert known.native_tools is True
    assert tools["detail"] == (
        f"the model calls them (known since {known.checked_at[:10]})")


@pytest.mark.skipif(not hasattr(Providers(), "model_info"),
                    reason="model info is not handed to providers")
@pytest.mark.parametrize(("refuses", "known", "words"), [
    (False, True, "the model calls them"),
    (True, False, "described in the prompt"),
])
def test_a_model_on_this_machine_is_tried_with_native_tools(
        claw, home, state, refuses, known, words):
    """By default a local server's tools stand in the prompt; what its model
    really can is found out here, and used from then on."""
    def call(body):
        return tool_call("report_word", word="OK") if "tools" in body \
            else '<tool_call>{"name": "report_word"}</tool_call>'
    with FakeOpenAI([call], refuse_tools=refuses) as server:
        home.mkdir()
        (home / "config.toml").write_text(
            f'[model_providers.llamacpp]\nbase_url = "{server.url}"\n')
        first = claw("provider", "test", "llamacpp")
        asked = len(server.chats)
        second = claw("provider", "test", "llamacpp")
        model_info = ModelInfoFile(state / "model_facts.json").find(
            f"{server.url}/chat/completions", "fake-model")
        again = server.chats[asked:]

    assert words in first.out
    assert "known since" in second.out
    assert model_info.native_tools is known
    assert any("tools" in c.body for c in again) is known


def test_its_calls_stand_in_the_ledger(claw, home):
    with FakeOpenAI(["OK"]) as server:
        done = claw("provider", "test", f"custom:{server.url}", "-m", "m")
        asked = len(server.chats)
    costs = json.loads(claw("cost", "--json").out)

    assert done.code == 0
    assert costs["calls"] == asked > 2


def test_models_are_listed_without_asking_anybody(claw, home):
    claw("config", "set", "model_providers.mine.base_url",
         "http://127.0.0.1:9/v1")
    claw("config", "set", "model_providers.mine.model", "m-1")
    claw("model", "alias", "fast", "llama-3.3-70b-versatile", "-p", "groq")
    save_models(home / "workspace/state/models_cache.json", "xai",
                ["grok-4.7", "grok-new"])
    key = {"XAI_API_KEY": "xai-secret"}
    listed = claw("model", "list", env=key)
    rows = claw("model", "list", "--json", env=key).json

    assert listed.code == 0
    assert "mine\tm-1\tfree\n" in listed.out
    assert "groq\tllama-3.3-70b-versatile\t$0.59 in, $0.79 out\tfast\n" \
        in listed.out
    assert "xai\tgrok-4.7\t$2 in, $6 out\nxai\tgrok-new\tprice unknown\n" \
        in listed.out
    assert "grok-3" not in listed.out  # its own list does not name it
    assert "anthropic" not in listed.out
    assert rows["total"] == listed.out.count("\n")
    assert "grok-new" not in claw("model", "list").out  # it has no key
    assert {"provider": "xai", "model": "grok-new", "input_usd": None,
            "output_usd": None, "aliases": []} in rows["models"]


def test_a_fresh_machine_lists_what_claw_knows_of_models(claw, home):
    nothing = claw("model", "list")
    every = claw("model", "list", "--all")
    one = claw("model", "list", "-p", "grok")
    wrong = claw("model", "list", "-p", "nobody")

    assert (nothing.code, nothing.out) == (0, "")
    assert "--all" in nothing.err
    assert every.out.count("\n") > 200
    assert set(one.out.splitlines()) < set(every.out.splitlines())
    assert wrong.code == 2
    assert not home.exists()
