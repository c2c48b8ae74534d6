"""What belongs to one turn, and the small protocols between parts.

The context of the running turn is in a ContextVar, so that a tool built
once can serve many turns at the same time.
"""

import asyncio
import uuid
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from claw.core.refusal import Refusal
from claw.core.tool import Schema, Tool
from claw.core.value import Record, Value, made, replace

Origin: TypeAlias = Literal["ask", "agent", "tool", "channel", "cron",
                            "gateway"]
Decision: TypeAlias = Literal["yes", "no", "always", "week"]


class TurnContext(Record):
    """Who asks, where an answer goes, and what the turn has touched.

    `session_id` is the memory session (None: the owner's own). `labels`
    grows while the turn runs: an entry such as "web" or "file" says that
    untrusted text of that origin has been read (labels.py). `found` are
    addresses that a search of this turn gave: a tool that searches adds
    them, and they may be links in the answer. `seen` are those that pages
    name: after foreign text a page is fetched unasked only where its address
    was found or seen, or stands in what the person `asked`. `tools` are what
    tool_search found: offered from then on. `models` may change which one
    answers (model_switch). `channel` and `sender` say who wrote, where the
    turn came through a channel, `person` who that is on all of them
    (runtime's People), and `sessions` are memory sessions of the same person
    that the turn may see besides its own, `audience` is the chat that hears
    of a turn which answers none. `message` names the message that is
    answered: place, conversation and id, such as "chat:-100123:4711". The
    calls of the turn may cost at most `max_cost_usd` together, and those of
    several turns what is in their `budget`; `limit_usd` is what the owner's
    settings leave to each turn, `day_limit_usd` what they leave to its
    channel in a day.
    `job` is the id of the job whose run this is, `policy` what that may not
    do (security's NarrowerSettings). `refused` are calls that did not run for
    want of a yes, `unanswered` the keys of questions that nobody answered in
    time. `depth` counts the turns around this one (delegate), `sent` names
    the tools that sent a message, once for each.
    """

    origin: Origin
    turn_id: str = made(factory=lambda: uuid.uuid4().hex)
    session_id: str | None = None
    reply_target: str | None = None
    cancel: asyncio.Event | None = None
    labels: set[str] = made(factory=set)
    found: set[str] = made(factory=set)
    tools: list[Tool] = made(factory=list)
    models: "SwitchesModel | None" = None
    seen: set[str] = made(factory=set)
    asked: str = ""
    channel: str | None = None
    sender: str | None = None
    person: str | None = None
    sessions: tuple[str, ...] = ()
    audience: tuple[str, str] | None = None
    message: str | None = None
    max_cost_usd: float | None = None
    budget: "Budget | None" = None
    limit_usd: float | None = None
    day_limit_usd: float | None = None
    job: str | None = None
    policy: Any = None
    refused: list[Refusal] = made(factory=list)
    unanswered: set[str] = made(factory=set)
    depth: int = 0
    sent: list[str] = made(factory=list)

    def hand_over(self) -> "TurnContext":
        """The context of a turn within this one, for a task of its own. It
        is the same turn to the ledger and to whoever is asked, and ends
        with it; what it reads flows back through Agent.turn. The task was
        written by a model: `asked` stays what the person wrote."""
        return replace(
            self, origin="tool", labels=set(self.labels), tools=[],
            models=None, depth=self.depth + 1)

    def note_refusal(self, refusal: Refusal) -> None:
        """A call that nobody said yes to; each is told of once."""
        if refusal not in self.refused:
            self.refused.append(refusal)

    @property
    def chat(self) -> tuple[str, str] | None:
        """Channel and chat that this turn answers, or that hears of it;
        None for the owner at his own machine."""
        channel, chat = (self.audience or (None, None)) \
            if self.channel is None else (self.channel, self.reply_target)
        if channel is None:
            return None
        return channel.partition(":")[0], (chat or "").partition(":")[0]


current_turn: ContextVar[TurnContext | None] = ContextVar(
    "current_turn", default=None)
# The call of a tool that runs or is asked about, unique in its turn and the
# same when a killed turn is taken up: "call_1", or "call_1.2/call_7" for one
# that the second task of a delegate call made. "" outside of one.
current_call: ContextVar[str] = ContextVar("current_call", default="")


class Budget(Protocol):
    """Money that several turns share. `name` is what their calls stand
    under in the ledger, as a session."""

    @property
    def name(self) -> str: ...

    @property
    def is_limited(self) -> bool:
        """Whether what a call may cost has to be known for certain."""

    @property
    def answer_usd(self) -> float | None:
        """What is left where an answer is cut short for it, None where it
        is better not asked for."""

    async def hold(self, most_usd: float) -> None:
        """Take out what a call may cost, once there is so much. Raises
        BudgetError where there never will be."""

    def settle(self, held_usd: float, cost_usd: float) -> None:
        """What it did cost; the rest goes back."""


def has_limited_budget() -> bool:
    """Whether the running turn may not cost more than was said."""
    turn = current_turn.get()
    return turn is not None and turn.budget is not None \
        and turn.budget.is_limited


class ApprovalRequest(Value):
    """A call that needs the owner's word.

    `key` is the hash of tool, arguments and working directory; a yes is
    bound to it. `may_remember` is false for shells and interpreters;
    `may_keep`: the owner at the terminal may allow it for a week.
    Where a change of a file is asked about, `tool` is its name and
    `details` are the lines of the diff. `diff` are those of what a call
    would change, and `place` is where it runs.
    """

    tool: str
    summary: str
    key: str
    reason: str
    may_remember: bool = True
    may_keep: bool = False
    details: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()
    place: str = ""


class Approves(Protocol):
    """Someone who can say yes. Where nobody can be reached: "no"."""

    async def approve(self, request: ApprovalRequest) -> Decision: ...


@runtime_checkable
class ReachesOwner(Protocol):
    """An approver that knows whether a person can be asked now; a "no" of
    one that can't is nobody's word."""

    def can_ask(self) -> bool: ...


class RunsTurn(Protocol):
    """Runs one agent turn and returns its answer (delegate, cron)."""

    async def run_turn(self, message: str, context: TurnContext) -> str: ...


class TakesTasks(RunsTurn, Protocol):
    """An agent of [agents.NAME]: it ends a turn by itself that takes too
    long (TimeLimitError). At `max_depth` nothing is handed to it."""

    @property
    def max_depth(self) -> int: ...


class Task(Value):
    """What a turn of the agent's own is for. `schema`: the JSON Schema that
    its answer must fit. `model`: the one that is asked, a route of
    `list_models` or a name. `tools`: by name, () none; None: the usual
    ones, but for those that start turns."""

    schema: Schema | None = None
    model: str | None = None
    temperature: float | None = None
    tools: tuple[str, ...] | None = ()


class RunsTasks(Protocol):
    """The agent itself, for a task of its own (llm_task, swarm, cron_run):
    without memory, and without what was said so far."""

    def list_models(self) -> list[str]:
        """The routes that a task may name."""

    async def run_task(self, message: str, context: TurnContext, task: Task
                       ) -> str:
        """The answer; compact JSON where there is a schema. Raises
        ClawError, RequestRefusedError where it does not fit."""

    def check_tools(self, names: Sequence[str]) -> None:
        """Raises ConfigError for a name that no tool has."""

    def turn_cost(self, turn_id: str) -> float | None:
        """What the calls of a turn cost so far, None where that is not
        known."""


class SendsText(Protocol):
    """Puts messages into the outbox (message)."""

    @property
    def channels(self) -> Sequence[str]:
        """The names of those that are set up."""

    async def send_text(self, source: str, target: str, text: str) -> str:
        """Send a text to "CHANNEL:RECIPIENT", once for each `source`; what
        became of it, as a sentence. Raises ClawError."""


@runtime_checkable
class SendsPolls(SendsText, Protocol):
    """Puts polls there too (poll)."""

    async def send_poll(self, source: str, target: str, question: str,
                        options: Sequence[str]) -> str:
        """As `send_text`."""


class Reacts(Protocol):
    """Reacts to the message that the turn answers (reaction)."""

    async def react(self, emoji: str, *, add: bool) -> None:
        """Show it, or take it back, where the platform takes this one.
        Raises UnavailableError where nothing can be shown."""


class Asks(Protocol):
    """Puts a question to the person of this turn (ask_user)."""

    async def ask_user(self, question: str, choices: Sequence[str],
                       timeout_s: float) -> str:
        """The answer, one of the choices or other words. Raises
        UnavailableError where nobody can be asked, or answers."""


class SwitchesModel(Protocol):
    """The models of a turn (model_switch)."""

    def switch_model(self, name: str) -> None:
        """Ask this one from the next call of a model on. Raises UsageError
        for one that is not listed."""

    def current_model(self) -> str: ...

    def list_models(self) -> list[str]:
        """The names of those that may be switched to."""
