"""What is said in the session of bench/turn.py: a seeded mix of turns.

A turn is known by its number; the person's words and the model's answers
follow from number and seed alone, so that both sides know them.
"""

import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

# Every twenty turns hold each of these, in an order of their own.
BLOCK = ("plain",) * 4 + ("one",) * 3 + ("parallel",) * 2 + (
    "chain", "failing", "failing", "loop", "endless", "malformed", "long",
    "image", "stop_stream", "stop_tool", "overflow", "late_overflow")
# Right behind the time that stands in front of what a person wrote.
MARK = re.compile(r"\[20\d\d-[^\]\n]{1,40}\] turn (\d+) \((\w+)\)")


class Step(NamedTuple):
    """What the model does next: (name, arguments as JSON text) in `calls`;
    `fault` is "stall", "silence", "overflow" or "malformed"."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    fault: str = ""


@cache
def _order(seed: int, block: int) -> list[str]:
    kinds = list(BLOCK)
    random.Random(f"{seed} {block}").shuffle(kinds)
    if not block:  # something must be there that can be cut short
        kinds.sort(key=lambda kind: "overflow" in kind)
    return kinds


def kind_of(seed: int, number: int) -> str:
    """The kind of a turn; the first has number 1."""
    block, index = divmod(number - 1, len(BLOCK))
    return _order(seed, block)[index]


@cache
def _text() -> list[str]:
    """The words of our own pages, as they stand: a language that people
    speak, since what a memory costs depends on it."""
    pages = sorted(Path(__file__).parents[2].glob("docs/*.md"))
    return re.findall(r"[A-Za-z]+", "\n".join(
        page.read_text() for page in pages))


@cache
def words(seed: int, number: int, count: int) -> str:
    """So many words in a row, from somewhere in the text."""
    start = random.Random(f"{seed} {number}").randrange(
        len(_text()) - count)
    return " ".join(_text()[start:start + count])


def message(seed: int, number: int) -> str:
    """What the person writes."""
    kind = kind_of(seed, number)
    image = " [IMAGE:picture.png]" if kind == "image" else ""
    return (f"turn {number} ({kind}) {words(seed, number, 5 + number % 25)}"
            f"{image} so far {number}.")


def step(seed: int, number: int, rounds: int, corrected: bool,
         struck: bool) -> Step:
    """What the model does after so many rounds of tools. `corrected`: it
    was told that a call can't be read; `struck`: it has refused already."""
    kind = kind_of(seed, number)
    answer = Step(f"answer {number}: {words(seed, -number, 40)}")
    if (kind == "overflow" and not struck) \
            or (kind == "late_overflow" and rounds == 1 and not struck):
        return Step(fault="overflow")
    if kind == "stop_stream":
        return Step(answer.text, fault="stall" if number % 2 else "silence")
    if kind == "malformed" and not rounds and not corrected:
        return Step(calls=(("file_read", '{"path": "notes.t'),),
                    fault="malformed")
    calls = _calls(seed, kind, number, rounds)
    return Step("" if rounds % 2 else f"round {rounds}", calls) if calls \
        else answer


def _calls(seed: int, kind: str, number: int, rounds: int
           ) -> tuple[tuple[str, str], ...]:
    last = {"one": 1, "parallel": 1, "chain": 4, "failing": 2,
            "malformed": 1, "long": 2, "late_overflow": 2, "stop_tool": 1,
            "loop": 99, "endless": 99}.get(kind, 0)
    if rounds >= last:
        return ()
    if kind == "parallel":
        return tuple(_one(seed, number, rounds, i) for i in range(3))
    if kind == "loop":
        return (_call("file_read", path="notes.txt"),)
    if kind == "endless":
        return (_call("calculator", expression=f"{number} * {rounds} + 1"),)
    if kind == "long":
        return (_call("file_read", path="long.txt") if rounds else
                _call("shell", command=f"seq {number} 30000"),)
    if kind == "failing":
        return (_call("file_read", path=f"missing-{number}.txt"),
                (("no_such_tool", "{}") if rounds else
                 _call("shell", command="ls /no/such/folder")))
    if kind == "stop_tool":
        return (_call("calculator", expression="6 * 7"),
                _call("shell", command="sleep 30"))
    return (_one(seed, number, rounds, 0),)


def _one(seed: int, number: int, rounds: int, index: int
         ) -> tuple[str, str]:
    said = words(seed, number * 10 + rounds, 12)
    return (
        _call("file_write", path=f"n{number}.txt", content=said),
        _call("file_read", path="notes.txt"),
        _call("file_edit", path="counter.txt", old_string="one",
              new_string="one one"),
        _call("shell", command=f"echo {number} {rounds}"),
        _call("content_search", pattern="harbour", path="notes.txt"),
        _call("memory_store", key=f"k{number}-{rounds}", content=said),
        _call("memory_recall", query="green tea"),
        _call("calculator", expression=f"{number} ** {rounds + 2}"),
    )[(number + 3 * rounds + index) % 8]


def _call(name: str, /, **arguments: Any) -> tuple[str, str]:
    return name, json.dumps(arguments, ensure_ascii=False)
