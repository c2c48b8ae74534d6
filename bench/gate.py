"""What a chat is shown: right memories kept, unrelated questions let in.

    python bench/gate.py DIRECTORY [--sets a,b] [--questions N]

DIRECTORY holds data sets as bench/recall.py reads them; a group's "none"
lists questions ({"q"} or text) that nothing in it answers. Every group is
stored; of each set one line is printed:

    data      the first figures of the file's SHA-256
    R@5       the share of a question's memories among the first five
    kept      how much of that passes memory.min_relevance_score
    injects   the share of unrelated questions of which anything passes
    AUC       how well the best score tells answered (a right one is among
              the five) from unrelated questions, 0.5 to 1
    at 10 %   the share of answered questions that pass where the threshold
              is set so that 10 % of the unrelated do: what one threshold of
              its own would give that set
    rows      how many memories an answered question is shown

The last line holds the means over the sets.
"""

import argparse
import hashlib
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import recall

from claw.core.memory import MIN_RELEVANCE

LIMIT = 5
COLUMNS = ("R@5", "kept", "injects", "AUC", "at 10 %", "rows")


class Asked(NamedTuple):
    """What a question got: the share of its memories in the first five,
    the share that passes, the best score, and how many pass."""

    found: float
    kept: float
    best: float
    rows: int


def ask(memory: recall.Memory, text: str, keys: frozenset[str]) -> Asked:
    entries = memory.recall(text, LIMIT)
    passed = [entry for entry in entries
              if entry.score is None or entry.score >= MIN_RELEVANCE]
    count = len(keys) or 1
    return Asked(sum(entry.key in keys for entry in entries) / count,
                 sum(entry.key in keys for entry in passed) / count,
                 max((1.0 if entry.score is None else entry.score
                      for entry in entries), default=0.0), len(passed))


def measure(path: Path, most: int | None) -> dict[str, float | None]:
    """The line of one set."""
    groups = recall.sampled(recall.read(path)[1], most)
    raw = json.loads(path.read_text("utf-8"))["groups"]
    answered: list[Asked] = []
    unrelated: list[Asked] = []
    for group, data in zip(groups, raw, strict=True):
        with recall.opened() as memory:
            for number, doc in enumerate(group.docs):
                recall.as_it_is(memory, doc, number)
            keys = {doc.id: doc.key for doc in group.docs}
            answered += [ask(memory, one.text, frozenset(
                keys[gold] for gold in one.gold)) for one in group.questions]
            unrelated += [ask(memory, one if isinstance(one, str)
                              else one["q"], frozenset())
                          for one in data.get("none", [])]
    mean = statistics.fmean
    found = mean(one.found for one in answered)
    right = [one for one in answered if one.found]
    others = sorted((one.best for one in unrelated), reverse=True)
    line: dict[str, float | None] = dict.fromkeys(COLUMNS)
    line |= {"R@5": found,
             "kept": mean(one.kept for one in answered) / (found or 1),
             "rows": mean(one.rows for one in right) if right else None}
    if others and right:
        bar = others[len(others) // 10]
        line |= {"injects": mean(one.rows > 0 for one in unrelated),
                 "AUC": find_auc([one.best for one in right], others),
                 "at 10 %": mean(one.best > bar for one in right)}
    return line


def find_auc(right: Sequence[float], others: Sequence[float]) -> float:
    """The chance that one of the first scores above one of the second."""
    return statistics.fmean(
        (mine > other) + (mine == other) / 2
        for mine in right for other in others)


def show(name: str, data: str, line: dict[str, float | None]) -> None:
    print(f"{name:18} {data:10}" + "".join(
        f" {'-' if value is None else f'{value:.3f}':>8}"
        for value in line.values()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sets", default="",
                        help="only files whose name holds one of these")
    parser.add_argument("--questions", type=int, default=None,
                        help="at most so many of each set")
    options = parser.parse_args()
    print(f"{'set':18} {'data':10}" + "".join(
        f" {name:>8}" for name in COLUMNS))
    lines = []
    for path in sorted(options.directory.glob("*.json")):
        if any(part in path.name for part in options.sets.split(",")):
            lines.append(measure(path, options.questions))
            show(path.stem, hashlib.sha256(path.read_bytes()).hexdigest()[
                :10], lines[-1])
    show("mean", "", {name: statistics.fmean(known) if (known := [
        value for line in lines if (value := line[name]) is not None])
        else None for name in COLUMNS})


if __name__ == "__main__":
    main()
