"""Channels: one platform per file, by name."""

from claw.core.registry import Registry

REGISTRY = Registry("channel", "claw.channels", {
    "telegram": "claw.channels.telegram:TelegramChannel",
    "cli": "claw.channels.cli:CliChannel",
    "webhook": "claw.channels.webhook:WebhookChannel",
})
