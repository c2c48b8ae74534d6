"""IRC channel: one connection to one server, with TLS, SASL and IRCv3.

A line walks: `wire` (sockets, flood control), `session` (registration and
what a server says), `people` (who somebody is), `intake` (a message for us),
then out through `outgoing` (lines) and `session.exchange`, which waits until
the server has taken them. `history` catches up where a server keeps it.
Source: RFC 2812, modern.ircdocs.horse, ircv3.net/specs, read 2026-11.
"""

from claw.channels.irc.channel import IrcChannel
from claw.channels.irc.settings import IrcSettings

__all__ = ["IrcChannel", "IrcSettings"]
