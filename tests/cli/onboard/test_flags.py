"""claw onboard without a terminal: every answer a flag."""

import json
import re
import subprocess
import sys
import tomllib

import pytest

from claw.testing.fake_mattermost import FakeMattermost
from claw.testing.fake_openai import FakeOpenAI, failure
from claw.testing.fake_telegram import FakeTelegram
from claw.wiring.setup.onboard.answers import FILE
from claw.wiring.setup.onboard.ending import QUESTION

KEY = "sk-good-key-1234567890"
REST = ("--memory", "words", "--channel", "none", "--autonomy", "supervised")


@pytest.fixture
def model(environment):
    with FakeOpenAI(["Hello, owner."], models=("tiny", "big"),
                    api_key=KEY) as server:
        environment["OPENAI_BASE_URL"] = server.url
        yield server


def read(home):
    return tomllib.loads((home / "config.toml").read_text())


def test_what_is_missing_is_named_whole(claw, home):
    done = claw("onboard")

    assert done.code == 2
    for flag in ("--provider", "--memory", "--channel", "--autonomy",
                 "--yes"):
        assert flag in done.err
    assert done.out == ""
    assert not (home / "config.toml").exists()


def test_a_fresh_machine_in_one_line(claw, home):
    done = claw("onboard", "--yes", "--json")

    assert done.code == 0
    assert done.json["changes"] == []
    assert done.json["answer"] is None
    assert len(done.json["next"]) == 3
    assert "offline" in done.err
    assert not (home / FILE).exists()


def test_a_key_is_tried_and_a_model_answers(claw, home, model):
    done = claw("onboard", "--provider", "openai", "--model", "big",
                "--api-key-stdin", "--daily-limit", "3", *REST, "--json",
                stdin=f"\n {KEY[:9]}\n{KEY[9:]} \n")

    assert done.code == 0
    assert done.json["answer"] == "Hello, owner."
    assert done.json["error"] is None
    assert done.json["model"] == "big"
    found = read(home)
    assert found["default_provider"] == "openai"
    assert found["model_providers"]["openai"]["api_key"].startswith("enc2:")
    assert found["cost"]["daily_limit_usd"] == 3
    assert KEY not in done.out + done.err
    assert claw("ask", "hi").out == "Hello, owner.\n"
    assert not (home / FILE).exists()


@pytest.mark.parametrize(("status", "code", "kind"), [
    (401, 4, "auth"), (404, 5, "request_refused")])
def test_a_model_that_does_not_answer_at_the_end_is_an_error(
        claw, home, model, status, code, kind):
    """The trial went well, and the real question did not."""
    def answer(body):
        return (failure(status, "not you") if QUESTION in json.dumps(body)
                else "fine")
    model.replies = [answer]
    flags = ("--provider", "openai", "--model", "big", "--api-key-stdin",
             *REST)
    done = claw("onboard", *flags, "--json", stdin=KEY)
    shown = claw("onboard", *flags, stdin=KEY)

    assert (done.code, shown.code) == (code, code)
    assert "the model gave no answer" in done.err
    assert done.json["answer"] is None
    assert done.json["error"]["kind"] == kind
    assert done.json["error"]["message"] in done.err
    assert done.json["error"]["hint"] in done.err
    assert done.json["next"][0] == "claw provider test"
    assert "Next:\n  claw provider test\n" in shown.out
    assert read(home)["default_model"] == "big"
    assert not (home / FILE).exists()


def test_the_models_are_named_where_none_is_suggested(
        claw, home, model):
    home.mkdir()
    (home / "config.toml").write_text(
        f'[model_providers.mine]\nbase_url = "{model.url}"\n')
    done = claw("onboard", "--yes", "--provider", "mine", "--api-key-stdin",
                stdin=KEY)

    assert done.code == 2
    assert "--model NAME, one of tiny, big" in done.err
    assert "is kept" in done.err


def test_a_dry_run_does_not_say_that_answers_are_kept(claw):
    done = claw("onboard", "--yes", "--provider", "openai", "--dry-run")

    assert done.code == 2
    assert "is kept" not in done.err


def test_a_model_that_the_list_lacks_is_told(claw, model):
    done = claw("onboard", "--yes", "--provider", "openai", "--model",
                "bigg", "--api-key-stdin", stdin=KEY)

    assert done.code == 0
    assert "-> near it: big" in done.err


def test_a_refused_key_changes_nothing_and_keeps_the_answers(
        claw, home, model):
    done = claw("onboard", "--provider", "openai", "--api-key-stdin", *REST,
                stdin="sk-bad")

    assert done.code == 4
    assert "401" in done.err
    assert not (home / "config.toml").exists()
    assert "sk-bad" not in (home / FILE).read_text()

    # the rest is known
    done = claw("onboard", "--model", "tiny", "--api-key-stdin", stdin=KEY)
    assert done.code == 0
    assert read(home)["default_model"] == "tiny"


def test_a_key_of_the_environment_is_kept_for_services(claw, home, model):
    claw("onboard", "--yes", "--model", "tiny", env={"OPENAI_API_KEY": KEY})
    found = read(home)

    assert found["default_provider"] == "openai"
    assert found["model_providers"]["openai"]["api_key"].startswith("enc2:")


def test_the_limit_that_claw_brings_takes_the_place_of_another(
        claw, home, model):
    flags = ["--yes", "--provider", "openai", "--model", "gpt-5-mini",
             "--no-test", "--api-key-stdin"]
    claw("onboard", *flags, "--daily-limit", "5", stdin=KEY)
    assert read(home)["cost"]["daily_limit_usd"] == 5
    claw("onboard", *flags, "--daily-limit", "10", stdin=KEY)
    assert read(home)["cost"]["daily_limit_usd"] == 10


def test_or_is_not_kept(claw, home, model):
    claw("onboard", "--yes", "--model", "tiny", "--no-keep-key",
         env={"OPENAI_API_KEY": KEY})

    assert "model_providers" not in read(home)


def test_a_server_of_ones_own_needs_no_key(claw, home):
    with FakeOpenAI(["Hi."]) as server:
        done = claw("onboard", "--yes", "--provider", server.url, "--json")

        assert done.json["answer"] == "Hi."
        assert done.json["model"] == "fake-model"
        assert "price" not in done.err  # it is on this machine
    assert read(home)["default_provider"] == f"custom:{server.url}"


def test_a_model_without_a_price_is_told_with_the_way_to_set_it(
        claw, model):
    done = claw("onboard", "--yes", "--provider", "openai", "--no-test",
                "--model", "mystery", "--api-key-stdin", stdin=KEY,
                env={"OPENAI_BASE_URL": "https://models.example/v1"})

    assert 'claw config set \'cost.prices."mystery".input\'' in done.err


def test_a_dry_run_shows_the_difference_and_does_nothing(claw, home, model):
    done = claw("onboard", "--dry-run", "--yes", "--provider", "openai",
                "--model", "big", "--api-key-stdin", "--keep-days", "90",
                stdin=KEY)

    assert done.code == 0
    assert '+ default_model = "big"' in done.out
    assert "+ memory.conversation_retention_days = 90" in done.out
    assert KEY not in done.out + done.err
    assert not home.exists()
    assert model.requests == []


def test_settings_that_it_does_not_ask_about_stay(claw, home):
    home.mkdir()
    (home / "config.toml").write_text(
        '# mine\n[cost]\nmonthly_limit_usd = 7  # enough\n')
    claw("onboard", "--yes", "--autonomy", "readonly")
    text = (home / "config.toml").read_text()

    assert text.startswith(
        '# mine\n[cost]\nmonthly_limit_usd = 7  # enough\n')
    assert read(home)["autonomy"] == {"level": "readonly"}


@pytest.mark.parametrize(("flags", "word"), [
    (["--memory", "magic"], "words, local"),
    (["--autonomy", "godlike"], "supervised"),
    (["--daily-limit", "lots"], "no number"),
    (["--daily-limit", "-1"], "0 or more"),
    (["--keep-days", "x"], "number of days"),
    (["--set", "bot_token=1"], "--channel"),
    (["--set", "bot_token", "--channel", "telegram"], "--set"),
    (["--channel", "telegrm"], "telegram"),
    (["--provider", "antropic"], "anthropic"),
    (["--api-key-stdin"], "empty"),
    (["--set-file", "bot_token=/nowhere", "--channel", "telegram"],
     "/nowhere"),
])
def test_nonsense_is_refused_with_the_way_out(claw, home, flags, word):
    done = claw("onboard", "--yes", *flags)

    assert done.code in (2, 3)
    assert word in done.err
    assert not (home / "config.toml").exists()


def test_a_channel_without_its_token_names_the_flag(claw):
    done = claw("onboard", "--yes", "--channel", "telegram")

    assert done.code == 2
    assert "--set bot_token=VALUE" in done.err


def test_a_refused_token_is_told_and_not_written(claw, home):
    with FakeTelegram() as platform:
        done = claw("onboard", "--yes", "--channel", "telegram", "--set",
                    "bot_token=1:wrong", "--set",
                    f"api_base_url={platform.url}")

    assert done.code == 4
    assert "token" in done.err
    assert not (home / "config.toml").exists()


@pytest.mark.parametrize("flags", [
    ["--provider", "nosuch"], ["--provider", "custom:http://127.0.0.1:9/v1"],
    ["--channel", "nosuch"], ["--import-from", "openclaw"],
    ["--channel", "telegram", "--set", "foo=bar"],
    ["--channel", "telegram", "--set", "mention_only=perhaps"]])
def test_a_flag_that_is_refused_is_not_kept(claw, flags):
    refused = flags[-1].partition("=")[0]
    first, second = claw("onboard", "--yes", *flags), claw("onboard", "--yes")

    assert first.code
    assert refused.rpartition("//")[2][:11] in first.err
    assert refused not in second.err
    assert second.code == (2 if "telegram" in flags else 0)


def test_a_token_that_is_refused_is_not_kept(claw, home):
    with FakeTelegram() as platform:
        claw("onboard", "--yes", "--channel", "telegram", "--set",
             "bot_token=1:wrong", "--set", f"api_base_url={platform.url}")
        done = claw("onboard", "--yes")

    assert "--set bot_token=VALUE" in done.err
    assert "set.bot_token" not in (home / FILE).read_text()


PLATFORMS = {
    "telegram": (FakeTelegram, "api_base_url",
                 lambda platform, text: platform.post(text, username="mina"),
                 lambda platform: [m.text for m in platform.messages()]),
    "mattermost": (FakeMattermost, "url",
                   lambda platform, text: platform.write_when_heard(
                       lambda: platform.post(f" {text}")),
                   lambda platform: platform.answers()),
}


@pytest.mark.parametrize("name", PLATFORMS)
def test_pairing_over_the_wire(home, environment, tmp_path, name):
    build, address, post, list_answers = PLATFORMS[name]
    with build() as platform:
        (tmp_path / "token").write_text(platform.token + "\n")
        wizard = subprocess.Popen(
            [sys.executable, "-m", "claw", "onboard", "--yes", "--channel",
             name, "--set-file", f"bot_token={tmp_path / 'token'}",
             "--set", f"{address}={platform.url}", "--pair", "60"],
            env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = []
        for line in wizard.stderr:
            said.append(line)
            if found := re.search(r"/bind (\d+)", line):
                post(platform, f"/bind {found[1]}")
                break
        out, err = wizard.communicate(timeout=60)

        assert wizard.returncode == 0, (said, err)
        assert "may write now" in err
        assert list_answers(platform) == ["You are paired."]
    assert "claw listen" in out
    assert len(read(home)["channels_config"][name]["allowed_users"]) == 1
    assert platform.token not in out + err + "".join(said) + (
        home / "config.toml").read_text()


@pytest.fixture
def other_agent(environment, tmp_path):
    """ZeroClaw's folder in the home of the user."""
    folder = tmp_path / "user/.zeroclaw"
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace/SOUL.md").write_text("Be kind to Mina.")
    (folder / "config.toml").write_text(
        'default_provider = "ollama"\ndefault_model = "tiny"\n'
        '[agent]\nreceipts = false\n')
    return folder


def test_another_agent_is_brought_when_it_is_named(claw, home, other_agent):
    done = claw("onboard", "--yes", "--import-from", "zeroclaw",
                "--no-test", "--json")

    assert done.code == 0
    assert "settings: 2 new, 1 held back" in done.err
    assert "+ default_model = tiny" in done.err
    assert "! agent.receipts = false: it turns a record" in done.err
    assert "agent" not in read(home)
    assert read(home)["default_model"] == "tiny"
    assert (home / "workspace/SOUL.md").read_text() == "Be kind to Mina."


@pytest.mark.parametrize("flags", [[], ["--import-from", "none"],
                                   ["--import-from", "zeroclaw",
                                    "--dry-run"]])
def test_and_is_not_brought_unasked(claw, home, other_agent, flags):
    assert claw("onboard", "--yes", "--no-test", "--provider", "none",
                *flags).code == 0
    assert not (home / "workspace/SOUL.md").exists()


def test_an_agent_that_is_not_here_is_told(claw):
    done = claw("onboard", "--yes", "--import-from", "openclaw")

    assert done.code == 1
    assert "openclaw" in done.err


def test_a_broken_config_is_told_with_its_line_and_stays(claw, home):
    home.mkdir()
    (home / "config.toml").write_text("a = 1\nb = = 2\n")
    done = claw("onboard", "--yes", "--provider", "none")

    assert done.code == 3
    assert "config.toml:2:5" in done.err
    assert (home / "config.toml").read_text() == "a = 1\nb = = 2\n"


def test_a_second_run_suggests_what_is_set(claw, home, model):
    first = ["--provider", "openai", "--model", "big", "--api-key-stdin",
             "--keep-days", "9", "--autonomy", "readonly"]
    claw("onboard", "--yes", *first, stdin=KEY)
    before = (home / "config.toml").read_bytes()
    done = claw("onboard", "--yes", "--json")

    assert done.json["changes"] == []
    assert done.json["answer"] == "Hello, owner."
    assert done.json["error"] is None
    assert (home / "config.toml").read_bytes() == before


def test_no_provider_takes_the_one_that_is_set_out(claw, home, model):
    claw("onboard", "--yes", "--provider", "openai", "--model", "big",
         "--api-key-stdin", stdin=KEY)
    asked = len(model.requests)
    done = claw("onboard", "--yes", "--provider", "none", "--json")

    assert done.json["changes"] == ['- default_provider = "openai"',
                                    '- default_model = "big"']
    assert done.json["answer"] is None
    assert len(model.requests) == asked
    assert "default_provider" not in read(home)


def test_no_provider_says_who_is_asked_all_the_same(claw, model):
    done = claw("onboard", "--yes", "--provider", "none", "--json",
                env={"OPENAI_API_KEY": KEY})

    assert "OPENAI_API_KEY" in done.err
    assert "default_provider offline" in done.err
    assert model.requests == []


def test_completion_and_man_pages_go_where_the_shell_looks(
        claw, environment, tmp_path):
    done = claw("onboard", "--yes", "--completion",
                env={"SHELL": "/usr/bin/fish", "PATH": "/nowhere"})
    user = tmp_path / "user"

    assert done.code == 0
    assert (user / ".config/fish/completions/claw.fish").read_text() \
        == claw("completion", "fish").out
    assert (user / ".local/share/man/man1/claw-onboard.1").exists()


def test_without_a_shell_the_way_to_completion_is_told(claw, tmp_path):
    done = claw("onboard", "--yes", "--completion", env={"PATH": "/nowhere"})

    assert f"claw completion bash > {tmp_path / 'user'}" in done.err
    assert "man pages:" in done.err


def test_a_service_that_fails_is_told_and_the_rest_goes_on(
        claw, home, model):
    done = claw("onboard", "--yes", "--provider", "openai", "--model", "big",
                "--api-key-stdin", "--service", stdin=KEY,
                env={"PATH": "/nowhere"})

    assert done.code == 5
    assert "there is no systemd here" in done.err
    assert "claw: Hello, owner." in done.out
    assert "Next:" in done.out
    assert not (home / FILE).exists()


@pytest.mark.parametrize("command", [
    ["ask", "what is the capital of Peru?"], ["agent", "hello"], ["doctor"]])
def test_without_a_model_it_is_named(claw, command):
    done = claw(*command)

    assert "claw onboard" in done.err + done.out
