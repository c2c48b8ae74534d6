"""claw memory reindex and check: keep the memory findable and whole."""

from collections.abc import Sequence
from typing import Annotated

import typer

from claw.cli.check_list import failed, show
from claw.cli.commands.memory_io import Progress, opened
from claw.cli.commands.memory_salvage import (
    newly_aside,
    put_aside,
    salvaged,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import (
    ClawError,
    ConfigError,
    ExitCode,
    StorageError,
)
from claw.core.memory import (
    EmbedsMemories,
    Inspection,
    InspectsMemory,
    Memory,
    RepairsMemory,
)
from claw.memory.importers.migration import back_up
from claw.memory.mending import changes_rows
from claw.memory.snapshot import is_current
from claw.memory.sqlite import FILE, SNAPSHOT
from claw.wiring.checks import Check
from claw.wiring.memory_checks import (
    aside_checks,
    kept_aside,
    seen_as_check,
)

_HOW = "claw config set memory.embedding_provider local"


@examples("claw memory reindex", "claw memory reindex --vectors",
          "claw memory reindex --words --json")
def reindex(context: typer.Context,
            words: Annotated[bool, typer.Option(
                "--words", help="Only the word index.")] = False,
            vectors: Annotated[bool, typer.Option(
                "--vectors", help="Only the vectors that are missing.")
                ] = False) -> None:
    """Make the search index and missing vectors anew.

    Vectors are kept batch by batch: after an error or Ctrl-C the same
    command goes on where it ended.
    """
    run = Invocation.of(context)
    both = words == vectors
    with opened(run, readonly=False) as memory:
        indexed = _index_words(run, memory, words) if both or words else None
        made = _embed(run, memory, vectors) if both or vectors else None
        left = memory.unembedded() if made is not None and isinstance(
            memory, EmbedsMemories) else None
    if run.as_json:
        run.out.document({"words": indexed, "vectors": None if made is None
                          else {"made": made, "missing": left}})
        return
    if indexed is not None:
        run.out.result(f"words: {indexed}")
    if made is not None:
        run.out.result(f"vectors: {made} made, {left} missing")


def _index_words(run: Invocation, memory: Memory, asked: bool) -> int | None:
    if not isinstance(memory, InspectsMemory):
        _refuse(run, asked, f"the backend {memory.name} keeps no word index",
                "nothing is to be done")
        return None
    with run.out.waiting("making the word index"):
        return memory.reindex()


def _embed(run: Invocation, memory: Memory, asked: bool) -> int | None:
    if not isinstance(memory, EmbedsMemories) or memory.embedder is None:
        if asked:
            _refuse(run, asked, "no vectors are configured", _HOW)
        return None
    total = memory.unembedded()
    done = 0
    with Progress("vectors", total, quiet=run.out.quiet) as progress:
        def heard(number: int) -> None:
            nonlocal done
            done = number
            progress.update(number)

        try:
            return memory.embed_missing(heard)
        except ClawError as error:
            progress.clear()
            error.message += f" ({done:,} of {total:,} vectors were made " \
                             "and are kept)"
            error.hint = "; ".join(filter(None, (
                error.hint, "then go on: claw memory reindex --vectors")))
            raise


def _refuse(run: Invocation, asked: bool, text: str, hint: str) -> None:
    """An error where it was asked for, else worth a word."""
    if asked:
        raise ConfigError(text, hint=hint)
    run.out.note(text)


@examples("claw memory check", "claw memory check --repair",
          "claw memory check --json | jq '.checks[] | select(.status != "
          "\"ok\")'")
def check(context: typer.Context,
          repair: Annotated[bool, typer.Option(
              "--repair", help="Mend what can be mended; brain.db is copied "
              "first where memories are touched.")] = False) -> None:
    """Look for damage in the store, and mend it.

    Nothing is mended without --repair. Exits 1 while something is ill.
    """
    run = Invocation.of(context)
    aside = kept_aside(run.places.workspace)
    try:
        checks, done = _looked(run, repair)
    except StorageError:
        checks, done = [], []
        if not repair or (damaged := put_aside(run, aside)) is None:
            raise
    else:  # opening it may have been enough to put it aside
        damaged = newly_aside(run, aside) if repair else None
    if damaged is not None:
        done += salvaged(run, damaged)
        checks, _ = _looked(run, repair=False)
    if run.as_json:
        run.out.document({"ok": not failed(checks), "repaired": done,
                          "checks": [c.to_json() for c in checks]})
    else:
        show(checks, run.out)
    for text in done:
        run.out.note(f"mended: {text}")
    if failed(checks):
        raise typer.Exit(ExitCode.NEGATIVE)


def _looked(run: Invocation, repair: bool) -> tuple[list[Check], list[str]]:
    """The checks, after mending where there is something to mend, and what
    was done."""
    done: list[str] = []
    with opened(run, readonly=not repair) as memory:
        with run.out.waiting("looking at the memory"):
            checks = _checks(run, memory)
        if repair and failed(checks):
            done = _mend(run, memory, checks)
            with run.out.waiting("looking again"):
                checks = _checks(run, memory)
    return checks, done


def _checks(run: Invocation, memory: Memory) -> list[Check]:
    healthy = memory.health_check()
    found = [Check("memory.open", "ok" if healthy else "fail",
                   f"{memory.name}, {memory.count():,} memories" if healthy
                   else f"{memory.name} can't be read", "claw doctor")]
    if isinstance(memory, InspectsMemory):
        found += map(seen_as_check, memory.inspect())
    snapshot = run.places.workspace / SNAPSHOT
    if snapshot.exists():
        current = is_current(memory, snapshot)
        found.append(Check(
            "memory.snapshot", "ok" if current else "warn",
            f"{SNAPSHOT} is {'current' if current else 'out of date'}",
            "claw memory snapshot"))
    return [*found, *aside_checks(run.places.workspace)]


def _mend(run: Invocation, memory: Memory,
          checks: Sequence[Check]) -> list[str]:
    """Mend what is ill; what was done. The snapshot is left: it may be
    the only place that holds what is missing here."""
    done: list[str] = []
    ill = [Inspection(c.id.removeprefix("memory."), False, c.detail)
           for c in checks if c.status == "fail"]
    if isinstance(memory, RepairsMemory):
        copy = back_up(run.places.workspace / FILE, "check") \
            if changes_rows(ill) else None
        if copy is not None:
            done.append(f"the memory as it was is kept as {copy}")
        done += memory.repair()
    elif isinstance(memory, InspectsMemory) and any(
            seen.id.startswith("index") for seen in ill):
        done.append(f"the index was made anew: {memory.reindex():,} memories")
    return done
