"""claw memory reindex and check: keep the memory findable and whole."""

from collections.abc import Sequence
from typing import Annotated

import typer

from claw.cli.commands.memory.common import Progress, open_memory
from claw.cli.commands.memory.repair import (
    find_new_aside,
    put_aside,
    take_over,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.check_list import has_failure, show
from claw.core.errors import (
    ClawError,
    ConfigError,
    ExitCode,
    StorageError,
)
from claw.core.memory import (
    ChecksMemory,
    EmbedsMemories,
    Memory,
    MemoryCheck,
    RedactsMemories,
    RepairsMemory,
)
from claw.memory.importers.migration import back_up
from claw.memory.snapshot.file import is_current
from claw.memory.sqlite.backend import FILE, SNAPSHOT
from claw.memory.sqlite.repair import changes_rows
from claw.text.plural import memories
from claw.wiring.checks.check import Check
from claw.wiring.checks.memory import (
    check_aside,
    find_secrets,
    kept_aside,
    seen_as_check,
)
from claw.wiring.workspace.secrets import build_redactor

_HOW = "claw config set memory.embedding_provider local"


@examples("claw memory reindex", "claw memory reindex --vectors",
          "claw memory reindex --words --json")
def reindex(context: typer.Context,
            words: Annotated[bool, typer.Option(
                "--words", help="Rebuild only the word index.")] = False,
            vectors: Annotated[bool, typer.Option(
                "--vectors", help="Make only the missing vectors.")
                ] = False) -> None:
    """Rebuild the search index and missing vectors.

    Vectors are saved batch by batch: after an error or Ctrl-C the same
    command continues.
    """
    run = Invocation.of(context)
    both = words == vectors
    with open_memory(run, readonly=False, makes=False) as memory:
        indexed = _index_words(run, memory, words) if both or words else None
        made = _embed(run, memory, vectors) if both or vectors else None
        left = memory.unembedded() if made is not None and isinstance(
            memory, EmbedsMemories) else None
    words_line = [] if indexed is None else [f"words: {indexed}"]
    vectors_line = [] if made is None else [
        f"vectors: {made} made, {left} missing"]
    run.print_result({"words": indexed, "vectors": None if made is None
                      else {"made": made, "missing": left}},
                     "\n".join(words_line + vectors_line))


def _index_words(run: Invocation, memory: Memory, asked: bool) -> int | None:
    if not isinstance(memory, ChecksMemory):
        problem = f"the backend {memory.name} keeps no word index"
        if asked:
            raise ConfigError(problem, hint="nothing is to be done")
        run.out.note(problem)
        return None
    with run.out.waiting("making the word index"):
        return memory.reindex()


def _embed(run: Invocation, memory: Memory, asked: bool) -> int | None:
    if not isinstance(memory, EmbedsMemories) or memory.embedder is None:
        if asked:
            raise ConfigError("no vectors are configured", hint=_HOW)
        return None
    total = memory.unembedded()
    done = 0
    with Progress("vectors", total, quiet=run.out.quiet) as progress:
        def on_progress(number: int) -> None:
            nonlocal done
            done = number
            progress.update(number)

        try:
            return memory.embed_missing(on_progress)
        except ClawError as error:
            progress.clear()
            error.message += f" ({done:,} of {total:,} vectors were made " \
                             "and are kept)"
            error.hint = "; ".join(filter(None, (
                error.hint, "then go on: claw memory reindex --vectors")))
            raise


@examples("claw memory check", "claw memory check --repair",
          "claw memory check --redact",
          "claw memory check --json | jq '.checks[] | select(.status != "
          "\"ok\")'")
def check(context: typer.Context,
          repair: Annotated[bool, typer.Option(
              "--repair",
              help="Repair what can be repaired; brain.db is copied first "
                   "where memories are touched.")] = False,
          redact: Annotated[bool, typer.Option(
              "--redact", help="Take the keys of this installation out of "
              "memories and of what they were, for good.")] = False
          ) -> None:
    """Check the store for damage, and repair it.

    Repairs nothing without --repair. Exits 1 while there is damage.
    """
    run = Invocation.of(context)
    redacted = _redact(run) if redact else None
    aside = kept_aside(run.places.workspace)
    try:
        checks, done = _run_checks(run, repair)
    except StorageError:
        checks, done = [], []
        if not repair or (damaged := put_aside(run, aside)) is None:
            raise
    else:  # opening it may have been enough to put it aside
        damaged = find_new_aside(run, aside) if repair else None
    if damaged is not None:
        done += take_over(run, damaged)
        checks, _ = _run_checks(run, repair=False)
    if redacted is not None:
        run.out.note(f"{memories(redacted)} redacted")
    if run.as_json:
        run.out.document({"ok": not has_failure(checks), "repaired": done,
                          "redacted": redacted or 0,
                          "checks": [c.to_json() for c in checks]})
    else:
        show(checks, run.out)
    for text in done:
        run.out.note(f"fixed: {text}")
    if has_failure(checks):
        raise typer.Exit(ExitCode.NEGATIVE)


def _redact(run: Invocation) -> int:
    """Take own secrets out; how many memories had one."""
    with open_memory(run, readonly=False) as memory, \
            run.out.waiting("redacting"):
        if not isinstance(memory, RedactsMemories):
            raise ConfigError(
                f"the backend {memory.name} can't redact what it holds",
                hint="remove it with: claw memory forget KEY --for-good")
        return memory.redact(build_redactor(run.settings).own)


def _run_checks(run: Invocation, repair: bool
                ) -> tuple[list[Check], list[str]]:
    """The checks, after a repair where something is ill, and what
    was done."""
    done: list[str] = []
    with open_memory(run, readonly=not repair) as memory:
        with run.out.waiting("looking at the memory"):
            checks = _checks(run, memory)
        if repair and has_failure(checks):
            done = _repair(run, memory, checks)
            with run.out.waiting("looking again"):
                checks = _checks(run, memory)
    return checks, done


def _checks(run: Invocation, memory: Memory) -> list[Check]:
    healthy = memory.health_check()
    found = [Check("memory.open", "ok" if healthy else "fail",
                   f"{memory.name}, {memories(memory.count())}" if healthy
                   else f"{memory.name} can't be read", "claw doctor")]
    if isinstance(memory, ChecksMemory):
        found += map(seen_as_check, memory.check())
    found += find_secrets(memory, build_redactor(run.settings))
    snapshot = run.places.workspace / SNAPSHOT
    if snapshot.exists():
        current = is_current(memory, snapshot)
        found.append(Check(
            "memory.snapshot", "ok" if current else "warn",
            f"{SNAPSHOT} is {'current' if current else 'out of date'}",
            "claw memory snapshot"))
    return [*found, *check_aside(run.settings)]


def _repair(run: Invocation, memory: Memory,
          checks: Sequence[Check]) -> list[str]:
    """Repair what is ill; what was done. The snapshot is left: it may be
    the only place that holds what is missing here."""
    done: list[str] = []
    ill = [MemoryCheck(c.id.removeprefix("memory."), False, c.detail)
           for c in checks if c.status == "fail"]
    if isinstance(memory, RepairsMemory):
        copy = back_up(run.places.workspace / FILE, "check") \
            if changes_rows(ill) else None
        if copy is not None:
            done.append(f"the memory as it was is kept as {copy}")
        done += memory.repair()
    elif isinstance(memory, ChecksMemory) and any(
            seen.id.startswith("index") for seen in ill):
        done.append(f"the index was made anew: {memories(memory.reindex())}")
    return done
