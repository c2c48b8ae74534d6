"""Channels: one folder a platform, one row each."""

from collections.abc import Sequence

from claw.channels.owned import Channels
from claw.config.known import add_plugins
from claw.core.errors import ClawError

REGISTRY = Channels("channel", "claw.channels", {
    "telegram": "claw.channels.telegram.channel:TelegramChannel",
    "discord": "claw.channels.discord.channel:DiscordChannel",
    "slack": "claw.channels.slack.channel:SlackChannel",
    "mattermost": "claw.channels.mattermost.channel:MattermostChannel",
    "matrix": "claw.channels.matrix.channel:MatrixChannel",
    "irc": "claw.channels.irc.channel:IrcChannel",
    "email": "claw.channels.email.channel:EmailChannel",
    "mqtt": "claw.channels.mqtt.channel:MqttChannel",
    "lark": "claw.channels.lark.channel:LarkChannel",
    "feishu": "claw.channels.lark.channel:FeishuChannel",
    "whatsapp": "claw.channels.whatsapp.channel:WhatsappChannel",
    "imessage": "claw.channels.imessage.channel:ImessageChannel",
    "webhook": "claw.channels.webhook.channel:WebhookChannel",
    "signal": "claw.channels.signal.channel:SignalChannel",
    "dingtalk": "claw.channels.dingtalk.channel:DingtalkChannel",
    "qq": "claw.channels.qq.channel:QqChannel",
    "line": "claw.channels.line.channel:LineChannel",
    "cli": "claw.channels.cli.channel:CliChannel",
})


def settings_keys(name: str) -> Sequence[str] | None:
    """The keys of a channel's table; None where there is no such channel,
    or a library of it is missing. A file of the owner's that can't be run
    may have any."""
    try:
        struct = REGISTRY.load(name).Settings
    except ClawError:
        return ("*",) if name in REGISTRY.owned_names() else None
    return () if struct is None else struct.__struct_encode_fields__


add_plugins("channels_config", REGISTRY.names, settings_keys)
