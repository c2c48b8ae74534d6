"""Webhook channel: messages in over a signed POST, answers out the same way.

settings.py   the table [channels_config.webhook]
channel.py    WebhookChannel; the gateway serves it
incoming.py   signature and body -> ChannelMessage
outgoing.py   SendMessage -> signed request to send_url
"""

from claw.channels.webhook.channel import WebhookChannel
from claw.channels.webhook.settings import WebhookSettings

__all__ = ["WebhookChannel", "WebhookSettings"]
