"""QQ channel: the official bot API, over its gateway or over webhooks.

One event walks: `listener` (the WebSocket, its sessions) or `signature` (a
signed POST), then `events` (what kind it is, commits), `wire` and `intake`
(what it says, who may, which files); an answer goes out through `parts` and
`outgoing`. `chats` knows which messages may still be answered, `api` is the
only module that calls REST, `channel` holds them together.
Source: bot.q.qq.com/wiki, API v2; its repository tencent-connect/bot-docs of
2025-04; error codes as seen in public logs of 2026.
"""

from claw.channels.qq.channel import QqChannel
from claw.channels.qq.settings import QqSettings

__all__ = ["QqChannel", "QqSettings"]
