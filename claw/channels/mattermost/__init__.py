"""Mattermost channel: WebSocket first, REST v4 behind it.

One message walks: `live` (frames, resume) or `history` (what was missed,
polling), driven by `listen`, with `posts` (what a post says) and `intake`
(who may, which files); then out through `outgoing` (parts, POST /posts).
`api` alone speaks HTTP, `channel` holds them together.
Source: api/v4/source of mattermost/mattermost, and its server, 11.x.
"""

from claw.channels.mattermost.channel import MattermostChannel
from claw.channels.mattermost.settings import MattermostSettings

__all__ = ["MattermostChannel", "MattermostSettings"]
