"""Noticing that a turn goes round in circles.

Three signs over the last calls: the same call again and again, two tools
taking turns, one tool that returns the same whatever it is asked. A sign is
first a warning to the model, then a block, then the end of the turn.
"""

import json
from collections import deque
from collections.abc import Collection, Mapping
from itertools import takewhile
from typing import Any, Literal

import msgspec

Verdict = Literal["ok", "warning", "block", "break"]

_PING_PONG_CYCLES = 4
_NO_PROGRESS = 5
_SAME_ROUNDS = 3


class Finding(msgspec.Struct, frozen=True):
    """What the detector says after a call."""

    verdict: Verdict
    reason: str = ""

    @property
    def note(self) -> str:
        """The line that the model reads."""
        blocked = " — BLOCKED" if self.verdict == "block" else ""
        return f"[Loop Detection{blocked}] {self.reason}"


OK = Finding("ok")


class _Call(msgspec.Struct, frozen=True):
    name: str
    arguments: str
    output: int


def canonical(arguments: Mapping[str, Any]) -> str:
    """Arguments as JSON with sorted keys: equal calls give equal text."""
    return json.dumps(arguments, sort_keys=True, default=str)


class LoopDetector:
    """Watches one turn."""

    def __init__(self, *, enabled: bool = True, window: int = 20,
                 max_repeats: int = 3,
                 ignored: Collection[str] = ()) -> None:
        self._enabled = enabled
        self._repeats = max(2, max_repeats)
        self._ignored = frozenset(ignored)
        self._calls: deque[_Call] = deque(maxlen=max(window, 1))
        self._rounds: deque[str] = deque(maxlen=_SAME_ROUNDS)

    def record(self, name: str, arguments: Mapping[str, Any],
               output: str) -> Finding:
        """Take a finished call in; the first sign that shows."""
        if not self._enabled or name in self._ignored:
            return OK
        self._calls.append(_Call(name, canonical(arguments), hash(output)))
        for find in (self._find_repeats, self._find_ping_pong,
                     self._find_no_progress):
            if (finding := find()).verdict != "ok":
                return finding
        return OK

    def same_round(self, output: str) -> bool:
        """Whether three rounds in a row had exactly this output."""
        self._rounds.append(output)
        return (len(self._rounds) == _SAME_ROUNDS
                and len(set(self._rounds)) == 1)

    def _find_repeats(self) -> Finding:
        last = self._calls[-1]
        times = _count_run(
            call.name == last.name and call.arguments == last.arguments
            for call in reversed(self._calls))
        return _grade(times - self._repeats,
                       f"{last.name} was called {times} times in a row with "
                       "the same arguments; try something else")

    def _find_ping_pong(self) -> Finding:
        names = [call.name for call in self._calls]
        if len(names) < 2 or names[-1] == names[-2]:
            return OK
        length = _count_run(name == names[-1 - index % 2]
                            for index, name in enumerate(reversed(names)))
        cycles = length // 2
        return _grade(cycles - _PING_PONG_CYCLES,
                       f"{names[-2]} and {names[-1]} took turns {cycles} "
                       "times; try something else")

    def _find_no_progress(self) -> Finding:
        last = self._calls[-1]
        times = _count_run(
            call.name == last.name and call.output == last.output
            for call in reversed(self._calls))
        recent = list(self._calls)[-times:]
        if len({call.arguments for call in recent}) < 2:
            return OK
        return _grade(times - _NO_PROGRESS,
                       f"{last.name} returned the same {times} times "
                       "whatever it was asked; try something else")


def _count_run(flags: Any) -> int:
    """How many are true before the first that is not."""
    return sum(1 for _ in takewhile(bool, flags))


def _grade(over: int, reason: str) -> Finding:
    """At the limit a warning, one more a block, then the end."""
    if over < 0:
        return OK
    return Finding("warning" if over == 0 else "block" if over == 1
                   else "break", reason)
