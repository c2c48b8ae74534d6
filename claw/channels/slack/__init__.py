"""Slack channel: Socket Mode, and polling where there is no app token.

One event walks: `socket` (envelopes, acknowledged once they are committed)
or `history` (what was said while nobody listened; polling), `reading` and
`events` (what it says), `intake` (who may, which files), then out through
`outgoing` (chat.postMessage, uploads) as `blocks` draws it. `api` is the
only module that speaks HTTP, `channel` holds them together.
Source: docs.slack.dev, read 2026-11.
"""

from claw.channels.slack.channel import SlackChannel
from claw.channels.slack.settings import SlackSettings

__all__ = ["SlackChannel", "SlackSettings"]
