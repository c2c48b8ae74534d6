"""Discord channel: gateway v10 in, REST v10 out.

One message walks: `gateway` (one connection: zlib-stream, heartbeats, resume)
and `listener` (the events in order, commits, what was missed) with `messages`
(what a payload says), `intake` (who may, which files), `interactions`
(buttons, slash commands); then out through `parts` and `outgoing` (multipart,
nonces). `api` is the only module that calls REST, `limits` keeps its
buckets, `channel` holds them together.
Source: docs.discord.com/developers, API v10, read 2026-11.
"""

from claw.channels.discord.channel import DiscordChannel
from claw.channels.discord.settings import DiscordSettings

__all__ = ["DiscordChannel", "DiscordSettings"]
