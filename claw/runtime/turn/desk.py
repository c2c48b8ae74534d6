"""What all turns of the service share, and what one under way is."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from claw.agent.turn import local_now
from claw.core.channel import ChannelMessage
from claw.core.ledger import Total
from claw.core.log import Log
from claw.runtime.hooks import Sessions
from claw.runtime.live import Live
from claw.runtime.people.approvals import ChannelApprover
from claw.runtime.people.commands import Choices
from claw.runtime.turn.histories import Histories
from claw.runtime.turn.strangers import StrangerLimits
from claw.runtime.turn.trace import Trace
from claw.security.estop import EmergencyStop
from claw.storage.log.entry import End, Start
from claw.storage.queue.model import Claim, Lease, Queue, Record

if TYPE_CHECKING:
    from claw.runtime.turn.outcomes import Finished

SETTLE_S = 2.0

# What a conversation's calls were on this day and in this month; None where
# that can't be looked up.
Spent: TypeAlias = Callable[[str], tuple[Total, Total] | None]


def leave_nothing(turn_id: str, finished: "Finished") -> None:
    """No memory is made of turns."""


async def log_nothing(turn_id: str, entry: Start | End) -> None:
    """No log is kept."""


async def carry_nothing() -> list[str]:
    """Nothing was ever kept under names."""
    return []


class ShuttingDown(Exception):
    """The service ends: the message goes back to the queue, untouched."""


@dataclass(slots=True)
class Running:
    """A turn under way. `why` it was cancelled: "stop", "interrupt" or
    "shutdown". `draft_id` is a message that shows its growing answer and
    has to go; once `ended` its completion holds no more."""

    claim: Claim
    scope: str
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    why: str = ""
    draft_id: str | None = None
    ended: bool = False

    def stop(self, why: str) -> None:
        self.why = self.why or why
        self.cancel.set()


@dataclass(slots=True)
class Desk:
    """What all turns of the service share."""

    live: Callable[[], Live]
    refresh: Callable[[], Awaitable[None]]
    queue: Queue
    lease: Callable[[], Lease]
    histories: Histories
    approver: ChannelApprover
    wake_sender: Callable[[str], None]
    log: Log
    estop: EmergencyStop
    choices: Choices = field(default_factory=Choices)
    last: dict[str, Trace] = field(default_factory=dict)
    tokens: dict[str, list[int]] = field(default_factory=dict)
    now: Callable[[], datetime] = local_now
    clock: Callable[[], float] = time.monotonic
    signs: set[asyncio.Future[Any]] = field(default_factory=set)
    spent: Spent | None = None
    turn_cost: Callable[[str], float | None] = lambda turn_id: None
    build_notes: Callable[[str, "Finished"], Record | None] = leave_nothing
    # Ends the runs of jobs that tell a chat (channel, chat); how many.
    stop_jobs: Callable[[str, str], int] = lambda channel, chat: 0
    carry_over: Callable[[], Awaitable[list[str]]] = carry_nothing
    log_turn: Callable[[str, Start | End], Awaitable[None]] = log_nothing
    strangers: StrangerLimits = field(init=False)
    sessions: Sessions = field(init=False)

    def __post_init__(self) -> None:
        self.strangers = StrangerLimits(self.clock, lambda: self.now())
        self.sessions = Sessions(lambda: self.live().hooks)

    def limit_stranger(self, message: ChannelMessage) -> str | None:
        """Count what a stranger sent; why it is not answered, or None."""
        reason = self.strangers.admit(message, self.live().strangers)
        if reason is not None:
            self.log("stranger.limited", channel=message.channel,
                     sender=message.sender, reason=reason)
        return reason

    def follow(self, sign: "asyncio.Future[Any]") -> None:
        """What a turn shows and does not wait for: a last reaction, the
        opening of a draft."""
        self.signs.add(sign)
        sign.add_done_callback(self.signs.discard)

    async def wait_for_signs(self, patience_s: float = SETTLE_S) -> None:
        """Wait until the last reactions and drafts are shown."""
        if self.signs:
            await asyncio.wait(self.signs, timeout=patience_s)
