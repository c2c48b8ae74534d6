"""A message as the parts that the outbox keeps a state for."""

from claw.core.abilities import MakesPolls
from claw.core.channel import Channel, Part, SendMessage, SendsParts

# A draft that goes once its answer has been sent; data: its id.
END_DRAFT = "end_draft"

# Mark of a part that is its message itself, of no channel's making.
_WHOLE = "whole"


def split_parts(channel: Channel | None, message: SendMessage
             ) -> tuple[Part, ...]:
    """The channel's own division (none for a message without content);
    one whole part where it has none. A poll is one part of the channel's
    own, or the words of its content."""
    if message.poll and isinstance(channel, MakesPolls) \
            and (poll := channel.poll_part(message)) is not None:
        return (poll,)
    if isinstance(channel, SendsParts):
        return tuple(channel.parts(message))
    return (Part("text", message.content, {_WHOLE: True}),)


def is_whole(part: Part) -> bool:
    """Whether this goes out by `send`, as the message it is."""
    return bool(part.data.get(_WHOLE))
