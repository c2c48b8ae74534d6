"""The table of config.toml."""

import subprocess
import sys

import msgspec
import pytest

from claw.channels.telegram import TelegramChannel, TelegramSettings
from claw.config.describe import meanings


def test_the_reference_s_table_loads():
    found = msgspec.convert({
        "bot_token": "1:a", "allowed_users": ["my_user_id", 42],
        "stream_mode": "off", "draft_update_interval_ms": 500,
        "interrupt_on_new_message": True, "mention_only": True,
        "ack_reactions": True, "proxy_url": "socks5://127.0.0.1:9"},
        TelegramSettings)
    assert found.allowed_users == ("my_user_id", 42)
    assert TelegramChannel.Settings is TelegramSettings


@pytest.mark.parametrize("wrong", [
    {"stream_mode": "full"}, {"poll_timeout_secs": 0},
    {"poll_timeout_secs": 601}, {"debounce_ms": -1}, {"bot_token": 5},
    {"draft_update_interval_ms": -1}, {"allowed_users": "me"}])
def test_a_wrong_value_is_refused(wrong):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, TelegramSettings)


def test_every_key_is_explained():
    told = meanings(TelegramSettings)

    assert set(told) == set(TelegramSettings.__struct_fields__)
    assert told["allowed_users"].endswith("nobody else may approve")


def test_the_settings_cost_no_http_client():
    code = ("import sys; from claw.channels.telegram import TelegramSettings"
            "; assert not {'httpx', 'asyncio'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("words", [
    "bold", "emoji", "[IMAGE:", "[DOCUMENT:", "[VIDEO:", "[AUDIO:",
    "[VOICE:", "outside of code"])
def test_its_guidance_says_how_to_write_there(words):
    assert words in TelegramChannel.guidance


def test_history_keeps_its_answers_without_the_tools():
    assert not TelegramChannel.keeps_tool_names
