"""claw memory conflicts: memories that contradict each other."""

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from claw.agent.memory.conflicts.pairs import Pair, find_pairs
from claw.agent.memory.conflicts.settled import Ids, read_settled
from claw.cli.commands.memory.common import (
    CategoryOption,
    SessionOption,
    clean_category,
    format_label,
    open_memory,
    preview,
    require_keeping,
    show_progress,
    to_one_line,
)
from claw.cli.commands.memory.sparing import open_sparing
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import (
    JudgeCostOption,
    JudgeOption,
    JudgeProviderOption,
)
from claw.cli.show.output import is_terminal
from claw.core.errors import ExitCode, UsageError
from claw.core.memory import (
    Filters,
    KeepsForGood,
    KeepsVersions,
    Memory,
    MemoryEntry,
)
from claw.wiring.memory.conflicts import (
    find_forgotten,
    let_stand,
    pair_json,
    read_newest,
)

_KEYS = "1 keep the first, 2 keep the second, b both stand, s skip, q quit"
_LEAVE = ("q", "\x04", "\x1b")


@examples("claw memory conflicts", "claw memory conflicts --json | jq .total",
          "claw memory conflicts -m MODEL --max-cost 0.05")
def conflicts(
        context: typer.Context,
        rows: Annotated[int, typer.Option(
            "--rows", metavar="N", min=1,
            help="Number of memories to look at, newest first.")] = 20_000,
        category_name: CategoryOption = None,
        session: SessionOption = None,
        model: JudgeOption = None,
        provider: JudgeProviderOption = None,
        max_cost: JudgeCostOption = None,
        ) -> None:
    """Show memories that contradict each other; a key settles each pair.

    Found by the form of sentences ("I live in X", "I moved to Y"), in
    English, German, Korean, Chinese and Japanese; in other languages what
    is denied in the same words, and numbers. With -m or -p a model judges
    what recall finds near each other as well (it is sent what they say). On
    a terminal 1 or 2 keeps one of a pair and hides the other (claw memory
    undo brings it back); b keeps both for good. Exits 1 while pairs are
    left.
    """
    run = Invocation.of(context)
    by_model = model is not None or provider is not None
    if max_cost is not None and not by_model:
        raise UsageError("--max-cost without a model",
                         hint="name one with -m or -p")
    with open_sparing(run, vectors=False) if by_model \
            else open_memory(run) as memory:
        total = require_keeping(memory).count()
        filters = Filters(clean_category(category_name), session)
        found = find_pairs(show_progress(
            read_newest(memory, rows, filters), "reading memories",
            total=min(rows, total)))
        settled = read_settled(run.places.workspace)
        if by_model:
            from claw.cli.commands.memory.model_pairs import ROWS, judge
            found = judge(run, memory, [*read_newest(memory, ROWS, filters)],
                          found, settled, provider, model, max_cost)
    left = [pair for pair in found if pair.ids not in settled]
    if left and _asks(run):
        left = _settle(run, left, lambda: _find(run, rows, filters))
    else:
        _show(run, left)
    _say_rest(run, rows, total, has_found=bool(found), has_left=bool(left))
    if left:
        raise typer.Exit(ExitCode.NEGATIVE)


def _say_rest(run: Invocation, rows: int, total: int, *, has_found: bool,
              has_left: bool) -> None:
    if rows < total:
        run.out.note(f"the newest {rows:,} of {total:,} memories were looked "
                     "at (--rows)")
    if not has_left and not run.as_json:
        run.out.note("no contradictions are left that claw can tell"
                     if has_found else "no contradictions were found")


def _find(run: Invocation, rows: int, filters: Filters) -> list[Pair]:
    """What contradicts each other now, by rule."""
    with open_memory(run) as memory:
        return find_pairs(read_newest(memory, rows, filters))


def _asks(run: Invocation) -> bool:
    """Whether there is a person to decide."""
    return (not run.as_json and run.out.on_terminal
            and is_terminal(sys.stdin) and is_terminal(sys.stderr))


def _show(run: Invocation, pairs: Sequence[Pair]) -> None:
    if run.print_json_rows("conflicts", map(pair_json, pairs)):
        return
    for number, pair in enumerate(pairs):
        run.out.result("\n".join([*([""] if number else []),
                                  *_describe(pair)]))
    if pairs:
        run.out.note("on a terminal each pair is settled by a key; claw "
                     "memory forget KEY removes one anywhere")


def _describe(pair: Pair) -> list[str]:
    """A pair with both sources."""
    lines = [to_one_line(pair.why)]
    for number, (entry, says) in enumerate((
            (pair.newer, pair.newer_says), (pair.older, pair.older_says)), 1):
        source = ", ".join(to_one_line(part) for part in (
            entry.updated_at[:16].replace("T", " "),
            entry.sender and f"from {entry.sender}",
            entry.session_id and f"session {entry.session_id}",
            entry.source) if part)
        lines += [f"  {number}  {preview(says)}",
                  f"     {format_label(entry)} {source}"]
        if preview(says) != preview(entry.content):
            lines.append(f"     in: {preview(entry.content)}")
    return lines


def _settle(run: Invocation, pairs: list[Pair],
            find: Callable[[], list[Pair]]) -> list[Pair]:
    """Ask about each pair, and about those that show when one of a pair is
    dropped: of many that contradict each other the newest stands in each
    pair. Those that are left."""
    left: list[Pair] = []
    asked: set[frozenset[str]] = set()
    gone: set[str] = set()
    while pairs:
        dropped, stopped = len(gone), _ask_each(run, pairs, left, gone)
        asked.update(pair.ids for pair in pairs)
        if stopped or len(gone) == dropped:
            break
        settled = read_settled(run.places.workspace)
        pairs = [pair for pair in find()
                 if pair.ids not in asked and pair.ids not in settled]
    return [pair for pair in left
            if gone.isdisjoint((pair.newer.key, pair.older.key))]


def _ask_each(run: Invocation, pairs: list[Pair], left: list[Pair],
              gone: set[str]) -> bool:
    """Ask about each pair; every decision is kept before the next is asked
    for. Adds what is not settled to `left` and the keys that were dropped
    to `gone`; whether the person has had enough."""
    with open_memory(run, readonly=False) as memory:
        forgotten = find_forgotten(memory, run.places.workspace)
        for number, pair in enumerate(pairs):
            if not gone.isdisjoint((pair.newer.key, pair.older.key)):
                continue  # what it held against is settled
            run.out.result("\n".join(["", *_describe(pair)]))
            decision = _read_key(run)
            if decision in _LEAVE:
                left += pairs[number:]
                return True
            dropped = (_keep_one(run, memory, pair, first=decision == "1")
                       if decision in ("1", "2") else None)
            if decision == "b":
                _let_stand(run, pair, forgotten)
            elif dropped is not None:
                gone.add(dropped)
            else:
                left.append(pair)
    return False


def _read_key(run: Invocation) -> str:
    """A key that decides."""
    run.out.note(_KEYS)
    while True:
        try:
            key = typer.getchar().lower()
        except EOFError:  # Ctrl-D
            return _LEAVE[0]
        if key in ("1", "2", "b", "s", *_LEAVE):
            return key
        run.out.note(f"press one of: {_KEYS}")


def _keep_one(run: Invocation, memory: Memory, pair: Pair, *, first: bool
              ) -> str | None:
    """Keep one of a pair; the key of the other, None where nothing could
    be done."""
    kept, dropped = (pair.newer, pair.older) if first \
        else (pair.older, pair.newer)
    for one in (kept, dropped):
        now = memory.get(one.key)
        if now is None or now.id != one.id or now.superseded_by is not None:
            run.out.warn(f"{to_one_line(one.key)} was changed meanwhile; "
                         "nothing was done")
            return None
    return dropped.key if _drop(run, memory, kept, dropped) else None


def _drop(run: Invocation, memory: Memory, kept: MemoryEntry,
          dropped: MemoryEntry) -> bool:
    """Let one memory hold in the place of the other; whether it does."""
    name = to_one_line(shlex.quote(dropped.key))
    if isinstance(memory, KeepsVersions):
        done = memory.supersede(dropped.key, kept.key)
        run.out.note(f"{name} is found no longer (claw memory undo {name} "
                     "brings it back)" if done
                     else f"{name} can't be superseded by the other")
        return done
    if isinstance(memory, KeepsForGood):
        run.out.warn(f"{name} stays: {memory.why_kept(dropped.key)}")
        return False
    if not typer.confirm(f"{memory.name} keeps no history: forget {name} "
                         "for good?", err=True):
        return False
    return memory.forget(dropped.key)


def _let_stand(run: Invocation, pair: Pair, forgotten: Ids) -> None:
    let_stand(run.places.workspace, pair.ids, forgotten)
    run.out.note("both stand, and are not shown again")
