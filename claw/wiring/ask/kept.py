"""Where a question is kept, and what was said there before.

Every question is a conversation of its own in the log; `--continue` goes on
in the last one and `--cid` from any. One that names a session is kept in its
file too, which then says what was said before.
"""

import asyncio

from claw.agent.conversation import Conversation
from claw.agent.history import encode
from claw.agent.rounds.outcome import TurnResult
from claw.config.tree import Tree
from claw.core.errors import StorageError, UnavailableError
from claw.core.provider import ConversationMessage
from claw.core.turn import TurnContext
from claw.storage.log.entry import Start
from claw.wiring.ask.question import Question, Watch
from claw.wiring.compose import Parts
from claw.wiring.workspace.log import TurnRecord, open_log, read_chain
from claw.wiring.workspace.sessions import load_history, open_sessions


class KeptQuestion:
    """One question, kept as it says."""

    def __init__(self, tree: Tree, parts: Parts, question: Question,
                 watch: Watch) -> None:
        self._tree = tree
        self._parts = parts
        self._question = question
        self._notify = watch.notify
        self._before_writing = watch.before_writing
        self._store = open_sessions(tree.places, parts.redactor)
        self._log = open_log(tree, parts.redactor) if question.keep else None
        self._parent: str | None = None
        self._record: TurnRecord | None = None

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def load(self, limit: int) -> Conversation:
        """The conversation so far, `limit` messages at most."""
        conversation = Conversation(self._load_history(limit))
        conversation.trim(limit)
        return conversation

    def _load_history(self, limit: int) -> list[ConversationMessage]:
        question = self._question
        if question.session is not None:
            history = load_history(self._store, question.session,
                                   self._notify)
            if history:
                self._parent = self._find_last(question.session)
            return history
        if not (question.continued or question.cid):
            return []
        history, self._parent = read_chain(self._tree, question.cid, limit)
        if self._parent is None:
            self._notify("there is no question to go on from: this one "
                         "begins a conversation")
        return history

    def _find_last(self, session: str) -> str | None:
        """The entry that a session ends with; None also where the log
        can't be read, as its keeping will say."""
        try:
            return (None if self._log is None
                    else self._log.find_last(session))
        except (StorageError, UnavailableError):
            return None

    def begin(self, context: TurnContext, question: Question, message: str,
              conversation: Conversation, *, at_once: bool) -> None:
        """Note what is said from here on. With `at_once` the question is
        written before it is asked, else with its answer."""
        choice = self._parts.choice
        self._record = TurnRecord(self._log, Start(
            context.turn_id, "ask", question.prompt,
            message.removeprefix(question.prompt), self._parent,
            question.session, provider=choice.shown, model=choice.model,
            system=question.system, passages=tuple(
                passage.source for passage in question.passages)),
            self._notify, self._parts.ledger.turn_cost, choice.shown)
        self._record.refused = context.refused
        conversation.on_push = self._record.said.append
        if at_once and self._question.keep:
            self._before_writing()
            self._record.begin()

    def drop(self) -> None:
        """Nobody was asked and nothing was answered: keep nothing."""
        self._record = None

    async def end(self, result: TurnResult | None,
                  error: BaseException | None = None) -> None:
        """Write what was said, with its images. A disk that is full costs
        these and the next `--continue`, not this answer; a named session
        says so: StorageError."""
        if self._record is None or not self._question.keep:
            return
        self._before_writing()
        self._record.end(result, error)
        said, session = self._record.said, self._question.session
        if self._log is None and not session:
            return
        if self._question.has_images and (len(said) > 1 or session):
            try:
                await asyncio.to_thread(self._parts.images().keep)
            except StorageError as trouble:
                self._notify(f"the images can't be kept: {trouble.message}")
        if session is not None:
            self._store.append(session, map(encode, said))
