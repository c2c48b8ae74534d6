"""Which settings of a channel a newcomer is asked for."""

import re

import pytest

from claw.channels import REGISTRY
from claw.config.places import locate
from claw.wiring.channels.names import CONSOLE
from claw.wiring.setup.onboard.changes import build_tree
from claw.wiring.setup.onboard.channel import (
    ALLOWED,
    has_allow_list,
    list_channels,
    list_wanted,
    read_steps,
    spare_commands,
)

NAMES = [name for name in REGISTRY.names() if name != CONSOLE]


def list_for(tmp_path, name, text=b""):
    return list_wanted(build_tree(
        locate(str(tmp_path), env={"HOME": str(tmp_path)}), text), name)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_setting_is_asked_or_who_may_write(tmp_path, name):
    wanted = list_for(tmp_path, name)

    assert ALLOWED not in [one.key for one in wanted]
    assert [one.is_first for one in wanted].count(True) == 1 \
        or (not wanted and has_allow_list(name))
    assert all(one.meaning for one in wanted)


@pytest.mark.parametrize(("name", "keys"), [
    ("telegram", ["bot_token"]),
    ("slack", ["bot_token", "app_token"]),
    ("matrix", ["homeserver", "access_token"]),
    ("dingtalk", ["client_id", "client_secret"]),
])
def test_the_keys_are_those_of_the_steps(tmp_path, name, keys):
    assert [one.key for one in list_for(tmp_path, name)] == keys


def test_what_is_set_is_what_enter_keeps_and_no_secret_shows(tmp_path):
    found = {one.key: one for one in list_for(
        tmp_path, "matrix", b'[channels_config.matrix]\n'
        b'homeserver = "https://x"\naccess_token = "syt_secret"\n')}

    assert found["homeserver"].default == "https://x"
    assert found["access_token"].is_secret
    assert found["access_token"].default == "********"


@pytest.mark.parametrize("name", NAMES)
def test_the_steps_are_the_beginning_of_the_setup_text(name):
    assert REGISTRY.load(name).setup.strip().startswith(read_steps(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_that_the_wizard_spares_are_left_out(name):
    steps = spare_commands(read_steps(name))

    assert f"config set channels_config.{name}." not in steps
    assert "```sh\n```" not in steps
    assert not re.search(r"^\s*claw listen$", steps, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_is_whole_without_its_command(name):
    parts = spare_commands(read_steps(name)).split("\n\n")

    for part, behind in zip(parts, [*parts[1:], ""], strict=True):
        is_example = part.rpartition("\n")[2].startswith(
            ("    ", "   `", "```"))
        if not is_example:
            assert part.endswith((".", "?")) or (
                part.endswith(":") and behind.startswith(" ")), part


def test_the_rest_of_the_steps_stays():
    assert spare_commands(
        "1. Take it:\n\n   `claw config set channels_config.x.key`\n"
        "2. Start `claw listen`. Wait.\n\n```sh\nclaw config set "
        "channels_config.x.url u\nclaw channel doctor x\n```"
    ) == "1. Take it.\n2. Start `claw listen`. Wait."


def test_the_console_is_no_channel_to_set_up():
    assert CONSOLE not in [one.name for one in list_channels()]
