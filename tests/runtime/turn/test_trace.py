"""The record of a turn."""

from datetime import UTC, datetime

from claw.agent.rounds.events import RoundStarted, ToolFinished
from claw.core.channel import ChannelMessage
from claw.runtime.turn.trace import Trace
from claw.runtime.turn.trace_view import render_trace
from claw.storage.queue.model import Claim, InboxRow


def begun(text="hello", attempts=0):
    message = ChannelMessage("m1", "alice", "room", text, "slack", 0)
    row = InboxRow(1, message, "k", "turn-123456789abcdef", 1_000_000_000.0,
                   attempts=attempts)
    return Trace.begin(Claim((row,), 1),
                       datetime.fromtimestamp(1_000_000_001.5, UTC))


def test_a_trace_tells_who_waited_and_what_it_cost():
    trace = begun("word " * 100, attempts=2)
    trace.note_route("smith", "m9")
    trace.note_event(RoundStarted(2, "m9"))
    trace.note_event(ToolFinished("c", "probe", "out", True, 0.25))
    trace.end("answered", None, 1.25)

    data = trace.to_json()
    assert data["waited_ms"] == 1500
    assert len(data["text"]) == 123
    assert trace.lines() == [
        "Turn turn-1234567: answered",
        "Message: m1 from alice on slack, waited 1500 ms",
        "Taken up again 2 times after the process ended",
        "Model: m9 (smith), 2 calls",
        "Tool: probe  -> ok in 0.25 s",
        "Took 1,250 ms"]


def test_what_tools_print_is_kept_without_credentials():
    trace = begun()
    trace.note_event(ToolFinished(
        "c", "shell", "token=sk-proj-CANARYcanary0123456789", True, 0.1))
    assert "CANARY" not in str(trace.to_json())


def test_a_trace_of_another_version_is_shown_as_far_as_it_goes():
    assert render_trace({})[0] == "Turn ?: running"
    assert render_trace({
        "turn_id": "x", "outcome": "failed", "reason": "no net",
        "approvals": [{"tool": "shell", "decision": "no",
                       "reason": "risk"}]})[-1] \
        == "Approval: shell: no (risk)"
