"""Settings -> the log; how turns get into it, and how one goes on from it.

A turn is written before the model is asked and again when it ended. What
stands in the way (a full disk, a damaged file) is said once and costs no
answer.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from claw.agent.history import collect_labels, decode, repair
from claw.agent.history import encode as encode_message
from claw.agent.rounds.cancel import TurnCancelled
from claw.agent.rounds.outcome import TurnResult
from claw.config.tree import Tree
from claw.core.errors import (
    NotFoundError,
    StorageError,
    UnavailableError,
    UsageError,
    describe,
)
from claw.core.labels import sort_labels
from claw.core.provider import Chat, ChatMessage, ConversationMessage
from claw.core.refusal import Refusal
from claw.core.value import replace
from claw.security.redact.redactor import Redactor
from claw.storage.log.entry import End, Entry, Outcome, Start, write_error
from claw.storage.log.reader import LogReader, open_reader
from claw.storage.log.settings import LogSettings
from claw.storage.log.writer import LogWriter
from claw.wiring.workspace.place_names import log_path


def read_log_settings(tree: Tree) -> LogSettings:
    """[log]."""
    return tree.decode("log", LogSettings)


def open_log(tree: Tree, redactor: Redactor) -> LogWriter | None:
    """What writes the log; None where it is off, or where nothing is kept
    in a workspace that does not count."""
    settings = read_log_settings(tree)
    if not settings.enabled or not tree.places.trusted:
        return None
    return LogWriter(log_path(tree.places), settings, record=redactor.record)


class TurnRecord:
    """One turn on its way into the log. `said` is what it brings into the
    conversation, `refused` what nobody allowed; `writer` None keeps
    nothing."""

    def __init__(self, writer: LogWriter | None, start: Start,
                 notify: Callable[[str], None],
                 cost: Callable[[str], float | None],
                 provider: str | None = None) -> None:
        self.said: list[ConversationMessage] = []
        self.refused: Sequence[Refusal] = ()
        self._writer = writer
        self._start = start
        self._notify = notify
        self._cost = cost
        self._provider = provider
        self._is_begun = False
        self._began = time.monotonic()

    def begin(self) -> None:
        """Write the question. Where that fails, `end` tries it again."""
        if self._writer is None:
            return
        try:
            self._writer.begin(self._start)
            self._is_begun = True
        except (StorageError, UnavailableError):
            pass  # end says it

    def end(self, result: TurnResult | None,
            error: BaseException | None = None) -> None:
        """Write what came of it."""
        if self._writer is None:
            return
        end = build_end(
            self.said, result, error, self.refused, provider=self._provider,
            cost=self._cost(self._start.id),
            seconds=time.monotonic() - self._began)
        try:
            if not self._is_begun:
                self._writer.begin(self._start)
            self._writer.end(self._start.id, end)
        except (StorageError, UnavailableError) as trouble:
            self._notify(f"the log does not keep this: {describe(trouble)}"
                         + (f" ({trouble.hint})" if trouble.hint else ""))


def build_end(said: Sequence[ConversationMessage],
              result: TurnResult | None, error: BaseException | None,
              refused: Sequence[Refusal] = (), *,
              provider: str | None = None, cost: float | None = None,
              seconds: float = 0.0) -> End:
    """The end of a turn: its message first, the answer last, and what is
    between are rounds of tools."""
    message = answer = None
    rounds = list(said)
    if rounds and (text := _read_text(rounds[0], "user")) is not None:
        message = text
        del rounds[0]
    if rounds and (text := _read_text(rounds[-1], "assistant")) is not None:
        answer = text
        del rounds[-1]
    facts: dict[str, Any] = {} if result is None else {
        "provider": result.provider or provider, "model": result.model,
        "input_tokens": result.usage.input_tokens,
        "output_tokens": result.usage.output_tokens}
    return End(
        _judge(error), answer or (result and result.text) or None, message,
        tuple(map(encode_message, rounds)),
        sort_labels(collect_labels(said)), cost=cost,
        duration_ms=round(seconds * 1000),
        error=write_error(None if error is None else describe(error)
                          or type(error).__name__, refused), **facts)


def _read_text(message: ConversationMessage, role: str) -> str | None:
    return (message.message.content if isinstance(message, Chat)
            and message.message.role == role else None)


def _judge(error: BaseException | None) -> Outcome:
    if error is None:
        return "answered"
    return "interrupted" if isinstance(error, (
        TurnCancelled, asyncio.CancelledError, KeyboardInterrupt)) \
        else "failed"


def read_chain(tree: Tree, wanted: str | None, most: int
               ) -> tuple[list[ConversationMessage], str | None]:
    """What was said up to an entry of the log, None: the last question
    without a session, and the entry's id; nothing where there is none yet.
    Raises NotFoundError for an unknown id, UsageError where the log is off,
    StorageError."""
    if not read_log_settings(tree).enabled:
        raise UsageError(
            "the log is off, and nothing is kept to go on from",
            hint="name a session with --session NAME, or turn it on: claw "
                 "config set log.enabled true")
    try:
        reader = open_reader(log_path(tree.places))
    except NotFoundError:
        if wanted is not None:
            raise
        return [], None
    with reader:
        last = (reader.last_question() if wanted is None
                else reader.get(wanted))
        return ([], None) if last is None else (
            read_messages(reader, last, most), last.id)


def read_messages(reader: LogReader, last: Entry, most: int
                  ) -> list[ConversationMessage]:
    """The conversation that ends with an entry, `most` entries at most,
    fit to go on from."""
    messages: list[ConversationMessage] = []
    for entry in reader.chain(last, most):
        messages.append(Chat(ChatMessage(
            "user", entry.message, entry.labels)))
        for record in entry.rounds:
            try:
                messages.append(decode(record))
            except StorageError:
                continue  # another program changed it
        if entry.answer:
            messages.append(Chat(ChatMessage(
                "assistant", entry.answer, entry.labels)))
    return repair(messages)


class ChannelLog:
    """The log of a running `claw listen`: turns of channels go on from the
    one before in their conversation, but for the first after /new. Trouble
    goes to `say`."""

    def __init__(self, writer: Callable[[], LogWriter | None],
                 say: Callable[[str], None]) -> None:
        self._writer = writer
        self._say = say

    async def write(self, turn_id: str, entry: Start | End) -> None:
        """Keep the beginning or the end of a turn."""
        writer = self._writer()
        if writer is None:
            return
        try:
            await asyncio.to_thread(_write, writer, turn_id, entry)
        except (StorageError, UnavailableError) as error:
            self._say(describe(error))


def _write(writer: LogWriter, turn_id: str, entry: Start | End) -> None:
    if isinstance(entry, End):
        writer.end(turn_id, entry)
        return
    parent = None if entry.is_first else writer.find_last(
        entry.session or "")
    writer.begin(replace(entry, parent=parent if parent != turn_id
                         else None))
