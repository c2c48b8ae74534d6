"""claw channel: list and doctor."""

import os
from datetime import UTC, datetime

import pytest

from claw.cli.show.output import to_json
from claw.storage.names import PeopleFile
from claw.storage.sessions import SessionStore
from claw.testing.fake_telegram import FakeTelegram

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
    assert "webhook\t-" in lines[2:]


def test_list_as_json_tells_how_a_running_one_is(claw, platform, home):
    state(home)
    rows = {row["name"]: row
            for row in claw("channel", "list", "--json").json["channels"]}

    assert rows["telegram"]["status"] == "ok"
    assert rows["telegram"]["restarts"] == 2
    assert rows["telegram"]["last_receive"]
    assert rows["webhook"] == {
        "name": "webhook", "configured": False, "status": "unknown",
        "last_receive": None, "last_send": None, "restarts": 0,
        "error": None, "rejected": None, "people": []}


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
