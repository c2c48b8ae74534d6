"""The record of a turn as lines for people; imports next to nothing, since
`claw why` is a local command."""

from collections.abc import Mapping
from typing import Any


def render_trace(data: Mapping[str, Any]) -> list[str]:
    """A trace as lines for people."""
    name = data.get("sender_name")
    sender = (f"{name} ({data.get('sender')})" if name
              else data.get("sender"))
    lines = [f"Turn {data.get('turn_id', '?')[:12]}: "
             f"{data.get('outcome') or 'running'}"
             + (f" ({data['reason']})" if data.get("reason") else ""),
             f"Message: {', '.join(data.get('messages', []))} from "
             f"{sender} on {data.get('channel')}, waited "
             f"{data.get('waited_ms', 0)} ms"]
    if data.get("attempts"):
        lines.append(f"Taken up again {data['attempts']} times after the "
                     "process ended")
    if data.get("model"):
        lines.append(f"Model: {data['model']} ({data.get('provider')}), "
                     f"{data.get('model_calls', 0)} calls"
                     f"{_render_tokens(data)}")
    if data.get("prompt"):
        sizes = ", ".join(f"{name.replace('_', ' ')} {size:,}"
                          for name, size in data["prompt"].items())
        lines.append(f"Prompt (characters): {sizes}")
    lines += [f"Recalled: {m['key']} {_render_score(m['score'])}: {m['text']}"
              for m in data.get("recalled", [])]
    lines += [f"Tool: {c['name']} {c.get('arguments', '')} -> "
              f"{'ok' if c['ok'] else 'failed'} in {c['seconds']} s"
              for c in data.get("tool_calls", [])]
    lines += [f"Prompt guard: {g['source']}: {g['categories']} -> "
              f"{'left out' if g['blocked'] else 'shown under a warning'}"
              for g in data.get("guard", [])]
    lines += [f"Approval: {a['tool']}: {a['decision']} ({a['reason']})"
              for a in data.get("approvals", [])]
    lines += [one["remark"] for one in data.get("refused", [])]
    if data.get("duration_ms") is not None:
        lines.append(f"Took {data['duration_ms']:,} ms")
    return lines


def _render_tokens(data: Mapping[str, Any]) -> str:
    usage = data.get("usage") or {}
    counts = [f"{usage[name]:,} {label}" for name, label in (
        ("input_tokens", "tokens in"), ("output_tokens", "out"))
        if usage.get(name)]
    return ", " + ", ".join(counts) if counts else ""


def _render_score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"
