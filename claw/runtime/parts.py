"""A message as the parts that the outbox keeps a state for."""

from claw.core.channel import Channel, Part, SendMessage, SendsParts

WHOLE = "whole"


def parts_of(channel: Channel | None, message: SendMessage
             ) -> tuple[Part, ...]:
    """The channel's own division; one whole part where it has none."""
    if isinstance(channel, SendsParts):
        parts = tuple(channel.parts(message))
        if parts:
            return parts
    return (Part(WHOLE, message.content),)
