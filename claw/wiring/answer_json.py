"""The answer of a turn as JSON, in the shape of `claw ask --json`."""

from typing import Any

from claw.agent.outcome import TurnResult
from claw.providers.choice import Choice


def answer_json(result: TurnResult, choice: Choice, session: str | None,
                seconds: float, cost_usd: float | None) -> dict[str, Any]:
    """{"id", "provider", "model", "text", "usage", "cost", ...}. The
    provider is the one that answered."""
    usage = result.usage
    return {
        "id": result.turn_id,
        "provider": result.provider or choice.shown,
        "model": result.model,
        "text": result.text,
        "usage": {"input_tokens": usage.input_tokens,
                  "output_tokens": usage.output_tokens,
                  "cached_input_tokens": usage.cached_input_tokens},
        "cost": cost_usd,
        "duration_ms": round(seconds * 1000),
        "session": session,
        "tool_calls": [
            {"name": call.name, "arguments": dict(call.arguments),
             "success": call.success} for call in result.tool_calls],
        "recalled": [entry.to_json() for entry in result.recalled],
    }
