"""DingTalk channel: stream mode, session webhooks and the robot API.

One message walks: `stream` (a WebSocket of DingTalk's, each callback
acknowledged once it is committed), `messages` (what it says), `intake` (who
may, which files), then out through `outgoing`: by the conversation's session
webhook while it lives (`sessions`), else by the robot API, as `markup` draws
it. `api` is the only module that speaks HTTP, `channel` holds them together.
Source: open.dingtalk.com/document/development (robot-message-type,
the-robot-sends-a-group-message), read 2026-11.
"""

from claw.channels.dingtalk.channel import DingtalkChannel
from claw.channels.dingtalk.settings import DingtalkSettings

__all__ = ["DingtalkChannel", "DingtalkSettings"]
