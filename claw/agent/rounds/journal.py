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
from claw.core.refusal import Refusal

UNKNOWN_OUTCOME = ("[interrupted: the process ended while this ran; its "
                   "outcome is unknown. Look before you repeat it.]")

Step: TypeAlias = Literal["calls", "started", "finished"]
Entry: TypeAlias = tuple[str, Mapping[str, Any]]


class Journal(Protocol):
    """Where a turn writes its steps. Each call returns once the step is
    safe; a StorageError ends the turn."""

    async def note_calls(self, message: AssistantToolCalls) -> None:
        """The model asked for these; none of them has run."""

    async def note_start(self, call_id: str) -> None:
        """The gate has let this call pass; it runs next."""

    async def note_result(self, call_id: str, output: str, success: bool,
                          labels: Collection[str] = (),
                          refused: Collection[Refusal] = ()) -> None:
        """What the model will read of a call (it ran or was refused), the
        origins of foreign text that the turn has read so far, and what
        nobody has said yes to."""


class EntryJournal:
    """A journal over one function that keeps (kind, data), data being
    fit for JSON; `read_rounds` reads them back."""

    def __init__(self, write: Callable[[Step, dict[str, Any]],
                                       Awaitable[None]]) -> None:
        self._write = write

    async def note_calls(self, message: AssistantToolCalls) -> None:
        await self._write("calls", encode(message))

    async def note_start(self, call_id: str) -> None:
        await self._write("started", {"id": call_id})

    async def note_result(self, call_id: str, output: str, success: bool,
                          labels: Collection[str] = (),
                          refused: Collection[Refusal] = ()) -> None:
        data: dict[str, Any] = {"id": call_id, "output": output,
                                "success": success}
        if labels:
            data["labels"] = sorted(labels)
        if refused:
            data["refused"] = [one.to_json() for one in refused]
        await self._write("finished", data)


class ResumedRound(msgspec.Struct, frozen=True):
    """A round as a journal knows it: `results` is call id -> (output,
    success), `labels` what the turn had read by then, and `refused` what
    nobody had said yes to."""

    calls: AssistantToolCalls
    started: frozenset[str] = frozenset()
    results: Mapping[str, tuple[str, bool]] = msgspec.field(
        default_factory=dict)
    labels: frozenset[str] = frozenset()
    refused: tuple[Refusal, ...] = ()


def read_rounds(entries: Iterable[Entry]) -> list[ResumedRound]:
    """The rounds that entries (kind, data) tell of, in order.

    A step belongs to the latest round. Raises StorageError for an entry
    that is none.
    """
    rounds: list[ResumedRound] = []
    for kind, data in entries:
        try:
            if kind == "calls":
                message = decode(dict(data))
                if not isinstance(message, AssistantToolCalls):
                    raise ValueError("no calls")
                rounds.append(ResumedRound(message))
            else:
                rounds.append(_add_step(rounds.pop(), kind, data))
        except (KeyError, TypeError, IndexError, ValueError,
                AttributeError, StorageError) as error:
            raise StorageError(
                f"the journal of a turn is damaged: {kind!r} "
                f"{str(data)[:80]}",
                hint="the turn can't go on where it was; ask again") from error
    return rounds


def _add_step(at: ResumedRound, kind: str,
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
    labels = data.get("labels", ())
    if not (isinstance(output, str) and isinstance(success, bool)
            and isinstance(labels, list | tuple)
            and all(isinstance(label, str) for label in labels)):
        raise TypeError(data)
    return msgspec.structs.replace(
        at, results={**at.results, call_id: (output, success)},
        labels=at.labels.union(labels), refused=tuple(
            Refusal(**one) for one in data.get("refused", ()))
        or at.refused)
