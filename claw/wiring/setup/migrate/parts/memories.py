"""Another agent's memories, counted or brought through the importers.

Each file is copied first: what is imported is read neither through a link
nor while its agent writes it. Memories never take the place of others:
another text under a key that is taken gets a key of its own. Each is
labelled as text from elsewhere: a turn that recalls one asks the owner before
it sends, runs or stores something.
"""

import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from claw.config.tree import Tree
from claw.core.errors import ClawError
from claw.core.labels import UNKNOWN, join_origin, split_origin
from claw.core.memory import CORE, DAILY, MemoryEntry
from claw.core.value import replace
from claw.memory import times
from claw.memory.importers import Origin, Tally, reference
from claw.memory.importers.migration import (
    back_up,
    bring,
    drop_back_up,
    dry_run_import,
    keep,
)
from claw.memory.sqlite.backend import FILE
from claw.wiring.memory import open_backend
from claw.wiring.setup.migrate import HeldMemories, Item, Part
from claw.wiring.setup.migrate.reading.source import PREFIX, Source

_SECTION = "\n§\n"


def look(agent: str, held: Iterable[HeldMemories], tree: Tree,
         notes: list[str]) -> Part:
    """How many memories would come, by category. Nothing is written."""
    return _run(agent, held, tree, notes, writes=False)


def carry(agent: str, held: Iterable[HeldMemories], tree: Tree,
          notes: list[str]) -> Part:
    """Bring them, all or none; the memory as it was is kept beside."""
    return _run(agent, held, tree, notes, writes=True)


def _run(agent: str, held: Iterable[HeldMemories], tree: Tree,
         notes: list[str], *, writes: bool) -> Part:
    tally: Tally = Counter()
    categories: Counter[str] = Counter()

    def count(entries: Iterable[MemoryEntry]) -> Iterator[MemoryEntry]:
        for entry in entries:
            categories[entry.category] += 1
            yield entry

    copy, undo = None, ""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        origins = _stage(agent, held, Path(folder), notes)
        if not origins:
            return Part("memories")
        with open_backend(tree, readonly=not writes) as memory:
            if memory.name in ("none", "ephemeral"):
                return Part("memories", problem="claw keeps no memories: "
                            f"the backend is {memory.name}",
                            hint="claw config set memory.backend sqlite")
            if writes:
                brain = tree.places.workspace / FILE
                copy = back_up(brain, agent) if memory.count() else None
                undo = (f"the memory as it was: {copy}" if copy else
                        f"it was empty: remove {brain}")
                written = bring(memory, origins, tally,
                                lambda entries: keep(count(entries)))
                if copy is not None and not written:
                    with contextlib.suppress(OSError):
                        drop_back_up(copy)
                    undo = ""
            else:
                dry_run_import(memory, origins, tally, count)
    return Part("memories", tuple(_list_items(tally, categories)),
                dict(categories), undo=undo)


def _list_items(tally: Tally, categories: Counter[str]) -> Iterator[Item]:
    for category, number in sorted(categories.items()):
        yield Item(category, "new", shown=f"{number:,}")
    for name, fate, why in (
            ("renamed", "aside", "another text has their key: they come "
             "under another"),
            ("unchanged", "same", "they are there already"),
            ("duplicates", "left", "they are there twice"),
            ("blank", "left", "they say nothing")):
        if tally[name]:
            yield Item(name, fate, shown=f"{tally[name]:,}",  # type: ignore[arg-type]
                       why=why)


def _stage(agent: str, held: Iterable[HeldMemories], folder: Path,
           notes: list[str]) -> list[Origin]:
    """Copies of the files, each with its reader."""
    held = list(held)
    has_database = any(each.form == "database" for each in held)
    found = []
    for number, each in enumerate(held):
        source = Source(each.root, notes)
        # A day's journal is known by its name.
        copy = folder / str(number) / Path(each.path).name
        copy.parent.mkdir()
        try:
            if each.form == "database":
                if source.copy_database(each.path, copy):
                    found.append(reference.open_database(copy, agent))
            elif source.copy(each.path, copy):
                read = _READERS.get(each.form)
                found.append(
                    Origin(each.form, agent, str(copy), partial(
                        read, copy, f"{agent}_{each.name}")) if read
                    else reference.open_markdown(
                        copy, agent, name=each.name,
                        keyed_only=has_database and agent == "zeroclaw"))
        except ClawError as error:
            source.note(error.message.replace(
                str(copy), str(each.root / each.path)))
    return [replace(origin, aside=True, read=partial(_label, origin.read))
            for origin in found]


def _label(read: Callable[[Tally], Iterator[MemoryEntry]], tally: Tally
           ) -> Iterator[MemoryEntry]:
    """The memories, each labelled as text from elsewhere: whoever wrote
    the folder may have written it."""
    for entry in read(tally):
        yield replace(entry, origin=join_origin(
            {UNKNOWN, *split_origin(entry.origin)}))


def _read_sections(path: Path, name: str, _: Tally
                   ) -> Iterator[MemoryEntry]:
    """Texts with a line of a paragraph sign between them."""
    at = times.canonical(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    text = path.read_text("utf-8-sig", errors="replace")
    for number, part in enumerate(text.split(_SECTION), 1):
        if part.strip():
            yield MemoryEntry("", f"{name}_{number}", part.strip(), CORE,
                              at, at)


def _read_history(path: Path, name: str, tally: Tally
                  ) -> Iterator[MemoryEntry]:
    """Lines of JSON {"cursor", "timestamp", "content"}: a journal."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        try:
            held = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError):
            tally["blank"] += 1
            continue
        text = held.get("content") if isinstance(held, dict) else None
        if isinstance(text, str) and text.strip():
            at = _read_time(held.get("timestamp"))
            key = f"{name}_{held.get('cursor', number)}"
            yield MemoryEntry("", key, text.strip(), DAILY, at, at)


def _read_time(text: object) -> str:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return ""
    return times.canonical(moment if moment.tzinfo
                           else moment.replace(tzinfo=UTC))


_READERS = {"sections": _read_sections, "history": _read_history}
