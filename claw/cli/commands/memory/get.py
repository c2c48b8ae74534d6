"""claw memory get, list, count: look."""

from typing import Annotated

import typer

from claw.cli.commands.memory.common import (
    CategoryOption,
    SessionOption,
    clean_category,
    find_by_prefix,
    format_row,
    open_memory,
    to_one_line,
)
from claw.cli.commands.memory.entries_view import draw_list
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.times import SinceOption, UntilOption, parse_span
from claw.core.labels import describe_origin
from claw.core.memory import Filters, PagesMemories


@examples("claw memory get colour", "claw memory get col --json")
def get(context: typer.Context,
        key: Annotated[str, typer.Argument(
            metavar="KEY", help="The key, or the beginning of just one.")],
        ) -> None:
    """Print one memory."""
    run = Invocation.of(context)
    with open_memory(run) as memory:
        entry = memory.get(key) or find_by_prefix(
            memory, key, nothing=f"no memory under {key!r}")
    if entry.key != key and not run.as_json:
        run.out.note(f"key: {to_one_line(entry.key)}")
    if entry.origin and not run.as_json:
        run.out.note(f"it comes {describe_origin(entry.origin)}")
    run.print_result(entry.to_json(), entry.content)


@examples("claw memory list", "claw memory list --category core -n 20",
          "claw memory list --offset 50 --json")
def list_(context: typer.Context,
          category_name: CategoryOption = None,
          session: SessionOption = None,
          since: SinceOption = None,
          until: UntilOption = None,
          limit: Annotated[int, typer.Option(
              "-n", "--limit", metavar="N", min=1,
              help="Memories per page.")] = 50,
          offset: Annotated[int, typer.Option(
              "--offset", metavar="N", min=0,
              help="Number of memories to skip.")] = 0) -> None:
    """List memories, newest change first."""
    run = Invocation.of(context)
    filters = Filters(
        clean_category(category_name), session, *parse_span(since, until))
    with open_memory(run) as memory:
        if isinstance(memory, PagesMemories):
            entries, total = memory.page(filters, limit, offset)
        else:
            found = memory.list(filters.category, filters.session_id)
            entries, total = found[offset:offset + limit], len(found)
    if run.print_json_rows("memories", (e.to_json() for e in entries),
                           total=total):
        return
    if entries and run.out.on_terminal:
        run.out.styled(draw_list(entries, run.out))
        run.out.end()
    elif entries:
        run.out.result("\n".join(map(format_row, entries)))
    end = offset + len(entries)
    if total == 0:
        run.out.note("no memories")
    elif not entries:
        run.out.note(f"no memories at offset {offset} (total: {total})")
    elif end < total:
        run.out.note(f"{offset + 1}-{end} of {total:,}; next page: "
                     f"--offset {end}")


@examples("claw memory count")
def count(context: typer.Context) -> None:
    """Print how many memories there are."""
    run = Invocation.of(context)
    with open_memory(run) as memory:
        total = memory.count()
    run.print_result({"total": total}, str(total))
