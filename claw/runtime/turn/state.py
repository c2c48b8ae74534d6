"""What is known of one turn under way: its steps and its ending share it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from claw.agent.history import INTERRUPTED
from claw.channels.markers import without_fetches
from claw.core.channel import STRANGER, Channel, ChannelMessage, SendMessage
from claw.core.provider import Chat, ConversationMessage
from claw.core.value import replace
from claw.runtime.live import Live, LiveChannel
from claw.runtime.message.keys import history_key, merge_messages
from claw.runtime.message.parts import split_parts
from claw.runtime.people.identities import is_private
from claw.runtime.turn.budget import Budget
from claw.runtime.turn.desk import Desk, Running
from claw.runtime.turn.drafts import Draft
from claw.runtime.turn.reactions import Reactions
from claw.runtime.turn.trace import Trace
from claw.security.redact.leaks import redact
from claw.storage.queue.model import Claim, HistoryOp, NewSend
from claw.text.addresses import find_urls, make_plain


@dataclass(slots=True)
class TurnState:
    """One turn. `message` is what the claim's rows say together, `key` the
    conversation's. `user_ops` put the person's words into the session file;
    there are none until the history holds them. `labels` are the origins of
    the foreign text before the model's eyes, of earlier turns too; `known`
    are the addresses that the person wrote in this conversation, `found`
    those that a search of this turn gave. `said` is what the turn brought
    into the conversation; the question stands in the log once `is_logged`.
    `is_first`: nothing was said before it, or what was is forgotten.
    `person` is who wrote (People), as the platform said it and not a hook;
    `private`: nobody else reads the chat; `sessions` are those of the
    memory that the turn may see besides its conversation's.
    """

    desk: Desk
    running: Running
    live: Live
    message: ChannelMessage
    key: str
    trace: Trace
    budget: Budget
    started: float
    channel: LiveChannel | None = None
    reactions: Reactions | None = None
    draft: Draft | None = None
    user_ops: Sequence[HistoryOp] = ()
    labels: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)
    said: list[ConversationMessage] = field(default_factory=list)
    is_logged: bool = False
    is_first: bool = False
    person: str = ""
    private: bool = False
    sessions: tuple[str, ...] = ()

    @property
    def is_stranger(self) -> bool:
        """Whether no owner wrote this, whatever a hook made of it."""
        return any(STRANGER in row.message.labels for row in self.claim.rows)

    @classmethod
    def begin(cls, desk: Desk, running: Running) -> "TurnState":
        """Messages that interrupt each other become paragraphs, those of
        one burst lines."""
        live, messages = desk.live(), [
            row.message for row in running.claim.rows]
        channel = live.find(messages[0].channel)
        message = merge_messages(
            messages, "\n\n" if channel and channel.options.interrupt
            else "\n")
        running.draft_id = running.claim.rows[0].draft_id or None
        state = cls(desk, running, live, message, history_key(message),
                    Trace.begin(running.claim, desk.now()),
                    Budget(live.budget_s()), desk.clock(),
                    private=all(map(is_private, messages)))
        state.see(live)
        return state

    def see(self, live: Live) -> None:
        """Take these settings, and who wrote by what they say."""
        self.live = live
        message = replace(self.claim.rows[-1].message, private=self.private)
        self.person = live.people.find(message.channel, message.sender)
        if self.is_stranger:
            return
        live.people.note(message)
        self.sessions = tuple(
            scope for scope in live.people.list_scopes(message)
            if scope != self.key)

    @property
    def claim(self) -> Claim:
        return self.running.claim

    @property
    def platform(self) -> Channel | None:
        """What sends the answer; None where it is not configured."""
        found = self.channel or self.live.find(self.message.channel)
        return found.channel if found is not None else None

    async def keep_in_history(self) -> None:
        """The person's words, before the model is asked: a turn that is
        cancelled keeps them."""
        histories, message = self.desk.histories, self.message
        self.is_first = not await histories.get(self.key)
        self.known.update(*(
            find_urls(text) for text, labels in (
                *((row.message.content, row.message.labels)
                  for row in self.claim.rows),
                *((turn.content, turn.labels)
                  for turn in await histories.get(self.key)
                  if turn.role == "user")) if not labels))
        self.user_ops = (await histories.append(
            self.key, "user", message.content, message.labels,
            turn_id=self.claim.turn_id),)

    async def keep_interrupted(self) -> Sequence[HistoryOp]:
        """What was said of an answer that was stopped or broke off; none
        where nothing was."""
        last = self.said[-1:]
        if not (self.user_ops and last and isinstance(last[0], Chat)
                and last[0].message.role == "assistant"
                and last[0].message.content.endswith(INTERRUPTED)):
            return ()
        return (await self.desk.histories.append(
            self.key, "assistant",
            redact(last[0].message.content, self.live.secrets), self.labels,
            turn_id=self.claim.turn_id),)

    def make_plain(self, text: str) -> str:
        """What goes out. After foreign text no address in it is a link or
        an image, but those that the person or a search brought."""
        if not self.labels:
            return text
        known = self.known | self.found
        return without_fetches(make_plain(text, known), known)

    def reply(self, text: str) -> SendMessage:
        links = None
        if self.labels:
            links = tuple(sorted(url for url in self.known | self.found
                                 if url in text))
        return SendMessage(text, self.message.reply_target,
                           thread_ts=self.message.thread_ts,
                           files=not self.is_stranger, links=links,
                           answers=self.message.id)

    def build_send(self, source: str, text: str) -> NewSend:
        """A reply as an outbox row."""
        reply = self.reply(text)
        return NewSend(source, self.message.channel, reply,
                       split_parts(self.platform, reply))
