"""Channels: one folder a platform, one row each."""

from collections.abc import Sequence

from claw.config.known import add_plugins
from claw.core.errors import ClawError
from claw.core.registry import Registry

REGISTRY = Registry("channel", "claw.channels", {
    "telegram": "claw.channels.telegram.channel:TelegramChannel",
    "cli": "claw.channels.cli.channel:CliChannel",
    "mqtt": "claw.channels.mqtt.channel:MqttChannel",
    "webhook": "claw.channels.webhook.channel:WebhookChannel",
})


def settings_keys(name: str) -> Sequence[str] | None:
    """The keys of a channel's table; None where there is no such channel,
    or a library of it is missing."""
    try:
        struct = REGISTRY.load(name).Settings
    except ClawError:
        return None
    return () if struct is None else struct.__struct_encode_fields__


add_plugins("channels_config", REGISTRY.names, settings_keys)
