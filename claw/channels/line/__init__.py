"""LINE channel: the Messaging API, webhooks in and calls out.

settings.py   the table [channels_config.line]
channel.py    LineChannel; the gateway serves it
signed.py     the signature of a webhook
wire.py       what a webhook holds, as frozen records
content.py    a message as text for the model
intake.py     who may, which files -> ChannelMessage
receive.py    the events of a webhook
api.py        calls of the Messaging API, and what they refuse
replies.py    which answer goes by which reply token
parts.py      SendMessage -> parts; outgoing.py makes their calls
diagnose.py   `claw channel doctor line`
"""

from claw.channels.line.channel import LineChannel
from claw.channels.line.settings import LineSettings

__all__ = ["LineChannel", "LineSettings"]
