"""claw channel: list and doctor."""

import os
import re
import time
from datetime import UTC, datetime

import pytest

from claw.channels import REGISTRY
from claw.cli.app import COMMANDS
from claw.cli.show.output import to_json
from claw.config.keys import split_key
from claw.core.channel import Capabilities
from claw.storage.names import PeopleFile
from claw.storage.sessions import SessionStore
from claw.testing.fake_telegram import FakeTelegram
from claw.wiring.channels.manual import explain_doubt, read_manual
from claw.wiring.config.sections import kind_at

TOKEN = "1234567:CANARY-token-of-a-bot-that-nobody-may-see"


@pytest.fixture
def platform(home):
    with FakeTelegram(TOKEN) as fake:
        write(home, fake.url)
        yield fake


def write(home, url, token=TOKEN, allowed='["alice"]'):
    home.mkdir(mode=0o700, exist_ok=True)
    config = home / "config.toml"
    config.write_text(
        f'[channels_config.telegram]\nbot_token = "{token}"\n'
        f'api_base_url = "{url}"\nallowed_users = {allowed}\n')
    config.chmod(0o600)


def state(home, written_at=None, pid=None, **part):
    """What a claw listen would have written."""
    now = datetime.now(UTC).isoformat()
    path = home / "workspace" / "state" / "listen.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json({
        "pid": pid or os.getpid(), "written_at": written_at or now,
        "components": {"channel:telegram": {
            "status": "ok", "last_receive": now, "last_send": None,
            "restart_count": 2, "last_error": None, **part}}}))


def test_list_shows_what_is_set_up_and_what_is_not(claw, platform):
    lines = claw("channel", "list").out.splitlines()
    assert lines[0].startswith("cli")
    assert lines[1] == "telegram\tset up"
    assert "webhook\t-" in lines


def test_list_as_json_tells_how_a_running_one_is(claw, platform, home):
    state(home)
    rows = {row["name"]: row
            for row in claw("channel", "list", "--json").json["channels"]}

    assert rows["telegram"]["status"] == "ok"
    assert rows["telegram"]["restarts"] == 2
    assert rows["telegram"]["last_receive"]
    assert rows["webhook"] == {
        "name": "webhook", "configured": False, "status": "unknown",
        "last_receive": None, "last_send": None, "restarts": 0, "not_there": 0,
        "error": None, "hint": None, "rejected": None, "people": []}


@pytest.mark.parametrize("stale", [
    {"written_at": "2001-01-01T00:00:00Z"}, {"written_at": "never"},
    {"pid": 2**22 + 7}])
def test_a_state_that_nobody_keeps_up_counts_for_nothing(claw, platform,
                                                         home, stale):
    state(home, **stale)
    rows = claw("channel", "list", "--json").json["channels"]
    assert {row["status"] for row in rows} == {"unknown"}


def test_doctor_finds_nothing_wrong_with_a_bot_that_works(claw, platform,
                                                          home):
    state(home)
    done = claw("channel", "doctor", "--json")

    assert (done.code, done.json["ok"]) == (0, True)
    ids = {c["id"]: c for c in done.json["checks"]}
    assert ids["channels.telegram.token"]["status"] == "ok"
    assert "restarted 2 times" in ids["channels.telegram.traffic"]["detail"]
    assert [row["name"] for row in done.json["channels"]] \
        == ["cli", "telegram"]
    assert "CANARY" not in done.out + done.err


def test_the_console_that_is_set_up_is_no_unknown_channel(claw):
    assert claw("channel", "list").out.startswith("cli\tset up")
    done = claw("channel", "doctor", "cli")

    assert done.code == 0
    assert "it needs no settings" in done.out


def test_doctor_says_what_to_do_about_a_refused_token(claw, platform, home):
    write(home, platform.url, token="7654321:wrong-CANARY-token-of-a-bot-xx")
    done = claw("channel", "doctor", "telegram")

    assert done.code == 1
    assert "FAIL" in done.out
    assert "-> " in done.out
    assert "CANARY" not in done.out + done.err


def test_doctor_shows_the_trouble_of_the_running_service(claw, platform,
                                                         home):
    state(home, status="error", last_error="another poller (409)")
    done = claw("channel", "doctor")
    assert done.code == 1
    assert "another poller (409)" in done.out


@pytest.mark.parametrize(("name", "code", "said"), [
    ("webhook", 3, "not configured"), ("telegrm", 2, "telegram")])
def test_doctor_of_a_channel_that_is_not_set_up_is_refused(
        claw, platform, name, code, said):
    done = claw("channel", "doctor", name)
    assert done.code == code
    assert said in done.err


def test_doctor_of_nothing_says_how_to_begin(claw):
    done = claw("channel", "doctor")
    assert done.code == 0
    assert "claw listen --channel cli" in done.out


def test_list_and_doctor_tell_whose_a_name_is(claw, platform, home):
    names = PeopleFile(home / "workspace" / "state" / "people.json").of(
        "telegram")
    names.bind("alice", "1001")
    names.bind("alice", "1002")

    assert "alice is 1001, 1002 has the name too" in claw(
        "channel", "list").out
    row, = (row for row in claw("channel", "list", "--json").json["channels"]
            if row["name"] == "telegram")
    assert row["people"][0]["id"] == "1001"
    checks = {check["id"]: check for check in claw(
        "channel", "doctor", "--json").json["checks"]}
    assert "1002" in checks["channels.telegram.name.alice"]["detail"]


def test_doctor_tells_what_is_still_kept_under_a_name(claw, platform, home):
    store = SessionStore(home / "workspace" / "sessions")
    for key in ("telegram_-5_bob", "telegram_-5_2002", "webhook_x_bob"):
        store.append(key, [{"type": "Chat"}])

    checks = {check["id"]: check for check in claw(
        "channel", "doctor", "--json").json["checks"]}

    assert checks["channels.telegram.carry_over"]["detail"].endswith(": bob")


def test_doctor_asks_all_channels_at_once_and_groups_what_they_say(
        claw, home, monkeypatch):
    """One that never answers takes no other's time."""
    monkeypatch.setattr("claw.wiring.checks.channels.HEALTH_S", 1.0)
    folder = home / "channels"
    folder.mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    for name, body in (("fast", "return True"), ("dead", DEAD),
                       ("dumb", DEAD), ("wrong", "return 1 / 0")):
        (folder / f"{name}.py").write_text(OWN.format(name=name, body=body))
        (folder / f"{name}.py").chmod(0o600)
    began = time.monotonic()
    done = claw("channel", "doctor")

    assert time.monotonic() - began < 2.5
    assert done.code == 1
    assert [line for line in done.out.splitlines()
            if not line.startswith(" ")][:-1] == [
        "channels.dead", "channels.dumb", "channels.fast", "channels.wrong"]
    assert done.out.count("timed out (>1s)") == 2
    assert "channels.fast.health: healthy" in done.out
    assert "channels.wrong.fault: ZeroDivisionError" in done.out


DEAD = "await asyncio.sleep(60)"
OWN = """
import asyncio
from claw.core.channel import Channel
class Own(Channel):
    name = "{name}"
    async def send(self, message): pass
    async def listen(self, inbox): pass
    async def health_check(self):
        {body}
"""


def test_doctor_folds_the_steps_behind_a_failed_one(claw, home):
    home.mkdir(mode=0o700)
    write(home, "http://nobody.invalid", token="7654321:AAAAAAAAAAAAAAAAAAAA")
    done = claw("channel", "doctor", "telegram")
    skipped = [line for line in done.out.splitlines()
               if "a step before it failed" in line]

    assert len(skipped) == 2  # tls is left out for a reason of its own
    assert "telegram.token, webhook, poller, pending" in skipped[1]
    assert len(claw("channel", "doctor", "telegram", "-v").out.splitlines()
               ) > len(done.out.splitlines())


def test_setup_tells_what_to_make_and_which_keys_to_set(claw):
    done = claw("channel", "setup", "telegram")

    assert done.code == 0
    assert "@BotFather" in done.out
    assert "| `bot_token` |" in done.out
    assert "| look up what has arrived | yes |" in done.out
    assert "claw config set channels_config.telegram.bot_token\n" \
        in done.out
    assert "\x1b" not in done.out


def test_setup_as_json(claw):
    found = claw("channel", "setup", "webhook", "--json").json

    assert found["name"] == "webhook"
    assert {"key": "port", "default": 8790, "choices": [],
            "meaning": "the port to listen on; 0: any free one"} \
        in found["settings"]
    assert found["abilities"]["key_holds_s"] == 0
    assert found["missing"] == []
    assert found["first"].startswith("claw config set channels_config.webhoo")


@pytest.mark.parametrize(("name", "pressed"), [
    ("telegram", True), ("whatsapp", True), ("line", True), ("irc", False)])
def test_setup_says_whether_a_press_answers(claw, name, pressed):
    """Also where buttons can't be taken away once they stand."""
    found = claw("channel", "setup", name, "--json").json

    assert found["abilities"]["buttons"] == pressed


def test_setup_without_a_name_lists_the_channels(claw, platform):
    lines = claw("channel", "setup").out.splitlines()

    assert [line.split("\t")[0] for line in lines] == REGISTRY.names()
    assert all(line.count("\t") == 2 for line in lines)
    assert "set up" in lines[0]


def test_setup_of_an_unknown_channel_says_which_was_meant(claw):
    done = claw("channel", "setup", "telegrm")

    assert done.code == 2
    assert 'did you mean "telegram"?' in done.err


def test_setup_names_the_extra_that_is_missing(claw, monkeypatch):
    monkeypatch.setattr("claw.cli.commands.channel.setup.list_missing",
                        lambda extra: ["aiothing"])
    done = claw("channel", "setup", "webhook", "--json")

    assert done.code == 0
    assert done.json["missing"] == ["aiothing"]
    assert "webhook needs aiothing, not installed here" in done.err


def test_setup_says_what_an_extra_is_for_where_most_works_without(
        claw, monkeypatch):
    monkeypatch.setattr("claw.cli.commands.channel.setup.list_missing",
                        lambda extra: ["aiothing"])
    done = claw("channel", "setup", "matrix")

    assert "matrix needs aiothing for encrypted rooms, not installed" \
        in done.err


@pytest.mark.parametrize("name", REGISTRY.names())
def test_no_setup_installs_the_other_projects_claw(name):
    """On the package index the name belongs to somebody else."""
    assert "claw[" not in read_manual(name).setup


@pytest.mark.parametrize("name", REGISTRY.names())
def test_every_channel_tells_how_it_is_set_up(name):
    manual = read_manual(name)

    assert 20 < len(manual.line) < 120
    assert not manual.line.startswith("claw ")  # what it is, not a command
    assert len(manual.setup) < 6000
    assert [s.key for s in manual.settings if not s.meaning] == []
    if manual.is_listed:
        assert f"channels_config.{name}." in manual.setup
        assert manual.first


@pytest.mark.parametrize("name", REGISTRY.names())
def test_what_a_setup_names_is_there(name):
    """Its commands, and the keys that they set; how to install is said
    once, by the page."""
    setup = read_manual(name).setup
    commands = re.findall(r"(?:^ {4,}|`)claw ([a-z]+)(?: ([a-z]+))?", setup,
                          re.M)
    keys = re.findall(r"claw config set (\S+?)[`\s]", setup + "\n")

    assert [words for words in commands
            if words[0] not in COMMANDS
            and " ".join(words) not in COMMANDS] == []
    assert [key for key in keys if kind_at(split_key(key)) is None] == []
    assert "pip install" not in setup


@pytest.mark.parametrize(("can", "said"), [
    ({}, 'it is sent again with "(possibly'),
    ({"list_back": True}, "it is looked for first; where that"),
    ({"key_holds_s": 30}, "within 30 s it is sent again under its key, and"
                          " shown once; later it is sent"),
    ({"key_holds_s": 300, "list_back": True},
     "shown once; later it is looked for first"),
    ({"key_holds_s": float("inf")}, "it is sent again under its key, and"
                                    " shown once."),
])
def test_what_becomes_of_an_answer_in_doubt_is_told(can, said):
    assert said in explain_doubt(Capabilities(**can))
