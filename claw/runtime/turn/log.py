"""A turn of a channel as the log keeps it.

Pure. What is kept as the answer is what the person got.
"""

from claw.agent.history import encode
from claw.core.labels import sort_labels
from claw.runtime.turn.outcomes import Finished
from claw.runtime.turn.state import TurnState
from claw.storage.log.entry import End, Outcome, Start, write_error

_OUTCOMES: dict[str, Outcome] = {
    "answered": "answered", "cancelled": "interrupted"}


def build_start(state: TurnState, model: str) -> Start:
    """The question."""
    message = state.message
    return Start(
        state.claim.turn_id, f"{message.channel}:{message.reply_target}",
        message.content, session=state.key, sender=message.sender,
        provider=state.trace.data["provider"], model=model,
        is_first=state.is_first)


def build_end(state: TurnState, finished: Finished,
              cost: float | None) -> End:
    """What came of it."""
    completion, trace = finished.completion, state.trace.data
    rounds = [encode(message) for message in state.said[1:]]
    if rounds and rounds[-1]["type"] == "Chat":
        rounds.pop()  # the answer, before it was cleaned
    usage = trace.get("usage") or {}
    return End(
        _OUTCOMES.get(completion.outcome, "failed"),
        "\n\n".join(send.message.content for send in completion.sends)
        or None, rounds=tuple(rounds), labels=sort_labels(state.labels),
        provider=trace.get("provider"), model=trace.get("model"),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"), cost=cost,
        duration_ms=trace.get("duration_ms"), error=write_error(
            completion.reason, state.trace.refused))
