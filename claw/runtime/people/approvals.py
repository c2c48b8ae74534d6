"""Questions to the owner over a channel, which outlive the process.

The question is an outbox row with buttons; the answer is a button press, or
typed (`yes ID`, `/approve ID`: channels/answers.py), taken only from the
person whose message started the turn, on any of his channels. A turn that is
repeated after a kill meets its own question again, open or answered, and
asks nothing twice.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from claw.channels import answers
from claw.channels.markers import inert
from claw.core.channel import (
    STRANGER,
    Button,
    ChannelMessage,
    Part,
    SendMessage,
)
from claw.core.errors import UnavailableError
from claw.core.log import Log
from claw.core.turn import (
    ApprovalRequest,
    Decision,
    current_call,
    current_turn,
)
from claw.core.value import replace
from claw.runtime.message.keys import (
    command_word,
    history_key,
)
from claw.runtime.people import questions
from claw.runtime.people.identities import People
from claw.runtime.turn.budget import Budget
from claw.runtime.turn.reactions import Reactions
from claw.security.approval import name_content
from claw.security.approval.question import show_lines
from claw.security.visible import visible
from claw.storage.queue.model import Approval, Lease, NewSend, Queue

VALID_S = 15 * 60.0
NOT_OPEN = "This question is not open any more, or was not asked of you."
_WORDS: dict[str, Decision] = {"yes": "yes", "no": "no", "always": "always"}


@dataclass(slots=True)
class Asking:
    """Where the question of a running turn goes."""

    message: ChannelMessage
    parts: Callable[[SendMessage], tuple[Part, ...]]
    budget: Budget | None = None
    reactions: Reactions | None = None
    audit: list[dict[str, str]] = field(default_factory=list)


class ChannelApprover:
    """core.turn.Approves for turns that came through a channel. A question
    is shown and kept as `redact` gives it back; the answer is bound to the
    hash of the call as it is."""

    def __init__(self, queue: Queue, lease: Callable[[], Lease], log: Log,
                 wake_sender: Callable[[str], None], *,
                 valid_s: float = VALID_S,
                 now: Callable[[], float] = time.time,
                 redact: Callable[[str], str] = str,
                 people: Callable[[], People] = People) -> None:
        self._queue = queue
        self._lease = lease
        self._log = log
        self._wake_sender = wake_sender
        self._valid_s = valid_s
        self._now = now
        self._redact = redact
        self._people = people
        self._asking: dict[str, Asking] = {}
        self._open: dict[str, asyncio.Future[str]] = {}
        self._asked_in: dict[str, str] = {}  # open id -> history key
        self._closed = False
        self._asked: set[str] = set()  # turns, until they have ended
        # Set while there may be buttons that are of no use (see buttons.py).
        self.settled = asyncio.Event()
        self.settled.set()

    def begin(self, turn_id: str, asking: Asking) -> None:
        """A turn runs whose owner can be asked."""
        self._asking[turn_id] = asking

    def end(self, turn_id: str) -> None:
        self._asking.pop(turn_id, None)

    def close(self) -> None:
        """Nobody can answer any more (stdin has ended): what is asked, now
        and later, is a no."""
        self._closed = True
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_result("")

    def note_completion(self, turn_id: str) -> None:
        """The end of a turn is committed: its questions are closed."""
        if turn_id in self._asked:
            self._asked.remove(turn_id)
            self.settled.set()

    def can_ask(self) -> bool:
        """Whether the running turn has somebody who may say yes."""
        return self._find_asking() is not None

    def _find_asking(self) -> Asking | None:
        context = current_turn.get()
        asking = self._asking.get(context.turn_id) if context else None
        return None if asking is None or self._closed \
            or STRANGER in asking.message.labels else asking

    async def approve(self, request: ApprovalRequest) -> Decision:
        context, asking = current_turn.get(), self._find_asking()
        if context is None or asking is None:
            return "no"
        approval = await self._ask(context.turn_id, asking, request)
        answer = approval.decision or await self._wait(approval, asking)
        decision = _WORDS.get(answer, "no")
        if not answer:
            context.unanswered.add(request.key)
        if decision != "no":  # a no holds to the end of the turn
            await self._queue.close_approval(self._lease(), approval.id)
        asking.audit.append({"tool": request.tool, "reason": request.reason,
                             "decision": decision if answer
                             else "no answer"})
        self._log("approval", turn=context.turn_id, approval=approval.id,
                  tool=request.tool, decision=decision)
        return decision

    async def ask_user(self, question: str, choices: Sequence[str],
                       timeout_s: float) -> str:
        """core.turn.Asks: with buttons, and answered by the same person."""
        context, asking = current_turn.get(), self._find_asking()
        if context is None or asking is None:
            raise UnavailableError("nobody can be asked here")
        question = self._redact(question)
        question_id = await self._draw_id(answers.SIGN)
        asked = await self._post(context.turn_id, asking, Approval(
            question_id, context.turn_id, f"ask_user:{current_call.get()}",
            asking.message.channel, asking.message.sender, question,
            self._now() + timeout_s), questions.build(
                question_id, question, list(map(self._redact, choices)),
                asking.message, context))
        answer = asked.decision or await self._wait(asked, asking)
        self._log("question", turn=context.turn_id, question=asked.id,
                  answered=bool(answer))
        if not answer:
            raise UnavailableError(
                "nobody can answer any more" if self._closed
                else f"there was no answer within {timeout_s:g} s")
        return questions.read_answer(answer, choices)

    async def react(self, emoji: str, *, add: bool) -> None:
        """core.turn.Reacts."""
        context = current_turn.get()
        asking = self._asking.get(context.turn_id) if context else None
        if asking is None or asking.reactions is None:
            raise UnavailableError("there is no message here to react to")
        await asking.reactions.show(emoji, add=add)

    def _list_open(self, message: ChannelMessage) -> list[str]:
        """The approvals that a person is asked for where this was said."""
        return [] if message.labels else [
            approval_id for approval_id, key in self._asked_in.items()
            if key == history_key(message)
            and not questions.is_question(approval_id)]

    def is_meant(self, message: ChannelMessage) -> bool:
        """Whether a lone yes or no is for an open question: it decides
        nothing, since it may have been said to the one before, and must not
        wait behind the turn that asks."""
        return answers.is_lone(message.content) \
            and bool(self._list_open(message))

    async def decide(self, message: ChannelMessage) -> str | None:
        """Take an answer; what to say to it, None for nothing."""
        answer = questions.parse_answer(message)
        wanted = answer or parse_answer(message)
        if wanted is None:
            return self._ask_which(message)
        approval_id, decision = wanted
        if questions.is_question(approval_id) != (answer is not None):
            return NOT_OPEN
        if answer is not None and questions.is_empty(decision):
            return questions.NO_WORDS
        asked = await self._queue.approval(approval_id)
        # A name says nothing on another platform, but for the people of
        # [people]; the words of others (written by an inline bot, forwarded)
        # are nobody's answer.
        if asked is None or message.labels or not self._people().is_same(
                asked.channel, asked.sender, message.channel, message.sender):
            return NOT_OPEN
        approval = await self._queue.decide(
            approval_id, decision, asked.sender, self._now())
        if approval is None:
            return NOT_OPEN
        self.settled.set()
        waiting = self._open.get(approval.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(decision)
        if answer is not None:
            return None
        return (f"{'Refused' if decision == 'no' else 'Allowed'}:\n"
                + _fence(inert(approval.summary)))

    def _ask_which(self, message: ChannelMessage) -> str | None:
        """What is said to a lone yes or no; None for other buttons."""
        if message.kind == "action":
            return None
        wanted = [f"yes {approval_id} or no {approval_id}"
                  for approval_id in self._list_open(message)]
        return f"Say which: {', '.join(wanted)}" if wanted else NOT_OPEN

    async def _ask(self, turn_id: str, asking: Asking,
                   request: ApprovalRequest) -> Approval:
        approval_id = await self._draw_id()
        request = replace(request, summary=self._redact(request.summary))
        message = build_question(approval_id, request, asking.message)
        return await self._post(turn_id, asking, Approval(
            approval_id, turn_id, request.key, asking.message.channel,
            asking.message.sender, render_request(request),
            self._now() + self._valid_s), message)

    async def _draw_id(self, sign: str = "") -> str:
        """An id that no question has had as long as the queue can tell: a
        button of an older one may still stand somewhere."""
        while True:
            drawn = answers.draw_id(sign)
            if await self._queue.approval(drawn) is None \
                    and not await self._queue.outbox_rows(
                        source=f"approval:{drawn}", limit=1):
                return drawn

    async def _post(self, turn_id: str, asking: Asking, approval: Approval,
                    message: SendMessage) -> Approval:
        """Put the question out, or find the same one of this turn."""
        self._asked.add(turn_id)
        approval = await self._queue.ask(
            self._lease(), approval,
            NewSend(f"approval:{approval.id}", approval.channel, message,
                    asking.parts(message)))
        self._wake_sender(asking.message.channel)
        return approval

    async def _wait(self, approval: Approval, asking: Asking) -> str:
        """Wait for the answer; "" where there is none in time."""
        waiting: asyncio.Future[str] = \
            asyncio.get_running_loop().create_future()
        self._open[approval.id] = waiting
        self._asked_in[approval.id] = history_key(asking.message)
        left = max(0.0, approval.expires_at - self._now())
        if not questions.is_question(approval.id):
            left = min(left, self._valid_s)
        try:
            # It may have been answered between the question and here.
            known = await self._queue.approval(approval.id)
            if known is not None and known.decision is not None:
                return known.decision
            if self._closed:
                return ""
            with asking.budget.paused() if asking.budget else nullcontext():
                return await asyncio.wait_for(waiting, left)
        except TimeoutError:
            self._log("approval.expired", approval=approval.id)
            await self._queue.close_approval(self._lease(), approval.id)
            self.settled.set()
            return ""
        finally:
            self._open.pop(approval.id, None)
            self._asked_in.pop(approval.id, None)


def render_request(request: ApprovalRequest) -> str:
    """The call in one line: what is hidden in it becomes visible."""
    return f"{visible(request.tool)}: {visible(request.summary)}"


def build_question(approval_id: str, request: ApprovalRequest,
             asked: ChannelMessage) -> SendMessage:
    """The message that asks. The call stands in it whole: what is not
    seen is not approved."""
    summary = "\n".join((show_lines(request), *map(
        visible, (*request.details, *request.diff))))
    lines = [f"Approve {visible(request.tool)}?", f"{name_content(request)}:",
             _fence(summary),
             f"Why: {visible(request.reason)}", "",
             f"Answer: yes {approval_id} or no {approval_id}"]
    buttons = [Button("Allow", f"approve:{approval_id}:yes"),
               Button("Deny", f"approve:{approval_id}:no")]
    if request.may_remember:
        buttons.append(Button("Always", f"approve:{approval_id}:always"))
        lines[-1] += f" or always {approval_id}"
    return SendMessage("\n".join(lines), asked.reply_target,
                       thread_ts=asked.thread_ts, buttons=tuple(buttons),
                       answers=asked.id)


def _fence(text: str) -> str:
    """The text as a block of code, whatever it holds."""
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def parse_answer(message: ChannelMessage) -> tuple[str, Decision] | None:
    """(approval id, decision) of a button, of what is typed, or of
    /approve and /deny."""
    if message.kind == "action":
        parts = message.content.split(":")
        if len(parts) == 3 and parts[0] == "approve" and parts[2] in _WORDS:
            return parts[1], _WORDS[parts[2]]
        return None
    if typed := answers.parse_decision(message.content):
        return typed
    word = command_word(message.content)
    rest = message.content.lower().split()[1:]
    if word == "/deny":
        return (rest[0] if rest else ""), "no"
    if word == "/approve":
        always = len(rest) > 1 and rest[1] == "always"
        return (rest[0] if rest else ""), "always" if always else "yes"
    return None
