"""Telegram channel: long polling over the Bot API.

One message walks: `poll` (getUpdates, commit, offset) with `updates` and
`content` (what an update says), `intake` (who may, which files), then out
through `outgoing` (parts, sendMessage, editMessageText). `api` is the only
module that speaks HTTP, `gate` keeps its rate limits, `channel` holds them
together.
Source: core.telegram.org/bots/api, version 10.1.
"""

from claw.channels.telegram.channel import TelegramChannel
from claw.channels.telegram.settings import TelegramSettings

__all__ = ["TelegramChannel", "TelegramSettings"]
