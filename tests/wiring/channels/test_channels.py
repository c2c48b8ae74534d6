"""Settings -> channels."""

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import ClawError, ConfigError
from claw.wiring.channels.build import (
    build_deps,
    list_configured,
    open_channel,
    open_channels,
    remember,
    select_channels,
)
from claw.wiring.channels.states import states
from claw.wiring.checks.channels import channel_checks
from claw.wiring.workspace.secrets import collect_secrets

TOKEN = "1234567:CANARY-token-of-a-bot-that-nobody-may-see"
BOT = f'[channels_config.telegram]\nbot_token = "{TOKEN}"\n'
HOOK = '[channels_config.webhook]\nport = 0\nsecret = "0123456789abcdef"\n'


class Home:
    def __init__(self, folder):
        self.places = locate(str(folder / "home"), None, {})
        self.places.config_file.parent.mkdir(mode=0o700)
        self.events = []

    def tree(self, text=""):
        self.places.config_file.write_text(text)
        self.places.config_file.chmod(0o600)
        return load(self.places)

    def log(self, event, /, **fields):
        self.events.append((event, fields))


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.mark.parametrize(("path", "may"), [
    ("notes.txt", True), ("telegram_files/a.pdf", True),
    ("state/queue.db", False), ("state/queue.db-wal", False),
    ("sessions/a.jsonl", False), ("memory/brain.db", False),
    ("MEMORY_SNAPSHOT.md", False), ("memory/archive/2026-01-01.md", False),
    ("secrets/key.txt", False), ("../config.toml", False),
    ("../.secret_key", False)])
def test_answers_carry_nothing_away_that_claw_keeps_for_itself(
        home, path, may):
    workspace = home.places.workspace.resolve()
    tree = home.tree(BOT + "[autonomy]\nforbidden_paths = "
                           f'["{workspace}/secrets"]\n')

    deps = build_deps(tree, "telegram", home.log)

    assert deps.may_send((workspace / path).resolve()) is may


def test_the_configured_ones_come_in_the_registrys_order(home):
    assert list_configured(home.tree(HOOK + BOT)) == ["telegram", "webhook"]
    assert list_configured(home.tree()) == []


def test_tables_of_channels_that_claw_lacks_are_passed_over(home):
    assert list_configured(home.tree(BOT + "[channels_config.fax]\n")) \
        == ["telegram"]


def test_all_that_are_configured_run_unless_some_are_named(home):
    tree = home.tree(BOT + HOOK)
    assert select_channels(tree, []) == ["telegram", "webhook"]
    assert select_channels(tree, ["webhook", "webhook"]) == ["webhook"]
    assert select_channels(home.tree(), ["cli"]) == ["cli"]


@pytest.mark.parametrize(("text", "only", "said", "hint"), [
    ("", [], "no channel is configured", "--channel cli"),
    ("", ["telegram"], "'telegram' is not configured", "bot_token"),
    (BOT, ["telegrm"], "telegrm", "telegram"),
    ("[channels_config]\ncli = false\n", ["cli"], "'cli' is not", "cli"),
])
def test_what_can_not_run_says_how_it_could(home, text, only, said, hint):
    with pytest.raises(ConfigError, match=said) as raised:
        select_channels(home.tree(text), only)
    assert hint in f"{raised.value.message} {raised.value.hint}"


def test_a_rooms_options_are_read_of_its_table(home):
    room = open_channel(home.tree(
        BOT + "interrupt_on_new_message = true\nack_reactions = false\n"
        "debounce_ms = 500\n"), "telegram", home.log)

    assert room.name == "telegram"
    assert (room.options.interrupt, room.options.ack_reactions,
            room.options.debounce_s) == (True, False, 0.5)


def test_one_that_can_not_be_opened_is_left_out(home):
    tree = home.tree(BOT + '[channels_config.webhook]\nport = "no"\n')
    opened = open_channels(tree, ["telegram", "webhook"], home.log, {})

    assert list(opened) == ["telegram"]
    event, fields = home.events[-1]
    assert (event, fields["channel"]) == ("channel.unusable", "webhook")


def test_where_none_can_be_opened_the_first_fault_is_told(home):
    tree = home.tree('[channels_config.telegram]\nstream_mode = "x"\n')
    with pytest.raises(ClawError, match="stream_mode"):
        open_channels(tree, ["telegram"], home.log, {})


def test_a_room_with_the_same_settings_goes_on(home):
    first = open_channels(home.tree(BOT + HOOK), ["telegram", "webhook"],
                          home.log, {})
    second = open_channels(
        home.tree(BOT + 'allowed_users = ["bob"]\n' + HOOK),
        ["telegram", "webhook"], home.log, {}, first)

    assert second["webhook"][1] is first["webhook"][1]
    assert second["telegram"][1] is not first["telegram"][1]


def test_a_channel_that_lets_somebody_in_is_not_started_anew(home):
    first = open_channels(home.tree(BOT), ["telegram"], home.log, {})
    assert first["telegram"].live.channel._intake.door._deps.remember(
        "1001")
    second = open_channels(load(home.places), ["telegram"], home.log, {},
                           first)
    third = open_channels(home.tree(BOT + 'allowed_users = []\n'),
                          ["telegram"], home.log, {}, second)

    assert second["telegram"].live is first["telegram"].live
    assert second["telegram"].settings.allowed_users == ("1001",)
    assert third["telegram"].live is not first["telegram"].live


MOODY = """
import msgspec
from claw.core.channel import Channel

class Settings(msgspec.Struct, frozen=True):
    mood: str = "good"

class Moody(Channel):
    name = "moody"
    Settings = Settings
    def __init__(self, settings, deps):
        assert settings.mood == "good", "not today"
    async def listen(self, inbox): ...
    async def send(self, message): ...
"""


def test_a_plug_in_that_raises_at_new_settings_goes_on_with_the_old(
        home, tmp_path, monkeypatch):
    info = tmp_path / "packages" / "moody-1.dist-info"
    info.mkdir(parents=True)
    (info.parent / "moody_channel.py").write_text(MOODY)
    (info / "METADATA").write_text("Name: moody\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[claw.channels]\nmoody = moody_channel:Moody\n")
    monkeypatch.syspath_prepend(str(info.parent))
    names = ["telegram", "moody"]
    table = "[channels_config.moody]\n"

    first = open_channels(home.tree(BOT + table), names, home.log, {})
    second = open_channels(home.tree(BOT + table + 'mood = "bad"'), names,
                           home.log, {}, first)

    assert second["moody"].live is first["moody"].live
    assert "AssertionError: not today" in second["moody"].rejected
    event, fields = home.events[-1]
    assert (event, fields["channel"]) == ("channel.rejected", "moody")


def test_a_paired_sender_is_added_once_and_nothing_else_changes(home):
    home.tree("# mine\n" + BOT + 'allowed_users = ["bob"]\n')
    for _ in range(2):
        assert remember(home.places, "telegram", home.log, [], "1001")

    text = home.places.config_file.read_text()
    assert text.startswith("# mine\n")
    assert load(home.places).get("channels_config.telegram.allowed_users") \
        == ["bob", "1001"]


def test_a_sender_that_can_not_be_kept_is_told(home):
    home.tree(BOT)
    home.places.config_file.write_text("no toml at all")
    assert remember(home.places, "telegram", home.log, [], "1001") is False
    assert home.events[-1][0] == "pairing.unsaved"


def test_every_secret_of_the_settings_is_known(home):
    secrets = collect_secrets(home.tree(
        'api_key = "sk-a-long-enough-key"\n' + BOT + HOOK
        + '[[model_routes]]\nhint = "x"\napi_key = "another-long-key"\n'
        '[model_providers.p]\napi_key = "short"\n'))
    assert {TOKEN, "0123456789abcdef", "sk-a-long-enough-key",
            "another-long-key"} <= set(secrets)
    assert "short" not in secrets


def test_states_name_the_console_then_what_is_set_up_then_the_rest(home):
    rows = states(home.tree(HOOK))
    assert [(row.name, row.configured) for row in rows[:3]] == [
        ("cli", True), ("webhook", True), ("telegram", False)]
    assert not any(row.configured for row in rows[2:])
    assert {row.status for row in rows} == {"unknown"}


def test_checks_of_nothing_say_what_to_do(home):
    check, = channel_checks(home.tree())
    assert (check.id, check.status) == ("channels.none", "skip")
    assert "claw config set" in check.hint


@pytest.mark.parametrize("name", ["webhook", "telegrm"])
def test_checks_of_a_channel_that_is_not_set_up_are_refused(home, name):
    with pytest.raises(ConfigError):
        list(channel_checks(home.tree(BOT), [name]))


def test_a_channel_whose_settings_are_wrong_fails_its_check(home):
    tree = home.tree('[channels_config.telegram]\nstream_mode = "x"\n')
    first = next(iter(channel_checks(tree)))
    assert first.status == "fail"
    assert "stream_mode" in first.detail
