"""The queue: what came in, what goes out, and who works on it.

The verbs are `accept`, `claim`, `complete`, `lease` and `renew`. A message
is committed before its platform is told "received"; a turn ends in one
transaction (inbox row, history, outbox rows); what goes out has a state
for each part. The Protocol is what the runtime knows; nothing in it needs
SQLite.

States of an inbox row:  waiting -> running -> answered | refused | failed
| cancelled.  Of an outbox row:  waiting -> sending -> sent | failed, or
uncertain when a send may or may not have happened.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from claw.core.abilities import Doubt, Report
from claw.core.channel import ChannelMessage, Part, SendMessage
from claw.core.errors import StorageError
from claw.core.value import Value, made

InboxState: TypeAlias = Literal["waiting", "running", "answered", "refused",
                                "failed", "cancelled"]
Outcome: TypeAlias = Literal["answered", "refused", "failed", "cancelled"]
OutboxState: TypeAlias = Literal["waiting", "sending", "uncertain", "sent",
                                 "failed"]
# What a look at the platform has shown of a part.
Seen: TypeAlias = Literal["verified", "not there"]
# What came of a report: written down, said before, of nothing of ours; or
# the part is still being sent.
Reported: TypeAlias = Literal["kept", "known", "unknown", "under way"]
Record: TypeAlias = Mapping[str, Any]
# The id of a draft that is being sent.
DRAFT_UNKNOWN = ""


class FileGoneError(StorageError):
    """The queue's file was removed or replaced under a running process;
    no commit counts any more until it is opened anew."""


class Lease(Value):
    """The right to do something alone. `fence` grows with every change of
    hands; a write that carries an old one raises LeaseLostError."""

    name: str
    owner: str
    fence: int


class Holder(Value):
    """Who holds a lease; `alive` None: on another machine."""

    name: str
    pid: int
    host: str
    alive: bool | None


class Arrival(Value):
    """A message to accept, with the key that orders it. One whose id is
    "" is never taken for a redelivery."""

    message: ChannelMessage
    conversation: str


class InboxRow(Value):
    """A message that was accepted. `turn_id` never changes, whatever is
    killed; `attempts` counts earlier claims; `draft_id` is the platform's
    id of a message that shows its growing answer, DRAFT_UNKNOWN from before
    it is sent until its id has come. Times are unix seconds."""

    seq: int
    message: ChannelMessage
    conversation: str
    turn_id: str
    received_at: float
    state: InboxState = "waiting"
    attempts: int = 0
    draft_id: str | None = None
    finished_at: float | None = None
    reason: str | None = None


class Claim(Value):
    """Rows of one conversation, oldest first, that are ours to answer in
    one turn; the turn has the id of the first."""

    rows: tuple[InboxRow, ...]
    fence: int

    @property
    def turn_id(self) -> str:
        return self.rows[0].turn_id

    @property
    def conversation(self) -> str:
        return self.rows[0].conversation


class NewSend(Value):
    """A message for the outbox. `source` names what it answers
    ("turn:<id>", "job:<id>:<slot>", "send:<id>"); a source that is in the
    outbox already adds nothing. `draft_id` is a message that the first
    text part is put in the place of."""

    source: str
    channel: str
    message: SendMessage
    parts: tuple[Part, ...]
    draft_id: str | None = None


class OutboxRow(Value):
    """One part on its way; `number` counts from 0. `message_id` is the
    platform's id as soon as it is known; `uncertain` says that an earlier
    attempt may have arrived; `attempts` counts the attempts begun;
    `next_at` (unix seconds) is when to try next, 0 at once; `seen` is what
    the last look for it has shown."""

    seq: int
    source: str
    number: int
    channel: str
    message: SendMessage
    part: Part
    state: OutboxState = "waiting"
    message_id: str | None = None
    uncertain: bool = False
    attempts: int = 0
    next_at: float = 0.0
    error: str | None = None
    created_at: float = 0.0
    sent_at: float | None = None
    seen: Seen | None = None


class HistoryOp(Value):
    """A change of a conversation's session file: "append" of a record, or
    "clear"."""

    op: Literal["append", "clear"]
    record: Record = made(factory=dict)


class HistoryRow(Value):
    """A change that is committed and not yet in the session file."""

    seq: int
    conversation: str
    op: HistoryOp


class Completion(Value):
    """How a turn ended, with everything that ends with it. `trace` is what
    `claw why` shows, as JSON, `notes` what the memory is to be made of."""

    outcome: Outcome
    reason: str | None = None
    history: tuple[HistoryOp, ...] = ()
    sends: tuple[NewSend, ...] = ()
    trace: Record | None = None
    notes: Record | None = None


class PendingNotes(Value):
    """What a committed turn left for the memory, until it stands there."""

    seq: int
    data: Record


class JournalEntry(Value):
    """A step of a running turn: `kind` "calls" (data: the assistant's
    message), "started" or "finished" (data: call id, output, success)."""

    kind: Literal["calls", "started", "finished"]
    data: Record


class Approval(Value):
    """A question to the owner that survives a restart. `key` is the hash
    that a yes is bound to, `sender` who may answer; decision None: still
    open. Times are unix seconds. A question of the agent is one, too: its
    decision is the answer, as JSON."""

    id: str
    turn_id: str
    key: str
    channel: str
    sender: str
    summary: str
    expires_at: float
    decision: str | None = None


class QueueCounts(Value):
    """How much lies where: state -> rows (every state is there), and the
    age in seconds of the oldest message that is not finished."""

    inbox: Mapping[str, int]
    outbox: Mapping[str, int]
    oldest_s: float | None = None


class Queue(Protocol):
    """The durable path of messages. Every method returns after its change
    is on the disk, except where it says "light": such a change survives a
    killed process, and its loss in a power cut does no harm.

    Raises StorageError (disk full, file damaged), UnavailableError (locked)
    and LeaseLostError.
    """

    # -- leases

    async def lease(self, name: str, ttl_s: float) -> Lease | None:
        """The lease, or None while a living holder has it. A holder that
        died on this machine is passed over at once."""

    async def renew(self, lease: Lease, ttl_s: float) -> None:
        """Hold it longer. Raises LeaseLostError. Light."""

    async def yield_lease(self, lease: Lease) -> None:
        """Give it back; nothing where it is lost already. Light."""

    async def holder(self, name: str) -> Holder | None: ...

    # -- inbox

    async def accept(self, lease: Lease, arrivals: Sequence[Arrival]
                     ) -> list[InboxRow | None]:
        """Commit messages, all or none; None for one that was accepted
        before."""

    async def recover(self, lease: Lease) -> int:
        """After a take-over: running rows wait again, parts in sending
        are due, and uncertain unless they never left. How many rows that
        were. Those that a living holder of another lease works on are
        left alone."""

    async def waiting(self) -> list[str]:
        """Conversations with waiting rows, the longest waiting first;
        those of which a claim runs too."""

    async def claim(self, lease: Lease, conversation: str, *,
                    most: int = 1) -> Claim | None:
        """The oldest waiting rows of a conversation, now running; None
        where nothing waits or another claim runs. A caller that is
        cancelled meanwhile has claimed nothing. Light."""

    async def unclaim(self, lease: Lease, claim: Claim) -> None:
        """Put the rows back, untouched. Light."""

    async def complete(self, lease: Lease, claim: Claim,
                       completion: Completion) -> list[OutboxRow]:
        """End a turn in one transaction; the new outbox rows. Its journal
        goes. Completing twice, or what was recovered since, changes
        nothing and returns []. Raises LeaseLostError for a claim of a
        lease that was lost in between."""

    async def keep_draft(self, lease: Lease, claim: Claim,
                         draft_id: str | None) -> None:
        """Note the draft of a turn. Light: at worst it stays there."""

    # -- the journal of running turns

    async def journal(self, lease: Lease, turn_id: str,
                      entry: JournalEntry) -> None: ...

    async def read_journal(self, turn_id: str) -> list[JournalEntry]: ...

    # -- what turns left for the memory

    async def read_notes(self, limit: int = 100) -> list[PendingNotes]:
        """The oldest that are not dropped; after 30 days they go."""

    async def drop_notes(self, seqs: Sequence[int]) -> None:
        """These stand in the memory. Light."""

    # -- approvals

    async def ask(self, lease: Lease, approval: Approval,
                  send: NewSend) -> Approval:
        """Keep a question and post it; one of the same turn and key that
        is neither closed nor expired, open or decided, is returned
        instead."""

    async def approval(self, approval_id: str) -> Approval | None: ...

    async def decide(self, approval_id: str, decision: str,
                     sender: str, now: float) -> Approval | None:
        """Answer a question, once; None where it is unknown, expired,
        already decided, or not for this sender."""

    async def close_approval(self, lease: Lease, approval_id: str) -> None:
        """A decision is used, once: the same call asks again. Ending a
        turn closes all of its questions."""

    async def stale_questions(self, limit: int) -> list[OutboxRow]:
        """The parts in the chat that still show buttons of questions which
        are decided, closed or expired; the newest first."""

    async def mark_cleared(self, lease: Lease, row: OutboxRow) -> None:
        """The buttons of such a part are gone."""

    # -- outbox

    async def post(self, sends: Sequence[NewSend]) -> list[OutboxRow]:
        """Put messages out; [] for sources that are known."""

    async def due(self, channel: str, now: float, limit: int
                  ) -> list[OutboxRow]:
        """The next part of each chat, oldest first: waiting or uncertain,
        with `next_at` reached, nothing of the same chat (a recipient with
        its threads) before it that is not sent or failed, and nothing of it
        in sending. A part that was put off by a clock which is more than
        a minute ahead of now is due: the clock was set back."""

    async def next_due(self, channel: str) -> float | None:
        """When the next part may go (unix seconds, 0 at once), None where
        nothing waits but behind a part in sending."""

    async def mark_sending(self, lease: Lease, row: OutboxRow) -> None:
        """Commit that the call is about to be made. Raises LeaseLostError
        where the part, or another of its chat, is being sent."""

    def note_leaving(self, row: OutboxRow) -> None:
        """Note at once that the call for a part in sending leaves this
        process now. Survives a killed process: what was not noted never
        left, and `recover` says so."""

    def fingerprint(self) -> object:
        """Another value once anything was written, by whomever, but for a
        renewed lease; cheap, from any thread."""

    async def mark_sent(self, lease: Lease, row: OutboxRow,
                        message_id: str | None, *,
                        seen: Seen | None = None) -> None:
        """The part has arrived. Light."""

    async def mark_seen(self, lease: Lease, row: OutboxRow,
                        message_id: str | None) -> None:
        """What a look has shown: its id, or None for a part that is not
        there. One that counted as sent has failed then. Light."""

    async def mark_reported(self, lease: Lease, channel: str,
                            report: Report) -> Reported:
        """What a platform says of a part under this id. One that did not
        arrive has failed. Light."""

    async def silent(self, channel: str, since: float, until: float
                     ) -> list[OutboxRow]:
        """Parts that were sent between these times, which the platform
        gave no id for and nobody has looked for."""

    async def put_off(self, lease: Lease, row: OutboxRow, next_at: float,
                      error: str, *, uncertain: bool) -> None:
        """Try again later. Once in doubt, a part stays in doubt."""

    async def mark_failed(self, lease: Lease, row: OutboxRow,
                     error: str) -> None:
        """Give a part up; the parts after it of the same message too."""

    async def hasten(self, seqs: Sequence[int]) -> None:
        """Parts that were put off are due now. Light."""

    async def read_doubt(self, row: OutboxRow) -> Doubt:
        """What is known around a part in doubt."""

    # -- session files

    async def read_unwritten(self, limit: int = 1000) -> list[HistoryRow]:
        """Changes that session files still lack, oldest first."""

    async def mark_written(self, seqs: Sequence[int]) -> None:
        """These are in the files. Light."""

    async def pending_history(self, conversation: str
                              ) -> list[HistoryRow]:
        """Those of one conversation, oldest first."""

    # -- looking and keeping house

    async def counts(self) -> QueueCounts: ...

    # Both give the newest rows, oldest first; rows without payload
    # (purged, older than 7 days) are not shown.

    async def inbox_rows(self, *, states: Sequence[str] = (),
                         limit: int = 100) -> list[InboxRow]: ...

    async def outbox_rows(self, *, states: Sequence[str] = (),
                          source: str | None = None, limit: int = 100
                          ) -> list[OutboxRow]: ...

    async def trace(self, wanted: str | None) -> Record | None:
        """What is known of a turn, by a prefix of its id or by a message
        id; None: the last finished one. The completion's trace, with
        "turn_id" and "queue": {state, channel, conversation, messages,
        received_at, finished_at, attempts, reason, parts: [{seq, number,
        state, uncertain, attempts, error, seen}]}. Raises UsageError where
        several turns begin so."""

    async def retry(self, seqs: Sequence[int] = ()) -> int:
        """Failed parts (none given: all) wait again, their attempts
        forgotten; with a part the others of its message that failed."""

    async def purge(self, *, older_than_s: float,
                    states: Sequence[str] = ()) -> int:
        """Remove finished rows (none given: of every finished state);
        their ids stay known for 30 days, so that a redelivery is still
        recognised."""

    async def unsent_parts(self, holding: str) -> list[str]:
        """The parts, as JSON, that wait, are being sent or failed and have
        this text in them."""

    async def purge_channel(self, channel: str) -> int:
        """Remove what waits or failed for a channel (`name`, and
        `name:...`); what is being answered or sent is left. How many
        rows."""

    async def tend(self) -> int:
        """Retention: payloads of finished rows go after 7 days, ids after
        30 (the newest 1,000 stay), traces after 30. How many rows."""

    async def aclose(self) -> None: ...
