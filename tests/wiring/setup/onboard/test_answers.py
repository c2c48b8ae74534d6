"""What was answered so far, and how it is kept."""

import pytest

from claw.config.places import locate
from claw.core.errors import ConfigError, UnavailableError
from claw.wiring.setup.onboard.answers import FILE, Answers, stay_alone


@pytest.fixture
def places(tmp_path):
    return locate(str(tmp_path / "home"), env={"HOME": str(tmp_path)})


def begin(places):
    answers = Answers(places)
    assert answers.begin() is None
    return answers


def test_each_answer_is_on_disk_at_once(places):
    answers = begin(places)
    answers.remember_before({"memory.backend": '"sqlite"'})
    for name, text in [("provider", "groq"), ("memory", "words"),
                       ("set.topic", "家/茶")]:
        answers.give(name, text)
        assert begin(places).list_given()[name] == text
    answers.finish("memory")

    again = begin(places)
    assert list(again.list_given()) == ["provider", "memory", "set.topic"]
    assert again.done == ["memory"]
    assert again.before == {"memory.backend": '"sqlite"'}
    assert (places.home / FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["api_key", "set.bot_token",
                                  "set.client_secret"])
def test_secrets_lie_sealed_with_the_key_of_the_home(places, name):
    begin(places).give(name, "sk-very-secret-1")

    assert "very-secret" not in (places.home / FILE).read_text()
    assert begin(places).get(name) == "sk-very-secret-1"


@pytest.mark.parametrize(("changed", "gone"), [
    ("provider", {"key_from", "api_key", "model", "limit"}),
    ("provider_way", {"provider", "key_from", "api_key", "model", "limit"}),
    ("model", {"limit"}),
    ("channel", {"set.bot_token", "paired"}),
    ("memory", set()),
])
def test_another_answer_takes_along_what_hangs_on_it(places, changed, gone):
    answers = begin(places)
    for name in ("provider_way", "provider", "key_from", "api_key", "model",
                 "limit", "memory", "channel", "set.bot_token", "paired"):
        answers.give(name, "first")
    before = set(answers.list_given())
    answers.give(changed, "first")
    assert set(answers.list_given()) == before

    answers.give(changed, "second")
    assert before - set(answers.list_given()) == gone


def test_the_way_back_takes_what_a_person_gave(places):
    answers = begin(places)
    for name in ("provider_way", "provider", "key_from", "model_way",
                 "model"):
        answers.give(name, "x")

    assert answers.take_back() == "model"
    assert answers.get("model_way") is None
    assert answers.take_back() == "provider"
    assert answers.list_given() == {}
    assert answers.take_back() is None


def test_the_way_back_leaves_what_a_flag_says(places):
    answers = begin(places)
    answers.give("provider", "groq")
    answers.give("memory", "words")
    changed = answers.give_flags({"provider": "groq", "channel": "irc",
                                  "api_key": "k"})

    assert changed == ["channel", "api_key"]
    assert answers.take_back() == "memory"
    assert not answers.can_go_back
    assert answers.take_back() is None
    assert begin(places).list_given() == {
        "provider": "groq", "channel": "irc", "api_key": "k"}


def test_a_flag_that_says_something_else_takes_along_what_hangs_on_it(
        places):
    answers = begin(places)
    for name in ("provider", "model", "memory"):
        answers.give(name, "old")
    answers.give_flags({"provider": "new", "api_key": "k"})

    assert answers.list_given() == {"provider": "new", "api_key": "k",
                                    "memory": "old"}


@pytest.mark.parametrize("damage", [
    b"", b"\0\xff", b"[]", b"{}", b'{"answers": 1}', b'"' * 2_000_000,
    b'{"answers": {"api_key": "enc2:00"}, "done": [], "before": {}}',
    b'{"answers": {"a": "b"}, "done": 5, "before": {}}',
    b"[" * 100_000,
])
def test_a_damaged_file_is_told_and_asked_anew(places, damage):
    places.home.mkdir()
    (places.home / FILE).write_bytes(damage)
    answers = Answers(places)

    assert "asked anew" in answers.begin()
    assert not answers
    answers.give("memory", "words")
    assert begin(places).get("memory") == "words"


def test_nothing_is_left_when_all_is_done(places):
    answers = begin(places)
    answers.give("memory", "words")
    answers.remove()

    assert not (places.home / FILE).exists()


def test_a_dry_run_writes_nothing(places):
    answers = Answers(places, keeps=False)
    answers.give("api_key", "sk-very-secret-1")

    assert answers.get("api_key") == "sk-very-secret-1"
    assert not places.home.exists()


def test_no_second_key_is_made_where_one_is_lost(places):
    places.home.mkdir()
    places.config_file.write_text('api_key = "enc2:00"\n')

    with pytest.raises(ConfigError, match="missing"):
        begin(places).give("api_key", "sk-secret-1")
    assert not places.key_file.exists()


def test_a_second_wizard_waits_for_nobody(places):
    with stay_alone(places), \
            pytest.raises(UnavailableError, match="another claw onboard"), \
            stay_alone(places):
        pass
    with stay_alone(places):
        pass
