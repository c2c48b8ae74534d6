"""claw memory stats: numbers, and a picture on a terminal."""

from shutil import get_terminal_size

import typer

from claw.cli import stats_view
from claw.cli.commands.memory_io import opened
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.stats_view import Seen
from claw.core.errors import ExitCode
from claw.core.memory import EmbedsMemories, Memory, RestoresMemories
from claw.memory.statistics import CountsMemories, Statistics, of_entries

_WIDEST = 100  # columns: longer bars say no more


@examples("claw memory stats", "claw memory stats --json",
          "claw memory stats | grep '^vectors'")
def stats(context: typer.Context) -> None:
    """Print numbers by category and whether the store is well."""
    run = Invocation.of(context)
    with opened(run) as memory:
        healthy, total = memory.health_check(), memory.count()
        with run.out.waiting("counting"):
            found = _statistics(memory)
        missing = memory.unembedded() if isinstance(
            memory, EmbedsMemories) and memory.embedder else None
        name = memory.name
    seen = Seen(name, healthy, total, found, missing)
    if run.as_json:
        run.out.document(stats_view.document(seen))
    elif run.out.on_terminal:
        run.out.result(stats_view.picture(
            seen, min(get_terminal_size().columns, _WIDEST)))
    else:
        run.out.result(stats_view.lines(seen))
    if not healthy:
        raise typer.Exit(ExitCode.NEGATIVE)


def _statistics(memory: Memory) -> Statistics:
    if isinstance(memory, CountsMemories):
        return memory.statistics()
    return of_entries(memory.entries() if isinstance(
        memory, RestoresMemories) else memory.list())
