"""Webhook channel: messages in over a signed POST, answers out the same way.

settings.py   the table [channels_config.webhook]
server.py     a small HTTP/1.1 server with bounds
incoming.py   signature and body -> ChannelMessage
outgoing.py   SendMessage -> signed request to send_url
channel.py    WebhookChannel

The two names load late: `claw config` reads the settings alone.
"""

from importlib import import_module
from typing import Any

_PLACES = {"WebhookChannel": "claw.channels.webhook.channel",
           "WebhookSettings": "claw.channels.webhook.settings"}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
