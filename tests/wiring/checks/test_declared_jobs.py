"""[[cron.jobs]] as `config check` and `claw listen` read them."""

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.wiring.checks.config import check_settings
from claw.wiring.jobs.declared import read_jobs

EVERY = "schedule = {kind = 'every', every_ms = 60000}\n"


@pytest.fixture
def read(tmp_path):
    places = locate(str(tmp_path / "home"), None, {})
    places.home.mkdir()

    def call(text):
        places.config_file.write_text(text)
        places.config_file.chmod(0o600)
        return load(places, {})
    return call


@pytest.mark.parametrize(("text", "line", "message"), [
    ("[[cron.jobs]]\nid = 'a'\nprompt = 'x'\n"
     "schedule = {expr = 'bad'}\n", 1, "'bad' has 1 fields"),
    ("[[cron.jobs]]\nid = 'a'\nprompt = 'x'\n" + EVERY
     + "policy = {level = 'ful'}\n", 1, "level"),
    ("[[cron.jobs]]\nid = 'a'\n" + EVERY, 1, "command"),
    ("[[cron.jobs]]\nprompt = 'x'\n" + EVERY, 1, "its id is missing"),
    ("[heartbeat]\nenabled = true\n[[cron.jobs]]\nid = 'heartbeat'\n"
     "prompt = 'x'\n" + EVERY, 3, "[heartbeat] has this id"),
])
def test_config_check_said_nothing_of_a_job_that_never_ran(
        read, text, line, message):
    found, = (each for each in check_settings(read(text))
              if each.level == "error")

    assert message in found.message
    assert found.key.startswith("cron.jobs")
    assert found.line in (line, None)


@pytest.mark.parametrize("value", ["5", "'x'", "['x']", "{id = 'a'}", "true"])
def test_listen_fell_over_jobs_that_are_no_tables(read, value):
    tree = read(f"[cron]\njobs = {value}\n")

    assert read_jobs(tree)[0] == {}
    assert any(each.level == "error" and each.key == "cron.jobs"
               for each in check_settings(tree))


def test_a_job_that_can_run_is_no_finding(read):
    tree = read("[[cron.jobs]]\nid = 'a'\nprompt = 'x'\n" + EVERY)

    assert list(read_jobs(tree)[0]) == ["a"]
    assert not [each for each in check_settings(tree)
                if each.level == "error"]


BEAT = "[heartbeat]\nenabled = true\n"
BOT = "[channels_config.telegram]\nbot_token = '1:x'\n"


@pytest.mark.parametrize(("text", "key", "message"), [
    (BEAT + "target = 'nosuch'\nto = '1'\n", "heartbeat.target",
     "nosuch is not set up"),
    (BEAT + "target = 'telegram'\n" + BOT, "heartbeat.to", "nobody hears"),
    (BEAT + "to = '1'\n", "heartbeat.target", "nobody hears"),
    ("[[cron.jobs]]\nid = 'a'\nprompt = 'x'\n" + EVERY + "delivery = {mode = "
     "'announce', channel = 'telegram', to = '1'}\n", "cron.jobs",
     "telegram is not set up"),
    (BEAT, None, ""), (BEAT + "target = 'telegram'\nto = '1'\n" + BOT, None,
                       ""),
])
def test_a_job_that_nobody_hears_of_is_told(read, text, key, message):
    found = [each for each in check_settings(read(text))
             if each.key.startswith(("heartbeat", "cron"))]

    assert [each.key for each in found] == [key] * (key is not None)
    assert all(message in each.message and each.level == "warning"
               for each in found)
