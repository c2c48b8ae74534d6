"""claw memory stats: numbers, and a picture on a terminal."""

from shutil import get_terminal_size

import typer

from claw.cli.commands.memory import stats_view
from claw.cli.commands.memory.common import open_memory
from claw.cli.commands.memory.stats_view import Counts
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ExitCode
from claw.core.memory import EmbedsMemories, RestoresMemories
from claw.memory.sqlite.statistics import CountsMemories, count_entries

_WIDEST = 100  # columns: longer bars say no more


@examples("claw memory stats", "claw memory stats --json",
          "claw memory stats | grep '^vectors'")
def stats(context: typer.Context) -> None:
    """Show counts by category and the state of the store."""
    run = Invocation.of(context)
    with open_memory(run) as memory:
        healthy, total = memory.health_check(), memory.count()
        with run.out.waiting("counting"):
            found = memory.statistics() if isinstance(
                memory, CountsMemories) else count_entries(
                memory.entries() if isinstance(memory, RestoresMemories)
                else memory.list())
        missing = memory.unembedded() if isinstance(
            memory, EmbedsMemories) and memory.embedder else None
        counts = Counts(memory.name, healthy, total, found, missing)
    if run.as_json:
        run.out.document(stats_view.to_document(counts))
    elif run.out.on_terminal:
        run.out.result(stats_view.draw_picture(
            counts, min(get_terminal_size().columns, _WIDEST)))
    else:
        run.out.result(stats_view.to_lines(counts))
    if not healthy:
        raise typer.Exit(ExitCode.NEGATIVE)
