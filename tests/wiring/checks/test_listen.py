"""Whether `claw listen` would start: one finding a step."""

import pytest

from claw.testing.fake_openai import FakeOpenAI
from claw.wiring.checks.listen import check


def look(write_settings, text, only=()):
    places = write_settings().places
    places.config_file.write_text(text)
    report = check(places, only)
    return report.code, {c.id.removeprefix("listen."): (c.status, c.detail)
                         for c in report.checks}


BOT = '[channels_config.telegram]\nbot_token = "1:a"\n'


def test_a_good_home_can_start(write_settings):
    code, found = look(write_settings, BOT)

    assert code == 0
    assert found["channel.telegram"] == ("ok", "can be started")
    assert found["provider"][0] == "ok"
    assert found["queue"] == ("ok", "empty: it is made at the start")
    assert {status for status, _ in found.values()} == {"ok"}


@pytest.mark.parametrize(("text", "only", "step"), [
    ("a = 1\na = 2\n", (), "config"),
    ("", (), "channels"),
    (BOT, ("webhook",), "channels"),
    ("[channels_config.telegram]\nbot_token = 3\n", (), "channel.telegram"),
    (BOT + '[security.sandbox]\nmode = "odd"\n', (), "tools"),
    (BOT + '[hooks]\nenabled = 3\n', (), "tools"),
    ('default_provider = "nobody"\n' + BOT, (), "provider"),
])
def test_what_would_not_start_is_a_failed_step(write_settings, text, only,
                                               step):
    code, found = look(write_settings, text, only)

    assert code == 3
    assert [name for name, (status, _) in found.items()
            if status == "fail"] == [step]


def test_a_step_that_fails_hides_no_other(write_settings):
    code, found = look(write_settings, 'default_provider = "nobody"\n'
                       '[autonomy]\nlevel = "god"\n')

    assert code == 3
    assert {name for name, (status, _) in found.items()
            if status == "fail"} == {"channels", "provider", "tools"}
    assert found["queue"][0] == "ok"


def test_a_damaged_queue_is_named(write_settings):
    tree = write_settings(BOT)
    (tree.places.workspace / "state").mkdir()
    (tree.places.workspace / "state" / "queue.db").write_text("junk" * 999)
    report = check(tree.places, ())

    assert report.code
    assert [c.id for c in report.checks if c.status == "fail"] == [
        "listen.queue"]


def test_warnings_of_the_settings_are_told(write_settings):
    code, found = look(write_settings, "[memroy]\nbackend = 1\n" + BOT)

    assert code == 0
    assert found["config"][0] == "warn"
    assert "memroy" in found["config"][1]


def test_without_a_named_model_it_says_what_the_server_offers(
        write_settings):
    with FakeOpenAI(models=["m-1"]) as server:
        text = f'default_provider = "custom:{server.url}"\n' + BOT
        code, found = look(write_settings, text)

    assert (code, found["model"]) == (
        0, ("ok", "m-1: the first that it offers"))
    code, found = look(write_settings, text)
    assert (code, found["model"][0]) == (0, "warn")
    assert "could not reach" in found["model"][1]
