"""Telegram channel: long polling over the Bot API.

One message walks: `poll` (getUpdates, commit, offset) with `updates` and
`content` (what an update says), `intake` (who may, which files), then out
through `outgoing` (parts, sendMessage, editMessageText). `api` is the only
module that speaks HTTP, `gate` keeps its rate limits.
Source: core.telegram.org/bots/api, version 10.1.
"""

from importlib import import_module
from typing import Any

__all__ = ["TelegramChannel", "TelegramSettings"]

_PLACES = {"TelegramChannel": "claw.channels.telegram.channel",
           "TelegramSettings": "claw.channels.telegram.settings"}


def __getattr__(name: str) -> Any:
    """The class, loaded when asked for: the settings cost no HTTP client."""
    if name not in _PLACES:
        raise AttributeError(name)
    return getattr(import_module(_PLACES[name]), name)
