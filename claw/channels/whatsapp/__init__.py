"""WhatsApp channel: the Cloud API of Meta, webhooks in and calls out.

settings.py   the table [channels_config.whatsapp]
channel.py    WhatsappChannel; the gateway serves it
signed.py     the handshake and the signature of a webhook
wire.py       what a webhook holds, as frozen records
content.py    a message as text for the model
intake.py     who may, which files -> ChannelMessage
receive.py    a webhook's messages, statuses and changes
api.py        calls of the Graph API; errors.py what they refuse
markup.py     Markdown -> WhatsApp's markup
parts.py      SendMessage -> parts; outgoing.py makes their calls
sent.py       what statuses tell: arrived, failed, the 24-hour window
signs.py      typing and reactions
diagnose.py   `claw channel doctor whatsapp`
"""

from claw.channels.whatsapp.channel import WhatsappChannel
from claw.channels.whatsapp.settings import WhatsappSettings

__all__ = ["WhatsappChannel", "WhatsappSettings"]
