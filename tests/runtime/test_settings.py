"""Settings of the runtime."""

import msgspec
import pytest

from claw.runtime.live import LiveChannel
from claw.runtime.settings import ChannelOptions, ChannelsSettings
from claw.testing.memory_channel import MemoryChannel


class Own(msgspec.Struct, frozen=True, kw_only=True):
    interrupt_on_new_message: bool = False
    ack_reactions: bool | None = None
    debounce_ms: int | None = None


@pytest.mark.parametrize(("own", "options"), [
    (None, ChannelOptions()),
    (Own(), ChannelOptions()),
    (Own(interrupt_on_new_message=True), ChannelOptions(interrupt=True)),
    (Own(ack_reactions=False), ChannelOptions(ack_reactions=False)),
    (Own(debounce_ms=1500), ChannelOptions(debounce_s=1.5)),
    (Own(debounce_ms=0), ChannelOptions()),
])
def test_a_rooms_options_come_from_its_own_settings(own, options):
    assert ChannelOptions.of(own) == options


@pytest.mark.parametrize(("everyone", "own", "wait"), [
    (0, None, 0), (800, None, 0.8), (800, 0.2, 0.2)])
def test_a_channels_own_debounce_goes_before_that_of_all(stage, everyone,
                                                         own, wait):
    live = stage(settings=ChannelsSettings(debounce_ms=everyone)).live
    room = LiveChannel(MemoryChannel(), ChannelOptions(debounce_s=own))
    assert live.wait_s(room) == wait


def test_the_defaults_are_those_of_the_seeds():
    settings = ChannelsSettings()
    assert (settings.timeout_s, settings.ack_reactions,
            settings.show_tool_calls, settings.session_persistence,
            settings.debounce_ms) == (300, True, False, True, 0)
