"""claw memory recall: search."""

from contextlib import AbstractContextManager
from typing import Annotated, Any

import typer

from claw.cli.commands.memory.common import (
    CategoryOption,
    SessionOption,
    clean_category,
    format_label,
    open_memory,
    to_one_line,
)
from claw.cli.commands.memory.entries_view import draw_found
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.times import (
    SinceOption,
    UntilOption,
    parse_span,
    parse_time,
)
from claw.cli.terminal.stdin import read_text
from claw.core.errors import ExitCode, UsageError
from claw.core.memory import (
    EmbedsMemories,
    ExplainsRecall,
    Explanation,
    Filters,
    KeepsVersions,
    KnowsGaps,
    Memory,
    MemoryEntry,
    RecallsFiltered,
)
from claw.text.plural import memories, plural

AsOfOption = Annotated[str | None, typer.Option(
    "--as-of", metavar="TIME",
    help="What was known then: 2026-11-20 (the end of that day), a full "
    'time, an age such as 30d, or words such as "last week".')]
Found = list[tuple[MemoryEntry, Explanation | None]]


@examples('claw memory recall "which colour does Mina like?"',
          'claw memory recall "what did I buy last Tuesday?"',
          "claw memory recall deploy --since 7d --json",
          "claw memory recall address --as-of 2026-03-01",
          'claw memory recall --docs notes "rent"',
          'claw memory recall ""')
def recall(
        context: typer.Context,
        query: Annotated[list[str], typer.Argument(
            metavar="QUERY", help='Words to look for; "" lists the newest, '
            "word* finds what begins so, - reads standard input.")],
        limit: Annotated[int, typer.Option(
            "-n", "--limit", metavar="N", min=1,
            help="Largest number of results.")] = 5,
        category_name: CategoryOption = None,
        session: SessionOption = None,
        since: SinceOption = None,
        until: UntilOption = None,
        as_of: AsOfOption = None,
        min_score: Annotated[float, typer.Option(
            "--min-score", metavar="SCORE", min=0, max=1,
            help="Lowest score to show, 0 to 1.")] = 0.0,
        explain: Annotated[bool, typer.Option(
            "--explain", help="Explain how each score was made.")] = False,
        docs: Annotated[str | None, typer.Option(
            "--docs", metavar="NAME",
            help="Search these documents (claw memory index) and not the "
            "memory.")] = None,
        ) -> None:
    """Search memory, best match first."""
    run = Invocation.of(context)
    words = " ".join(query)
    if query == ["-"]:
        words = read_text(say=run.out.note).strip()
    if docs is not None and not (category_name is session is as_of is None):
        raise UsageError("--docs goes with neither --category, --session "
                         "nor --as-of", hint="leave them out")
    filters = Filters(
        clean_category(category_name), session, *parse_span(since, until),
        parse_time("--as-of", as_of, end=True))
    with _open(run, docs) as memory:
        found = [pair for pair in _search(memory, words, limit, filters,
                                          explain)
                 if pair[0].score is None or pair[0].score >= min_score]
        unknown = 0 if filters.as_of is None or not isinstance(
            memory, KnowsGaps) else memory.count_unknown(filters.as_of)
        missing = 0 if found else _count_missing(memory)
    _print(run, found, words, docs)
    if unknown:
        run.out.note(f"of {memories(unknown)} it is not kept any more what "
                     "they said then")
    if not found:
        if not run.json:
            run.out.note("nothing found" + _explain_missing(missing, docs))
        raise typer.Exit(ExitCode.NEGATIVE)


def _count_missing(memory: Memory) -> int:
    """How many can't be found by meaning yet."""
    return memory.unembedded() if isinstance(memory, EmbedsMemories) \
        and memory.embedder is not None else 0


def _explain_missing(missing: int, docs: str | None) -> str:
    if not missing:
        return ""
    what, remedy = (memories(missing), "reindex") if docs is None \
        else (plural(missing, "chunk"), f"index --name {docs}")
    return (f"; {what} {'has' if missing == 1 else 'have'} no vector yet, "
            f"and can't be found by meaning (claw memory {remedy})")


def _print(run: Invocation, found: Found, query: str, docs: str | None
           ) -> None:
    head: dict[str, Any] = {"query": query} | (
        {} if docs is None else {"docs": docs})
    printed = run.print_json_rows(
        "results", ({**entry.to_json(), **_place(entry, docs), **(
            {"explanation": why.parts} if why else {})}
            for entry, why in found), **head)
    for entry, why in () if printed else found:
        label = _format_label(entry, docs)
        if run.out.on_terminal:
            run.out.styled(draw_found(label, entry, query,
                                      _format_reasons(why), run.out))
            run.out.end()
        else:
            run.out.result(_format_block(label, entry, why))


def _open(run: Invocation, docs: str | None
          ) -> AbstractContextManager[Memory]:
    """The memory, or the index of documents in its place."""
    if docs is None:
        return open_memory(run)
    from claw.wiring.memory.documents import open_documents
    return open_documents(run.settings, docs, notify=run.out.note)


def _place(entry: MemoryEntry, docs: str | None) -> dict[str, Any]:
    """Where a chunk of a document stands."""
    if docs is None:
        return {}
    from claw.memory.documents.store import read_excerpt
    found = read_excerpt(entry).to_json()
    return {name: found[name]
            for name in ("path", "line", "end_line", "heading")}


def _search(memory: Memory, query: str, limit: int, filters: Filters,
            explain: bool) -> Found:
    if filters.as_of is not None and not (
            isinstance(memory, KeepsVersions)
            and isinstance(memory, RecallsFiltered)):
        raise UsageError(
            f'the memory backend "{memory.name}" does not keep what was '
            "known before", hint="leave --as-of out")
    if explain:
        if not isinstance(memory, ExplainsRecall):
            raise UsageError(
                f'the memory backend "{memory.name}" can\'t explain scores',
                hint="leave --explain out")
        return list(memory.explain(query, limit, filters))
    if isinstance(memory, RecallsFiltered):
        entries = memory.recall_filtered(query, limit, filters)
    else:
        entries = [entry for entry in memory.recall(
            query, limit, filters.session_id, filters.since, filters.until)
            if filters.category in (None, entry.category)]
    return [(entry, None) for entry in entries]


def _format_label(entry: MemoryEntry, docs: str | None) -> str:
    """What it is, from whom, and how well it fits."""
    label = format_label(entry) if docs is None else entry.key
    sender = "" if not entry.sender else f" from {to_one_line(entry.sender)}"
    return label + sender + (
        "" if entry.score is None else f" {entry.score:.0%}")


def _format_reasons(why: Explanation | None) -> str:
    """How the score was made."""
    return "" if why is None else "= " + ", ".join(
        f"{name} {value:.3f}" if isinstance(value, float)
        else f"{name}: {value}" for name, value in why.parts.items())


def _format_block(label: str, entry: MemoryEntry,
                  why: Explanation | None) -> str:
    reasons = _format_reasons(why)
    return "\n".join([label, *("    " + part
                               for part in entry.content.split("\n")),
                      *(["    " + reasons] if why is not None else [])])
