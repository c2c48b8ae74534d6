"""claw onboard on a terminal, by keys."""

import json
import tomllib

import pytest
from terminal import Terminal

from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_telegram import FakeTelegram
from claw.wiring.setup.onboard.answers import FILE

KEY = "sk-good-key-1234567890"
ENTER = "\n"


@pytest.fixture
def stage(environment, home):
    """A model server and a platform; the settings know its address."""
    with FakeOpenAI(["Hello, owner."], models=("gpt-5-mini", "gpt-5"),
                    api_key=KEY) as model, FakeTelegram() as platform:
        environment |= {"OPENAI_BASE_URL": model.url, "TERM": "dumb",
                        "SHELL": "/bin/bash"}
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(
            "# mine\n[channels_config.telegram]\n"
            f'api_base_url = "{platform.url}"\n'
            # a model on this machine would be free
            '[cost.prices."gpt-5-mini"]\ninput = 0.25\noutput = 2.0\n')
        yield platform


def read(home):
    return tomllib.loads((home / "config.toml").read_text())


def list_questions(platform):
    """Each question by its words, and what is typed."""
    return [
        ("Which model provider?", "other\n"),
        ("Which one?", "openai\n"),
        ("Key of OpenAI:", f"  {KEY}  \n"),
        ("Which model?", "gpt-5-mini\n"),
        ("Dollars a day", "2.5\n"),
        ("How are memories found?", "words\n"),
        ("Days to keep talk", "90\n"),
        ("Which channel?", "telegram\n"),
        ("the token that @BotFather gave", f"{platform.token}\n"),
        ("Let yourself in:", "ids\n"),
        ("Ids, with commas", "1001, 家/茶\n"),
        ("What may the agent do?", "readonly\n"),
        ("Completion and man pages", "no\n"),
        ("as a service?", "no\n"),
    ]


def check_settings(home, platform):
    text = (home / "config.toml").read_text()
    found = read(home)
    telegram = found["channels_config"]["telegram"]

    assert text.startswith("# mine\n")
    assert KEY not in text
    assert platform.token not in text
    assert (found["default_provider"], found["default_model"]) == (
        "openai", "gpt-5-mini")
    assert found["cost"] == {"daily_limit_usd": 2.5, "prices": {
        "gpt-5-mini": {"input": 0.25, "output": 2.0}}}
    assert found["memory"]["conversation_retention_days"] == 90
    assert telegram["allowed_users"] == ["1001", "家/茶"]
    assert telegram["bot_token"].startswith("enc2:")
    assert found["autonomy"] == {"level": "readonly"}
    assert not (home / FILE).exists()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill -9", "Ctrl-C", "Ctrl-D"])
def test_no_question_is_lost(environment, home, stage, how):
    """Broken off at each question, it goes on there."""
    questions = list_questions(stage)
    for number, (question, keys) in enumerate(questions):
        last = number + 1 == len(questions)
        with Terminal(environment, "onboard") as terminal:
            terminal.wait_for(question)
            for before, _ in questions[:number]:
                assert before not in terminal.shown
            terminal.answer(keys)
            if last:
                assert terminal.end() == 0
                assert "claw: Hello, owner." in terminal.shown
                assert "+ cost.daily_limit_usd = 2.5" in terminal.shown
                break
            terminal.wait_for(questions[number + 1][0])
            if how == "kill -9":
                terminal.kill()
            else:
                terminal.wait_for_prompt()
                terminal.type("\x03" if how == "Ctrl-C" else "\x04")
                assert terminal.end() == 130
                assert "go on with: claw onboard" in terminal.shown
    check_settings(home, stage)


def test_a_refused_key_is_asked_for_again(environment, home, stage):
    with Terminal(environment, "onboard", "--provider", "openai",
                  "--channel", "none", "--memory", "words", "--autonomy",
                  "full", "--no-completion", "--daily-limit", "1",
                  "--keep-days", "30") as terminal:
        terminal.wait_for("Key of OpenAI:")
        terminal.answer("\n")
        terminal.wait_for("Nothing came")
        terminal.wait_for("Key of OpenAI:")
        terminal.answer("sk-wrong\n")
        terminal.wait_for("401")
        terminal.wait_for("What now?")
        terminal.answer("<\n")
        terminal.wait_for("Key of OpenAI:")
        terminal.answer("sk-other\n")
        terminal.wait_for("What now?")
        terminal.answer("key\n")
        terminal.wait_for("Key of OpenAI:")
        terminal.answer(f"{KEY}\n")
        terminal.wait_for("Which model?")
        terminal.answer("gpt-5\n")
        terminal.wait_for("as a service?")
        terminal.answer("no\n")

        assert terminal.end() == 0
        assert "config set" not in terminal.shown
    assert read(home)["default_model"] == "gpt-5"
    assert KEY not in terminal.shown


def test_a_refused_key_was_kept_at_ctrl_c(environment, home, stage):
    with Terminal(environment, "onboard", "--provider", "openai"
                  ) as terminal:
        terminal.wait_for("Key of OpenAI:")
        terminal.answer("sk-wrong\n")
        terminal.wait_for("What now?")
        terminal.answer("\x03")
        assert terminal.end() == 130

    kept = json.loads((home / FILE).read_text())["answers"]
    assert kept == {"provider": "openai"}


REST = ("--channel", "none", "--memory", "words", "--autonomy", "full",
        "--no-completion", "--keep-days", "30")


def test_a_service_that_was_not_installed_ended_with_0(environment, home,
                                                       stage):
    environment["PATH"] = "/nowhere"
    with Terminal(environment, "onboard", "--provider", "none", *REST,
                  "--service") as terminal:
        assert terminal.end() == 5
    assert "there is no systemd here" in terminal.shown


def test_another_model_that_fails_leaves_the_one_from_before(
        environment, home, stage):
    with FakeOpenAI(["It is me."], models=("old",)) as before:
        settings = {"default_provider": f"custom:{before.url}",
                    "default_model": "old"}
        path = home / "config.toml"
        path.write_text("".join(
            f'{key} = "{value}"\n' for key, value in settings.items()
        ) + path.read_text())
        with Terminal(environment, "onboard", "--provider", "openai",
                      *REST) as it:
            it.wait_for("Key of OpenAI:")
            it.answer("sk-wrong\n")
            it.wait_for("stay with what was set before (custom:")
            it.answer("leave\n")
            it.wait_for("What was set before stays: custom:")
            it.wait_for("as a service?")
            it.answer("no\n")
            it.wait_for("It is me.")

            assert it.end() == 0
        assert settings.items() <= read(home).items()


def test_where_none_was_set_there_is_no_model(environment, home, stage):
    with Terminal(environment, "onboard", "--provider", "openai",
                  *REST) as it:
        it.wait_for("Key of OpenAI:")
        it.answer("sk-wrong\n")
        it.wait_for(") no model for now")
        it.answer("leave\n")
        it.wait_for("No model for now: claw answers")
        it.wait_for("as a service?")
        it.answer("no\n")

        assert it.end() == 0
    assert "default_provider" not in read(home)


def test_a_server_that_does_not_answer_has_another_address(
        environment, home, stage):
    address = environment["OPENAI_BASE_URL"]
    with Terminal(environment, "onboard", "--provider",
                  "custom:http://127.0.0.1:9/v1") as it:
        it.wait_for("Key of")
        it.answer("\n")
        it.wait_for("connection refused")
        it.wait_for("1) another address")
        it.answer("1\n")
        it.wait_for("Its address")
        it.answer("\n")
        it.wait_for("Type an address")
        it.answer("not a url\n")
        it.wait_for("is no address")
        it.answer(f"{address.removeprefix('http://')}\n")
        it.wait_for("Key of")
        it.answer("sk-wrong\n")
        it.wait_for("1) another key")
        it.answer("1\n")
        it.wait_for("Key of")
        it.answer(f"{KEY}\n")
        it.wait_for("Which model?")
        it.answer("gpt-5\n")
        it.wait_for("How are memories found?")
    assert read(home)["default_provider"] == f"custom:{address}"


def test_the_way_back_asks_the_question_before_again(
        environment, home, stage):
    with Terminal(environment, "onboard", "--provider", "none", "--channel",
                  "none") as terminal:
        terminal.wait_for("How are memories found?")
        terminal.answer("words\n")
        terminal.wait_for("Days to keep")
        terminal.answer("<\n")
        terminal.wait_for("How are memories found?")
        terminal.answer("words\n")
        terminal.wait_for("Days to keep")
        terminal.answer("soon\n")
        terminal.wait_for("Type a number of days")
        terminal.wait_for("Days to keep")
        terminal.answer("7\n")
        terminal.wait_for("What may the agent do?")
        terminal.answer("<\n")
        terminal.wait_for("Days to keep")
        terminal.kill()


def test_what_was_given_once_is_kept_by_enter(environment, home, stage):
    with Terminal(environment, "onboard", "--provider", "none", "--memory",
                  "words", "--keep-days", "30", "--channel",
                  "webhook") as terminal:
        for secret, send_url in (("s" * 40, "not a url"),
                                 ("", "http://127.0.0.1:9/in")):
            terminal.wait_for("secret:")
            terminal.wait_for("secret")
            terminal.answer(f"{secret}\n")
            terminal.wait_for("send_url:")
            terminal.answer(f"{send_url}\n")
            terminal.wait_for("port:")
            terminal.answer("0\n")
            terminal.wait_for("What now?")
            assert "send_url: that address: no http" in terminal.shown
            terminal.answer("values\n" if secret else "keep\n")
        terminal.wait_for("What may the agent do?")
    found = read(home)["channels_config"]["webhook"]

    assert found["secret"].startswith("enc2:")
    assert found["send_url"] == "http://127.0.0.1:9/in"


PAIRING = ("onboard", "--provider", "none", "--memory", "words",
           "--keep-days", "30", "--autonomy", "supervised",
           "--no-completion", "--no-service", "--channel", "telegram")


@pytest.mark.parametrize("how", ["kill -9", "Ctrl-C"])
def test_a_pairing_that_is_broken_off_goes_on(environment, home, stage, how):
    with Terminal(environment, *PAIRING, "--set",
                  f"bot_token={stage.token}") as terminal:
        terminal.wait_for("Let yourself in:")
        terminal.answer("now\n")
        terminal.wait_for("/bind ")
        terminal.wait_for("(waiting")
        if how == "kill -9":
            terminal.kill()
        else:
            terminal.type("\x03")
            assert terminal.end() == 130
            assert "go on with: claw onboard" in terminal.shown
    with Terminal(environment, "onboard") as terminal:
        terminal.wait_for("/bind ")
        terminal.wait_for("(waiting")
        code = terminal.shown.rpartition("/bind ")[2][:6]
        stage.post(f"/bind {code}", username="mina")
        terminal.wait_for("mina (1001) may write now")
        terminal.type("\n")

        assert terminal.end() == 0
    assert not (home / FILE).exists()


def test_live_pairing_and_a_first_message(environment, home, stage):
    with Terminal(environment, *PAIRING, "--set",
                  f"bot_token={stage.token}") as terminal:
        terminal.wait_for("Let yourself in:")
        terminal.answer("now\n")
        terminal.wait_for("/bind ")
        terminal.wait_for("\n")
        code = terminal.shown.rpartition("/bind ")[2][:6]
        stage.post("/bind 000000", chat_id=1002, username="eve")
        stage.post(f"/bind {code}", username="mina")
        terminal.wait_for("mina (1001) may write now")
        stage.post("what is 6 * 7?", username="mina")
        stage.wait_until(lambda: "42" in [
            m.text for m in stage.messages(1001)])
        terminal.type("\n")

        assert terminal.end() == 0
    assert read(home)["channels_config"]["telegram"][
        "allowed_users"] == ["1001"]


def test_arrows_and_other_scripts_under_a_locale_that_knows_none(
        environment, home, stage):
    environment |= {"TERM": "xterm", "LC_ALL": "C",
                    "PROMPT_TOOLKIT_NO_CPR": "1"}
    with Terminal(environment, "onboard", "--provider", "none",
                  "--no-completion", "--no-service", "--channel", "telegram",
                  "--set", f"bot_token={stage.token}",
                  columns=40) as terminal:
        for keys in ("<\r", "\x15<\r", "\r"):  # the way back, twice
            terminal.wait_for("How are memories found?")
            terminal.type("\r")
            terminal.wait_for("Days to keep talk")
            terminal.type(keys)
        terminal.wait_for("a code that you send")
        terminal.type("\x1b[B\r")
        terminal.wait_for("Ids, with commas")
        terminal.type("1001, 家/茶\r")
        terminal.wait_for("What may the agent do?")
        terminal.type("\x1b[B")
        terminal.type("\r")

        assert terminal.end() == 0
    assert read(home)["channels_config"]["telegram"][
        "allowed_users"] == ["1001", "家/茶"]
    assert read(home)["autonomy"] == {"level": "readonly"}
