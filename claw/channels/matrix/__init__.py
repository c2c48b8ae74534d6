"""Matrix channel: the client-server API, with /sync as a long poll.

One message walks: `sync` (ask, fill gaps, commit, token) with `events` (what
an event says) and `history` (a room's past), `intake` (who may, which
files), then out through `parts` and `outgoing` (PUT under a key). `api` is
the only module that speaks HTTP, `rooms` knows rooms and people, `channel`
holds them together.
Source: spec.matrix.org, client-server API 1.16.
"""

from claw.channels.matrix.channel import MatrixChannel
from claw.channels.matrix.settings import MatrixSettings

__all__ = ["MatrixChannel", "MatrixSettings"]
