"""Lists of models, remembered for a while."""

import json

import pytest

from claw.providers.catalog.models import ModelList, load_models, save_models
from claw.runtime.people.commands import cached_models

NOW = 1_800_000_000.0
HOUR = 3600.0


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "models_cache.json"


@pytest.mark.parametrize(("age", "fresh"), [
    (0, True), (11 * HOUR, True), (13 * HOUR, False), (-HOUR, True),
    (-48 * HOUR, False)])
def test_a_list_is_fresh_for_half_a_day(path, age, fresh):
    save_models(path, "groq", ["a", "b"], NOW)

    assert load_models(path, "groq", now=NOW + age) == (
        ModelList(("a", "b"), NOW) if fresh else None)


def test_an_older_list_can_be_asked_for(path):
    save_models(path, "groq", ["a"], NOW)

    assert load_models(path, "groq", float("inf"), NOW + 1e6).models == ("a",)
    assert load_models(path, "xai", float("inf"), NOW) is None


def test_the_last_list_of_a_provider_counts(path):
    save_models(path, "groq", ["old"], NOW)
    save_models(path, "xai", ["x"], NOW)
    save_models(path, "groq", ["new"], NOW + 1)

    assert load_models(path, "groq", now=NOW).models == ("new",)
    assert load_models(path, "xai", now=NOW).models == ("x",)
    assert len(json.loads(path.read_text())["entries"]) == 2


def test_a_list_from_another_address_does_not_count(path):
    save_models(path, "openai", ["a"], NOW, address="http://one/v1?key=secret")

    assert load_models(path, "openai", now=NOW, address="http://one/v1/")
    assert load_models(path, "openai", now=NOW,
                       address="http://two/v1") is None
    assert "secret" not in path.read_text()


def test_the_chat_command_reads_it(path):
    save_models(path, "groq", ["a", "b"], NOW)

    assert cached_models(path.parent.parent, "groq") == ["a", "b"]


def test_an_empty_list_is_not_kept(path):
    save_models(path, "groq", [], NOW)

    assert not path.exists()


@pytest.mark.parametrize("damage", [
    b"", b"{", b"[]", b'{"entries": {}}', b"\xff", b"[" * 100_000,
    b'{"entries": [1, {"provider": "groq"}, {"provider": "groq", '
    b'"models": [1], "fetched_at": 1}, {"provider": "groq", "models": [], '
    b'"fetched_at": true}, {"provider": "groq", "models": ["x"], '
    b'"fetched_at": NaN}]}',
])
def test_a_damaged_file_is_as_good_as_absent(path, damage):
    path.parent.mkdir()
    path.write_bytes(damage)
    assert load_models(path, "groq", float("inf"), NOW) is None
    save_models(path, "groq", ["a"], NOW)

    assert load_models(path, "groq", now=NOW).models == ("a",)


def test_looking_creates_nothing(tmp_path, path):
    assert load_models(path, "groq") is None
    assert list(tmp_path.iterdir()) == []


def test_where_it_cannot_be_written_nothing_happens(tmp_path):
    (tmp_path / "state").write_text("no folder")
    save_models(tmp_path / "state" / "m.json", "groq", ["a"], NOW)

    assert (tmp_path / "state").read_text() == "no folder"
