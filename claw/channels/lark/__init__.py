"""The channels lark and feishu: one implementation, two regions.

One event walks: `socket` (a long connection of protobuf `frames`), or
`webhook` (what the gateway takes), or `history` (what was said while nobody
listened), `events` and `content` (what it says), `intake` (who may, which
files), `receive` (each once, committed), then out through `outgoing` as
`cards` draws it. `api` is the only module that speaks HTTP, `channel` holds
them together.
Source: open.larksuite.com/document and open.feishu.cn/document, read 2026-11,
and the platform's own SDK, lark-oapi 1.7.5.
"""

from claw.channels.lark.channel import FeishuChannel, LarkChannel
from claw.channels.lark.settings import LarkSettings

__all__ = ["FeishuChannel", "LarkChannel", "LarkSettings"]
