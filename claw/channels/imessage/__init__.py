"""iMessage channel: Messages on a Mac.

Reads Messages' own database, sends through `osascript`, and looks in the
database whether what was sent stands there.
Sources: the layout of chat.db and the typedstream format as iMessage
Exporter, crabstep and imsg describe them, read 2026-11.
"""

from claw.channels.imessage.channel import ImessageChannel
from claw.channels.imessage.settings import ImessageSettings

__all__ = ["ImessageChannel", "ImessageSettings"]
