"""The record of a turn: what `claw why` and `/why` tell.

Filled while the turn runs and committed with it. It holds sizes, names,
scores and decisions, and of texts only short beginnings.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from claw.agent.memory.recall import Recalled
from claw.agent.rounds.events import Event, Guarded, RoundStarted, ToolFinished
from claw.agent.rounds.outcome import TurnResult
from claw.agent.turn import Agent
from claw.core.provider import ChatMessage
from claw.core.refusal import Refusal
from claw.runtime.turn.trace_view import render_trace
from claw.security.approval import summary
from claw.security.redact.redaction import scrub
from claw.storage.queue.model import Claim

TEXT_CHARS = 120


@dataclass(slots=True)
class Trace:
    """One turn, step by step."""

    data: dict[str, Any] = field(default_factory=dict)
    approvals: list[dict[str, str]] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @classmethod
    def begin(cls, claim: Claim, now: datetime) -> "Trace":
        last = claim.rows[-1].message
        received = claim.rows[0].received_at
        return cls({
            "turn_id": claim.turn_id,
            "messages": [row.message.id for row in claim.rows],
            "channel": last.channel, "sender": last.sender,
            "sender_name": last.sender_name or None,
            "reply_target": last.reply_target,
            "text": _short(last.content),
            "received_at": datetime.fromtimestamp(
                received, UTC).isoformat(timespec="milliseconds"),
            "waited_ms": max(0, round((now.timestamp() - received) * 1000)),
            "attempts": claim.rows[0].attempts,
            "provider": None, "model": None, "recalled": [], "prompt": {},
            "model_calls": 0, "tool_calls": [], "guard": [],
            "usage": {},
        })

    def note_route(self, provider: str, model: str) -> None:
        self.data.update(provider=provider, model=model)

    def note_recalled(self, found: Recalled) -> None:
        self.data["recalled"] = [
            {"key": e.key, "score": e.score, "text": _short(e.content)}
            for e in found.entries]

    def note_prompt(self, system: str, prior: Sequence[ChatMessage], text: str,
               recalled: Recalled, agent: Agent) -> None:
        """Sizes in characters."""
        self.data["prompt"] = {
            "system": len(system) - len(recalled.block),
            "memory": len(recalled.block),
            "history": sum(len(turn.content) for turn in prior),
            "history_turns": len(prior), "message": len(text),
            "tools": len(agent.tools)}

    def note_event(self, event: Event) -> None:
        if isinstance(event, RoundStarted):
            self.data["model_calls"] = event.number
            self.data["model"] = event.model
        elif isinstance(event, Guarded):
            self.data["guard"].append({
                "source": event.source, "categories": event.categories,
                "score": event.score, "blocked": event.blocked})
        elif isinstance(event, ToolFinished):
            self.data["tool_calls"].append({
                "name": event.name, "ok": event.success,
                "seconds": round(event.seconds, 3),
                "output": _short(scrub(event.output))})

    def note_result(self, result: TurnResult) -> None:
        """Arguments and usage, known at the end."""
        self.data["model"] = result.model
        self.data["usage"] = {
            "input_tokens": result.usage.input_tokens,
            "output_tokens": result.usage.output_tokens}
        self.data["tool_calls"] = [
            {"name": call.name, "arguments": _short(
                scrub(summary(call.arguments))), "ok": call.success,
             "seconds": round(call.seconds, 3),
             "output": _short(scrub(call.output))}
            for call in result.tool_calls]

    def end(self, outcome: str, reason: str | None,
            seconds: float) -> None:
        self.data.update(outcome=outcome, reason=reason,
                         duration_ms=round(seconds * 1000))

    def to_json(self) -> dict[str, Any]:
        return {**self.data, "approvals": list(self.approvals),
                "refused": [{**one.to_json(), "remark": one.remark}
                            for one in self.refused]}

    def lines(self) -> list[str]:
        return render_trace(self.to_json())


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= TEXT_CHARS else text[:TEXT_CHARS] + "..."
