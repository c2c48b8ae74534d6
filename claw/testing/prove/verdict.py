"""What people got, against what they wrote. Pure.

An answer is known by its pieces: the paragraphs of its text, and its file.
Each names the message that it is for, so that a piece that is missing,
came twice or stands in the wrong place is seen, however a channel splits.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import NamedTuple

from claw.testing.prove.answers import FILE, LONG, answer_to, pieces

MARK = "(possibly repeated) "
TROUBLE = "⚠️"
PLACEHOLDER = "…"


class Said(NamedTuple):
    """A text of a person in a chat."""

    chat: str
    text: str


class Got(NamedTuple):
    """A message of the service in a chat. `first` is the text with which
    it notified (None: this one; "": silently), `gone` whether it was
    deleted. A file is its content, behind the mark of its caption."""

    chat: str
    text: str
    first: str | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of one run.

    `duplicated` short answers, `parts` of long ones and `files` came again
    without a note, `marked` messages with it; `out_of_order` counts
    neighbours in a chat that stand the wrong way round, `notices`
    notifications that showed something else than the answer, `strays`
    placeholders and half answers that were left, `told` messages that were
    answered with an error, `strange` texts that answer nothing.
    """

    messages: int = 0
    lost: int = 0
    duplicated: int = 0
    parts: int = 0
    files: int = 0
    marked: int = 0
    out_of_order: int = 0
    notices: int = 0
    strays: int = 0
    told: int = 0
    strange: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, f.name) + getattr(other, f.name)
                       for f in fields(Tally)))


def judge(wrote: Iterable[Said], got: Iterable[Got]) -> Tally:
    """Count. Every message of a chat has a text of its own; `got` is in
    the order in which it stands in each chat."""
    asked: defaultdict[str, list[str]] = defaultdict(list)
    answers: defaultdict[str, list[Got]] = defaultdict(list)
    for said in wrote:
        asked[said.chat].append(said.text)
    for message in got:
        answers[message.chat].append(message)
    total = Tally()
    for chat in {**asked, **answers}:
        total += _judge_chat(asked[chat], answers[chat])
    return total


_Piece = tuple[int, int]  # the number of a message, and of its piece


def _judge_chat(asked: Sequence[str], got: Sequence[Got]) -> Tally:
    place = {piece: (n, k) for n, text in enumerate(asked)
             for k, piece in enumerate(pieces(text))}
    plain: Counter[_Piece] = Counter()
    seen: set[_Piece] = set()
    starts: list[_Piece] = []
    swapped = marked = strays = told = strange = 0
    for message in got:
        if message.gone:
            continue
        bare = message.text.removeprefix(MARK)
        found = _find(bare, place)
        if found:
            seen.update(found)
            starts.append(found[0])
            swapped += _count_swapped(found)
            if bare is message.text:
                plain.update(found)
            else:
                marked += 1
        elif bare.startswith(TROUBLE):
            told += 1
        elif _is_half(bare, place):
            strays += 1
        else:
            strange += 1
    missing = len({n for n, _ in set(place.values()) - seen})
    again = Counter[str]()
    for (n, k), times in plain.items():
        again[_kind(asked[n], k)] += times - 1
    return Tally(
        messages=len(asked), lost=max(0, missing - told),
        duplicated=again["text"], parts=again["part"], files=again["file"],
        marked=marked, out_of_order=swapped + _count_swapped(starts),
        notices=sum(not _shows_answer(m, place) for m in got),
        strays=strays, told=min(told, missing),
        strange=strange + max(0, told - missing))


def _count_swapped(order: Iterable[_Piece]) -> int:
    return sum(a > b for a, b in pairwise(order))


def _find(text: str, place: Mapping[str, _Piece]) -> list[_Piece]:
    """The pieces that a message holds; [] where it holds anything else."""
    found = [place.get(piece) for piece in text.split("\n\n")]
    return [piece for piece in found if piece is not None] \
        if None not in found else []


def _is_half(text: str, place: Mapping[str, _Piece]) -> bool:
    """Whether this is a placeholder, or an answer that breaks off."""
    *whole, last = text.removesuffix(PLACEHOLDER).rstrip().split("\n\n")
    return text == PLACEHOLDER or (
        all(piece in place for piece in whole)
        and any(piece.startswith(last) for piece in place))


def _kind(asked: str, k: int) -> str:
    """What the piece `k` of an answer is."""
    if asked.startswith(LONG):
        return "part"
    return "file" if asked.startswith(FILE) and k else "text"


def _shows_answer(message: Got, place: Mapping[str, _Piece]) -> bool:
    """Whether the notification showed the answer, or an error."""
    first = message.text if message.first is None else message.first
    bare = first.removeprefix(MARK)
    return first == "" or bare.startswith(TROUBLE) \
        or bool(_find(bare, place))


def kept_wrong(wrote: Iterable[Said],
               kept: Iterable[Sequence[str]]) -> int:
    """How many conversations are not kept as they went: each message and
    its answer once, in order."""
    chats: defaultdict[str, list[str]] = defaultdict(list)
    for chat, text in wrote:
        chats[chat] += [text, answer_to(text)]
    right = Counter(map(tuple, chats.values()))
    found = Counter(map(tuple, kept))
    return max((right - found).total(), (found - right).total())


def broken(tally: Tally, *, kills: int, doubts: int,
           may_fail: bool = False) -> list[str]:
    """The promises that a run broke, in words. `doubts`: how many messages
    a strike may leave in doubt, so that they come again with a note;
    `may_fail`: errors are honest answers here."""
    found = []
    if tally.lost:
        found.append(f"{tally.lost} of {tally.messages} messages were lost")
    for count, what in ((tally.duplicated, "answers"),
                        (tally.parts, "parts of long answers"),
                        (tally.files, "files")):
        if count:
            found.append(f"{count} {what} came twice without a note")
    if tally.marked > kills * doubts:
        found.append(f"{tally.marked} messages were repeated after {kills} "
                     f"strikes: more than {doubts} for each")
    if tally.out_of_order:
        found.append(f"{tally.out_of_order} answers stand in the wrong "
                     "order")
    if tally.notices:
        found.append(f"{tally.notices} notifications did not show the "
                     "answer")
    if tally.strays:
        found.append(f"{tally.strays} placeholders or half answers were "
                     "left")
    if tally.strange:
        found.append(f"{tally.strange} texts answer nothing")
    if tally.told and not may_fail:
        found.append(f"{tally.told} messages were answered with an error")
    return found
