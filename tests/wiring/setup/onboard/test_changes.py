"""config.toml as the wizard changes it."""

import pytest

from claw.config.places import locate
from claw.core.errors import ConfigError, UsageError
from claw.wiring.setup.onboard.changes import (
    ConfigWriter,
    build_tree,
    compare,
    edit_text,
    read_value,
)

OLD = b"""\
# mine
default_model = "a"   # this one

[memory]
backend = "none"
"""


@pytest.fixture
def places(tmp_path):
    return locate(str(tmp_path / "home"), env={"HOME": str(tmp_path)})


def test_what_it_does_not_ask_about_stays_as_it_is(places):
    text = edit_text(places, OLD, {
        ("default_model",): "b", ("memory", "backend"): None,
        ("cost", "daily_limit_usd"): 2.5})

    assert text.startswith(b'# mine\ndefault_model = "b"   # this one\n')
    assert build_tree(places, text).raw == {
        "default_model": "b", "cost": {"daily_limit_usd": 2.5}}


def test_what_stands_there_already_is_no_change(places):
    assert edit_text(places, OLD, {("default_model",): "a"}) == OLD
    assert edit_text(places, None, {("memory", "x"): None}) == b""


def test_a_value_that_its_plug_in_refuses_changes_nothing(places):
    writer = ConfigWriter(places)
    with pytest.raises(ConfigError):
        writer.write({("autonomy", "level"): "godlike"})

    assert not places.config_file.exists()


def test_a_key_is_stored_sealed_and_read_back(places):
    path = ("model_providers", "groq", "api_key")
    writer = ConfigWriter(places)
    writer.write({path: "gsk-secret-1"})

    assert b"gsk-secret" not in places.config_file.read_bytes()
    assert writer.read().get(path) == "gsk-secret-1"
    before = places.config_file.read_bytes()
    writer.write({path: "gsk-secret-1"})
    assert places.config_file.read_bytes() == before


def test_a_dry_run_adds_up_and_writes_nothing(places):
    writer = ConfigWriter(places, dry_run=True)
    writer.write({("default_provider",): "groq"})
    writer.write({("default_model",): "m"})

    assert writer.flatten() == {"default_provider": '"groq"',
                                "default_model": '"m"'}
    assert not places.home.exists()


@pytest.mark.parametrize(("key", "text", "expected"), [
    ("bot_token", "1234", "1234"),          # a secret of digits is text
    ("allowed_users", "[1001]", [1001]),
    ("mention_only", "true", True),
    ("api_base_url", "http://x", "http://x"),
])
def test_a_text_is_read_as_the_setting_takes_it(places, key, text, expected):
    tree = build_tree(places, b"")

    assert read_value(tree, ("channels_config", "telegram", key),
                      text) == expected


@pytest.mark.parametrize("key", ["bot_tokn", "mention_only"])
def test_what_a_setting_can_not_be_is_told(places, key):
    with pytest.raises(UsageError, match=key):
        read_value(build_tree(places, b""),
                   ("channels_config", "telegram", key), "maybe")


def test_the_difference_names_both_sides():
    assert compare({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == [
        "- a = 1", "- b = 2", "+ b = 3", "+ c = 4"]
