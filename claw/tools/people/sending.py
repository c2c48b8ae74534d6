"""What tools share that send something to somebody."""

import uuid

from claw.core.errors import DeniedError
from claw.core.turn import current_call, current_turn

MOST_SENT = 10  # in one turn, with the turns within it


def count_sent(tool: str) -> None:
    """One more message of this turn. Raises DeniedError where there were
    too many: a model that goes in circles must not fill a phone."""
    turn = current_turn.get()
    if turn is None:
        return
    if len(turn.sent) >= MOST_SENT:
        raise DeniedError(
            f"this turn has sent {MOST_SENT} messages, and sends no more; "
            "say what is left in the answer, or go on in the next turn")
    turn.sent.append(tool)


def build_key() -> str:
    """What the outbox knows this call by, also when a killed turn is taken
    up."""
    turn = current_turn.get()
    return (f"tool:{turn.turn_id if turn else uuid.uuid4().hex}:"
            f"{current_call.get() or uuid.uuid4().hex}")
