"""What a configuration decides, in one value that a reload replaces.

A turn takes the value when it begins and keeps it to its end, so a reload
never changes a turn under way.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from claw.agent.hooks.runner import HookRunner
from claw.agent.settings import AgentSettings, QueryClassificationSettings
from claw.agent.turn import Agent
from claw.core.channel import Channel, ChannelMessage
from claw.core.errors import ConfigError
from claw.core.memory import Memory
from claw.core.provider import Provider
from claw.providers.settings import RouteSettings
from claw.runtime.message.keys import registered_name
from claw.runtime.message.voice import VoiceReplies
from claw.runtime.people.identities import People
from claw.runtime.settings import (
    ChannelOptions,
    ChannelsSettings,
    HeartbeatSettings,
    StrangersSettings,
)
from claw.security.policy import SecurityPolicy

Enrich = Callable[[ChannelMessage], Awaitable[ChannelMessage]]


async def leave_unchanged(message: ChannelMessage) -> ChannelMessage:
    """No media pipeline and no link enricher."""
    return message


class LiveChannel(msgspec.Struct, frozen=True):
    """A channel with what the runtime knows of its settings."""

    channel: Channel
    options: ChannelOptions = ChannelOptions()

    @property
    def name(self) -> str:
        return self.channel.name


class Route(msgspec.Struct, frozen=True):
    """Which provider and model ("": the first it offers) a turn asks."""

    provider: str
    model: str
    api_key: str | None = None

    @property
    def shown_model(self) -> str:
        """The model for people. It has no name while the server could not
        be asked for its models."""
        return self.model or "the first that it offers"


@dataclass(slots=True)
class Live:
    """The parts of a running service.

    `agent` is the template of every turn, `route` its provider and model.
    `open_provider` gives another one by name and key (kept open until the
    service ends). `enrich` adds transcripts, media lines and link titles.
    `secrets` are taken out of everything that is sent; `voice` speaks
    answers to voice messages; `policy` is what tools ask, where they do;
    `people` tells who is who.
    """

    settings: ChannelsSettings
    channels: Mapping[str, LiveChannel]
    agent: Agent
    route: Route
    open_provider: Callable[[str, str | None], Awaitable[Provider]]
    hooks: HookRunner
    workspace: Path
    provider_names: Sequence[str] = ()
    routes: Sequence[RouteSettings] = ()
    classification: QueryClassificationSettings = field(
        default_factory=QueryClassificationSettings)
    memory: Memory | None = None
    auto_save: bool = False
    enrich: Enrich = leave_unchanged
    timeout_scale: float | None = None
    secrets: Sequence[str] = ()
    voice: VoiceReplies | None = None
    strangers: StrangersSettings = field(default_factory=StrangersSettings)
    policy: SecurityPolicy | None = None
    heartbeat: HeartbeatSettings = field(default_factory=HeartbeatSettings)
    people: People = field(default_factory=People)

    def find(self, channel: str) -> LiveChannel | None:
        """The channel of a message, None where it is not configured."""
        return self.channels.get(channel) or self.channels.get(
            registered_name(channel))

    def channel(self, channel: str) -> LiveChannel:
        """The channel of a message. Raises ConfigError where it is no
        longer configured."""
        found = self.find(channel)
        if found is None:
            name = registered_name(channel)
            raise ConfigError(
                f"channel {channel!r} is not configured any more",
                hint=f"put [channels_config.{name}] back, or drop what waits "
                     f"with: claw queue purge --channel {name} --yes")
        return found

    def wait_s(self, channel: LiveChannel) -> float:
        """Seconds to wait for more of the same person."""
        own = channel.options.debounce_s
        return self.settings.debounce_ms / 1000 if own is None else own

    def acks(self, channel: LiveChannel) -> bool:
        own = channel.options.ack_reactions
        return self.settings.ack_reactions if own is None else own

    def budget_s(self) -> float:
        """Seconds that a turn may take, waiting for the owner apart."""
        return reckon_budget_s(self.settings, self.agent.settings,
                               self.timeout_scale)


def reckon_budget_s(channels: ChannelsSettings, agent: AgentSettings,
                    scale: float | None) -> float:
    """Seconds that a turn may take; `scale`: how many times as long one
    with tools may (pacing.message_timeout_scale_max)."""
    return channels.timeout_s * min(max(agent.iterations, 1), scale or 4.0)
