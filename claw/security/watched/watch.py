"""Around every command: what was there before, and what is to be said and
asked after it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from claw.core.refusal import Refusal
from claw.core.threads import make_on_thread
from claw.core.tool import ToolResult
from claw.core.turn import ApprovalRequest, ReachesOwner, current_turn
from claw.core.value import replace
from claw.security.policy import SecurityPolicy
from claw.security.watched import record
from claw.security.watched.diff import SHOWN_CHARS, hash_change, render_change
from claw.security.watched.git import TOO_MANY
from claw.security.watched.record import Held

_REASON = "a command changed it; every later conversation would read it"
_NEXT = "see: claw security review"


class Watch:
    """What the watch over one command has to say."""

    def __init__(self, run: record.Run) -> None:
        self.read_only = run.read_only
        self.notes = list(run.notes)

    def add_notes(self, result: ToolResult) -> ToolResult:
        """The result, with what the model should know under it."""
        said = "".join(f"\n[claw: {note}]" for note in self.notes)
        return replace(result, output=result.output + said)


@asynccontextmanager
async def watch(policy: SecurityPolicy, *, hold: bool = True
                ) -> AsyncIterator[Watch]:
    """While this is open a command may run. What it did to the watched
    files waits for the owner, who is asked at the end where he can be;
    what git would run is undone. Raises StorageError."""
    run = await make_on_thread(
        partial(record.begin, policy.workspace, policy.paths.roots),
        partial(record.end, hold=hold))
    seen = Watch(run)
    try:
        yield seen
    finally:
        # A turn that is stopped meanwhile leaves the thread to its work.
        seen.notes += await asyncio.to_thread(record.end, run, hold=hold)
    if TOO_MANY in policy.asked:
        seen.notes = [note for note in seen.notes if note != TOO_MANY]
    policy.asked.update({TOO_MANY} & {*seen.notes})
    for note in seen.notes:
        policy.notify(note)
    seen.notes += await ask_owner(policy)


async def ask_owner(policy: SecurityPolicy) -> list[str]:
    """Put what waits to the owner, each change once; what came of it."""
    waiting = await asyncio.to_thread(record.list_held, policy.workspace)
    new = [held for held in waiting if hash_change(held) not in policy.asked]
    policy.asked.update(map(hash_change, new))
    return [await _ask(policy, held) for held in new]


async def _ask(policy: SecurityPolicy, held: Held) -> str:
    name, approver = held.name, policy.approver
    head, *lines = render_change(held)
    waits = f"{head}; it waits for the owner's yes and does not count"
    turn = current_turn.get()
    if policy.is_left_to_owner(name) \
            or not isinstance(approver, ReachesOwner) \
            or not approver.can_ask() or sum(map(len, lines)) > SHOWN_CHARS:
        return _leave(policy, held, f"{waits} ({_NEXT})", expired=False)
    decision = await approver.approve(ApprovalRequest(
        name, head, hash_change(held), _REASON, may_remember=False,
        details=tuple(lines)))
    if turn is not None and hash_change(held) in turn.unanswered:
        return _leave(policy, held, f"{waits} ({_NEXT})", expired=True)
    if decision == "no":
        settled = await asyncio.to_thread(
            record.refuse, policy.workspace, name, held.now)
        done = "the owner refused it and it is as it was before"
    else:
        settled = await asyncio.to_thread(
            record.accept, policy.workspace, name, held.now)
        done = "the owner allowed it"
    return f"{head}: {done}" if settled else (
        f"{name} changed again meanwhile and waits ({_NEXT})")


def _leave(policy: SecurityPolicy, held: Held, note: str, *, expired: bool
           ) -> str:
    """A change that nobody could say yes to waits on."""
    policy.notify(note)
    turn = current_turn.get()
    if turn is not None:
        turn.note_refusal(Refusal(held.name, "change of the file", _REASON,
                                  expired, "claw security review"))
    return note


def recover(policy: SecurityPolicy) -> list[str]:
    """What is to be said at a start: a command whose process was killed,
    and what still waits. Raises StorageError."""
    workspace: Path = policy.workspace
    notes = record.recover(workspace, policy.paths.roots)
    waiting: Sequence[Held] = record.list_held(workspace)
    if waiting:
        names = ", ".join(held.name for held in waiting)
        notes.append(f"changed by a command and not read until you say yes: "
                     f"{names} ({_NEXT})")
    return notes
