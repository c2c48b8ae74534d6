"""claw memory get, list, count: look."""

from typing import Annotated

import typer

from claw.cli.commands.memory_io import (
    CategoryOption,
    SessionOption,
    SinceOption,
    UntilOption,
    by_prefix,
    category,
    for_screen,
    json_of,
    line,
    moment,
    on_one_line,
    opened,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.memory import Filters, Memory, MemoryEntry, PagesMemories


@examples("claw memory get colour", "claw memory get col --json")
def get(context: typer.Context,
        key: Annotated[str, typer.Argument(
            metavar="KEY", help="The key, or the beginning of just one.")],
        ) -> None:
    """Print one memory."""
    run = Invocation.of(context)
    with opened(run) as memory:
        entry = memory.get(key) or by_prefix(
            memory, key, nothing=f"no memory under {key!r}")
    if run.as_json:
        run.out.document(entry.to_json())
        return
    if entry.key != key:
        run.out.note(f"key: {on_one_line(entry.key)}")
    run.out.result(entry.content)


@examples("claw memory list", "claw memory list --category core -n 20",
          "claw memory list --offset 50 --json")
def list_(context: typer.Context,
          category_name: CategoryOption = None,
          session: SessionOption = None,
          since: SinceOption = None,
          until: UntilOption = None,
          limit: Annotated[int, typer.Option(
              "-n", "--limit", metavar="N", min=1,
              help="Memories on a page.")] = 50,
          offset: Annotated[int, typer.Option(
              "--offset", metavar="N", min=0,
              help="Leave out so many.")] = 0) -> None:
    """List memories, newest change first."""
    run = Invocation.of(context)
    filters = Filters(category(category_name), session,
                      moment("--since", since), moment("--until", until))
    with opened(run) as memory:
        entries, total = _page(memory, filters, limit, offset)
    if run.jsonl:
        run.out.lines(json_of(entries))
    elif run.json:
        run.out.document({"memories": json_of(entries), "total": total})
    else:
        if entries:
            run.out.result(for_screen(run, map(line, entries)))
        _say_page(run, len(entries), total, offset)


def _page(memory: Memory, filters: Filters, limit: int, offset: int
          ) -> tuple[list[MemoryEntry], int]:
    if isinstance(memory, PagesMemories):
        return memory.page(filters, limit, offset)
    entries = memory.list(filters.category, filters.session_id)
    return entries[offset:offset + limit], len(entries)


def _say_page(run: Invocation, shown: int, total: int, offset: int) -> None:
    if total == 0:
        run.out.note("no memories")
    elif shown == 0:
        run.out.note(f"no memories at offset {offset} (total: {total})")
    elif offset + shown < total:
        run.out.note(f"{offset + 1}-{offset + shown} of {total:,}; next page: "
                     f"--offset {offset + shown}")


@examples("claw memory count")
def count(context: typer.Context) -> None:
    """Print how many memories there are."""
    run = Invocation.of(context)
    with opened(run) as memory:
        total = memory.count()
    if run.as_json:
        run.out.document({"total": total})
    else:
        run.out.result(str(total))
