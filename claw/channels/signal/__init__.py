"""Signal channel: signal-cli's HTTP daemon, JSON-RPC out and server-sent
events in.

One message walks: `listen` (the stream, its silence), `journal` (kept until
it is in the inbox), `wire` and `messages` (what an envelope says), `intake`
(who may, which files); then out through `outgoing` (parts, `send`) with
`styles` (Markdown as ranges). `api` alone speaks HTTP, `channel` holds them
together.
Source: AsamK/signal-cli, man/signal-cli-jsonrpc.5.adoc and its json and http
classes, 0.13.19 to 0.14.6.
"""

from claw.channels.signal.channel import SignalChannel
from claw.channels.signal.settings import SignalSettings

__all__ = ["SignalChannel", "SignalSettings"]
