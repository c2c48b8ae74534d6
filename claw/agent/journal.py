"""The journal of a running turn, and a turn taken up again from it.

Each step is written down before the next one is made: the calls of a round
before any of them runs, a call's start before its tool does anything, its
result before the model reads it. A process that is killed repeats the turn;
what its journal knows is not done twice. A call that was started and has no
result may have done its work or not: the model is told so.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from claw.agent.history import decode, encode
from claw.core.errors import StorageError
from claw.core.provider import AssistantToolCalls

UNKNOWN_OUTCOME = ("[interrupted: the process ended while this ran; its "
                   "outcome is unknown. Look before you repeat it.]")

Step: TypeAlias = Literal["calls", "started", "finished"]
Entry: TypeAlias = tuple[str, Mapping[str, Any]]


class Journal(Protocol):
    """Where a turn writes its steps. Each call returns once the step is
    safe; a StorageError ends the turn."""

    async def calls(self, message: AssistantToolCalls) -> None:
        """The model asked for these; none of them has run."""

    async def started(self, call_id: str) -> None:
        """The gate has let this call pass; it runs next."""

    async def finished(self, call_id: str, output: str, success: bool,
                       labels: Collection[str] = ()) -> None:
        """What the model will read of a call (it ran or was refused), and
        the origins of foreign text that the turn has read so far."""


class EntryJournal:
    """A journal over one function that keeps (kind, data), data being
    fit for JSON; `rounds_of` reads them back."""

    def __init__(self, write: Callable[[Step, dict[str, Any]],
                                       Awaitable[None]]) -> None:
        self._write = write

    async def calls(self, message: AssistantToolCalls) -> None:
        await self._write("calls", encode(message))

    async def started(self, call_id: str) -> None:
        await self._write("started", {"id": call_id})

    async def finished(self, call_id: str, output: str, success: bool,
                       labels: Collection[str] = ()) -> None:
        data: dict[str, Any] = {"id": call_id, "output": output,
                                "success": success}
        if labels:
            data["labels"] = sorted(labels)
        await self._write("finished", data)


class ResumedRound(msgspec.Struct, frozen=True):
    """A round as a journal knows it: `results` is call id -> (output,
    success), `labels` what the turn had read by then."""

    calls: AssistantToolCalls
    started: frozenset[str] = frozenset()
    results: Mapping[str, tuple[str, bool]] = msgspec.field(
        default_factory=dict)
    labels: frozenset[str] = frozenset()


def rounds_of(entries: Iterable[Entry]) -> list[ResumedRound]:
    """The rounds that entries (kind, data) tell of, in order.

    A step belongs to the latest round. Raises StorageError for an entry
    that is none.
    """
    rounds: list[ResumedRound] = []
    for kind, data in entries:
        try:
            if kind == "calls":
                rounds.append(_opened(data))
            else:
                rounds.append(_noted(rounds.pop(), kind, data))
        except (KeyError, TypeError, IndexError, ValueError,
                AttributeError, StorageError) as error:
            raise StorageError(
                f"the journal of a turn is damaged: {kind!r} "
                f"{str(data)[:80]}",
                hint="the turn can't go on where it was; ask again") from error
    return rounds


def _opened(data: Mapping[str, Any]) -> ResumedRound:
    message = decode(dict(data))
    if not isinstance(message, AssistantToolCalls):
        raise ValueError("no calls")
    return ResumedRound(message)


def _noted(at: ResumedRound, kind: str,
           data: Mapping[str, Any]) -> ResumedRound:
    """The round with one more step."""
    call_id = data["id"]
    if all(call_id != call.id for call in at.calls.tool_calls):
        raise ValueError(call_id)
    if kind == "started":
        return msgspec.structs.replace(at, started=at.started | {call_id})
    if kind != "finished":
        raise ValueError(kind)
    output, success = data["output"], data["success"]
    if not isinstance(output, str) or not isinstance(success, bool):
        raise TypeError(output)
    return msgspec.structs.replace(
        at, results={**at.results, call_id: (output, success)},
        labels=at.labels | _words(data.get("labels", ())))


def _words(value: Any) -> frozenset[str]:
    if not isinstance(value, list | tuple) or not all(
            isinstance(word, str) for word in value):
        raise TypeError(value)
    return frozenset(value)
