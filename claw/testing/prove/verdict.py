"""What people got, against what they wrote. Pure.

The scripted model answers "re:" and the message, so an answer names the
message that it is for.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import NamedTuple

ANSWER = "re:"
MARK = "(possibly repeated) "
TROUBLE = "⚠️"


class Said(NamedTuple):
    """A text in a chat, from a person or for one."""

    chat: str
    text: str


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of one run.

    `duplicated` answers came again without a note, `marked` ones with it;
    `out_of_order` counts neighbours in a chat that stand the wrong way
    round, `strays` placeholders that nothing took the place of, `told`
    messages that were answered with an error, `strange` texts that answer
    nothing that was written.
    """

    messages: int = 0
    lost: int = 0
    duplicated: int = 0
    marked: int = 0
    out_of_order: int = 0
    strays: int = 0
    told: int = 0
    strange: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, f.name) + getattr(other, f.name)
                       for f in fields(Tally)))


def answer_to(text: str) -> str:
    return ANSWER + text


def judge(wrote: Iterable[Said], got: Iterable[Said], *,
          strays: int = 0) -> Tally:
    """Count. Every message of a chat has a text of its own; `got` is in
    the order in which it stands in each chat."""
    asked, answers = _by_chat(wrote), _by_chat(got)
    total = Tally(strays=strays)
    for chat in {**asked, **answers}:
        total += _judge_chat(asked[chat], answers[chat])
    return total


def _judge_chat(asked: Sequence[str], got: Sequence[str]) -> Tally:
    place = {answer_to(text): n for n, text in enumerate(asked)}
    plain: Counter[int] = Counter()
    marked: Counter[int] = Counter()
    order: list[int] = []
    told = strange = 0
    for text in got:
        bare = text.removeprefix(MARK)
        if bare in place:
            (plain if bare is text else marked)[place[bare]] += 1
            order.append(place[bare])
        elif bare.startswith(TROUBLE):
            told += 1
        else:
            strange += 1
    missing = len(place.keys()) - len({*plain, *marked})
    return Tally(
        messages=len(asked), lost=max(0, missing - told),
        duplicated=sum(n - 1 for n in plain.values()),
        marked=sum(marked.values()),
        out_of_order=sum(a > b for a, b in pairwise(order)),
        told=min(told, missing), strange=strange + max(0, told - missing))


def kept_wrong(wrote: Iterable[Said],
               kept: Iterable[Sequence[str]]) -> int:
    """How many conversations are not kept as they went: each message and
    its answer once, in order."""
    right = Counter(tuple(line for text in texts
                          for line in (text, answer_to(text)))
                    for texts in _by_chat(wrote).values())
    return max((right - Counter(map(tuple, kept))).total(),
               (Counter(map(tuple, kept)) - right).total())


def broken(tally: Tally, *, kills: int, edits: bool,
           may_fail: bool = False) -> list[str]:
    """The promises that a run broke, in words. `edits`: the channel can
    edit, so that nothing may come twice at all; `may_fail`: errors are
    honest answers here."""
    found = []
    if tally.lost:
        found.append(f"{tally.lost} of {tally.messages} messages were lost")
    if tally.duplicated:
        found.append(f"{tally.duplicated} answers came twice without a note")
    if edits and tally.marked:
        found.append(f"{tally.marked} answers were sent again in a channel "
                     "that can edit")
    if tally.marked > kills:
        found.append(f"{tally.marked} answers were repeated after {kills} "
                     "kills: more than one a kill")
    if tally.out_of_order:
        found.append(f"{tally.out_of_order} answers stand in the wrong "
                     "order")
    if tally.strange:
        found.append(f"{tally.strange} texts answer nothing")
    if tally.told and not may_fail:
        found.append(f"{tally.told} messages were answered with an error")
    return found


def _by_chat(said: Iterable[Said]) -> "defaultdict[str, list[str]]":
    chats: defaultdict[str, list[str]] = defaultdict(list)
    for chat, text in said:
        chats[chat].append(text)
    return chats
