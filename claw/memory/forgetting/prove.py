"""Forgetting with proof.

What is to go is written down first (order.py), so that a run that is killed
is finished by the next one. Then it is removed: memories with all they were,
and every copy of their texts in files that claw keeps. Then every file is
searched. A running `claw listen` reads its conversations anew (set_stamp), and
what it is answering just now is waited for and looked after once more.
"""

import os
import time
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
)
from pathlib import Path
from types import MappingProxyType

from claw.core.errors import StorageError, UnavailableError
from claw.core.failpoint import reach
from claw.core.memory import (
    FindsSenders,
    ForgetsForGood,
    KeepsForGood,
    KeepsVersions,
    Memory,
    MemoryEntry,
    RedactsMemories,
    RestoresMemories,
)
from claw.core.value import Value
from claw.memory.forgetting import databases, files, people
from claw.memory.forgetting.order import (
    Order,
    drop_order,
    name_order,
    read_order,
    write_order,
)
from claw.memory.forgetting.search import Hit, Search, search
from claw.memory.forgetting.texts import Texts
from claw.memory.hygiene.state import hold_lock
from claw.memory.markdown import files as markdown
from claw.memory.snapshot.file import FILE_NAME
from claw.memory.sqlite.backend import FILE as BRAIN
from claw.memory.sqlite.backend import SqliteMemory
from claw.security.files import nofollow
from claw.storage.forgotten import set_stamp
from claw.storage.sqlite import connect, translated

_ROUNDS = 3
_LOCK_PATIENCE_S = 20.0
_TURN_PATIENCE_S = 60.0
_PAUSE_S = 0.05

Open = Callable[[], AbstractContextManager[Memory]]


class Proof(Value):
    """What was done and seen.

    `found` are the files that held a text before, `left` those that do
    still: claw's own that could not be rewritten, the owner's, and backups
    (`packed`, or outside of the workspace). `outside` are those in other
    folders, by whole paths. `unread` could not be searched, `problems` say
    what else stood in the way. `named` are the paths of `left` that hold a
    text themselves; `goes_on`: the same command again takes out more.
    """

    order: Order
    short: tuple[str, ...]
    found: tuple[Hit, ...]
    left: tuple[Hit, ...]
    outside: tuple[Hit, ...]
    unread: tuple[str, ...]
    files: int
    size_bytes: int
    problems: tuple[str, ...]
    named: frozenset[str] = frozenset()
    goes_on: bool = False

    @property
    def is_done(self) -> bool:
        """Whether nothing is left anywhere."""
        return not (self.left or self.outside or self.unread
                    or self.problems)


class Plan(Value):
    """What would be forgotten, and where it stands."""

    order: Order
    short: tuple[str, ...]
    found: tuple[Hit, ...]


def make_order(open_memory: Open, workspace: Path, home: Path,
               keys: Collection[str], who: str | None,
               own: Collection[str] = ()) -> Order:
    """What is to be forgotten: these keys, and all that a person said, with
    his `own` ids where they are known; and what an earlier run left undone.
    Raises UsageError, StorageError."""
    ids = [] if who is None else people.find_ids(workspace, who, own)
    said = people.read_texts(workspace, ids)
    with open_memory() as memory:
        wanted = dict.fromkeys([*keys, *_list_said(memory, ids)])
        states = {key: _list_states(memory, key) for key in wanted}
    earlier = read_order(home, workspace)
    known = [entry for found in states.values() for entry in found]
    held = tuple(key for key, found in states.items()
                 if found or key in earlier.keys)
    sessions = people.list_conversations(workspace, ids, {
        entry.session_id for entry in known
        if entry.session_id and entry.sender in ids})
    return Order(held, tuple(ids) if known or said else (), tuple(sessions),
                 (*(entry.content for entry in known), *said)).join(earlier)


def make_plan(workspace: Path, home: Path, order: Order) -> Plan:
    """Where the texts stand now; nothing is changed."""
    texts = Texts(order.texts)
    return Plan(order, tuple(texts.short),
                _search(workspace, home, texts).hits)


def prove(open_memory: Open, workspace: Path, home: Path, plan: Plan, *,
          everywhere: bool = False,
          originals: Mapping[Path, Collection[str]] = MappingProxyType({}),
          progress: Callable[[str], None] = lambda _: None) -> Proof:
    """Forget what the plan says, and search for it. `everywhere` takes the
    texts out of the owner's own text files too. `originals` are files that
    are indexed as documents, by the folders they lie below: what they hold
    would come back. Raises StorageError, UnavailableError."""
    with _alone(workspace):
        order = plan.order.join(read_order(home, workspace))
        texts, problems = Texts(order.texts), list[str]()
        write_order(home, workspace, order)
        reach("forget.ordered")
        progress("forgetting")
        _forget_memories(open_memory, workspace, order, texts)
        reach("forget.memories")
        if order.people:
            people.forget_messages(workspace, order.people, order.sessions)
        seen, is_through = _clean(workspace, home, order, texts, plan.found,
                                  everywhere, problems, progress)
        if is_through:
            drop_order(home, workspace)
    reach("forget.done")
    progress("searching elsewhere")
    others = [(home, search(home, texts, without=(workspace,),
                            skip=frozenset({name_order(workspace)})))] \
        if home.is_dir() else []
    others += [(root, search(root, texts, without=(workspace, home),
                             only=paths))
               for root, paths in originals.items()]
    return Proof(
        order, tuple(texts.short), plan.found, seen.hits,
        tuple(Hit(str(root / hit.path), hit.date, hit.packed)
              for root, one in others for hit in one.hits),
        (*seen.unread, *(str(root / name) for root, one in others
                         for name in one.unread)),
        seen.files + sum(one.files for _, one in others),
        seen.size_bytes + sum(one.size_bytes for _, one in others),
        tuple(problems), frozenset(
            hit.path for hit in seen.hits
            if texts.is_in(os.fsencode(hit.path))), not is_through)


def _search(workspace: Path, home: Path, texts: Texts) -> Search:
    """All but the order, should claw's home lie in the workspace."""
    order = os.path.relpath(home / name_order(workspace), workspace)
    return search(workspace, texts, skip=frozenset({order}))


def _clean(workspace: Path, home: Path, order: Order, texts: Texts,
           found: Iterable[Hit], everywhere: bool, problems: list[str],
           progress: Callable[[str], None]) -> tuple[Search, bool]:
    """Clean what was found, then what is found after that. What is left,
    and whether cleaning it again would change nothing. One file that can't
    be cleaned keeps no other from it."""
    before: list[str] = []
    for _ in range(_ROUNDS):
        problems.clear()
        turns = _list_turns(workspace)
        paths = dict.fromkeys(
            [FILE_NAME, *(hit.path for hit in found if not hit.packed
                          and (everywhere or files.is_own(hit.path)))])
        for path in paths:
            progress(f"cleaning {path}")
            with _noting(path, problems):
                files.clean_file(workspace, path, texts, list(order.keys))
            reach("forget.file")
        set_stamp(workspace)
        for database in files.list_databases(workspace):
            progress(f"writing {database.name} anew")
            with _noting(database.name, problems):
                databases.wipe_database(database)
            reach("forget.wiped")
        progress("searching")
        if not _wait_for(workspace, turns):
            problems.append("claw listen still answers a message that it "
                            "took before: run this again when it is done")
        seen = _search(workspace, home, texts)
        found = [hit for hit in seen.hits if not hit.packed
                 and (everywhere or files.is_own(hit.path))]
        left = [hit.path for hit in found]
        if not left or left == before:
            return seen, not problems
        before = left
    return seen, False


@contextmanager
def _noting(path: str, problems: list[str]) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        pass  # moved or removed since
    except OSError as error:
        problems.append(f"{path} can't be rewritten: "
                        f"{error.strerror or error}")
    except (StorageError, UnavailableError) as error:
        problems.append(error.message)


def _forget_memories(open_memory: Open, workspace: Path, order: Order,
                     texts: Texts) -> None:
    """A file of SQLite's is cleaned as a file; other stores do it
    themselves, as far as they can."""
    with open_memory() as memory:
        if not isinstance(memory, SqliteMemory):
            if isinstance(memory, ForgetsForGood):
                for key in order.keys:
                    memory.purge(key)
            if isinstance(memory, RedactsMemories):
                memory.redact(texts.clean)
        if isinstance(memory, KeepsForGood):
            for file in markdown.files(workspace):
                files.clean_file(workspace, file.name, texts,
                                 list(order.keys))
    if nofollow.status(workspace, BRAIN) is not None:
        databases.clean_database(workspace / BRAIN, texts, list(order.keys))


def _list_said(memory: Memory, ids: Collection[str]) -> list[str]:
    if not ids:
        return []
    if isinstance(memory, FindsSenders):
        return memory.find_said_by(ids)
    if isinstance(memory, RestoresMemories):
        return [entry.key for entry in memory.entries()
                if entry.sender in ids]
    return [entry.key for entry in memory.list() if entry.sender in ids]


def _list_states(memory: Memory, key: str) -> list[MemoryEntry]:
    """What a memory is, and all that it was."""
    held = memory.get(key)
    states = [] if held is None else [held]
    if isinstance(memory, KeepsVersions):
        states += [version.entry for version in memory.history(key)]
    return states


def _list_turns(workspace: Path) -> list[str]:
    """The turns that are being answered."""
    path = workspace / people.QUEUE
    if nofollow.status(workspace, people.QUEUE) is None:
        return []
    with closing(connect(path, readonly=True)) as connection, \
            translated(path):
        return [turn for turn, in connection.execute(
            "SELECT turn_id FROM inbox WHERE finished_at IS NULL"
            " AND state = 'running'")]


def _wait_for(workspace: Path, turns: list[str]) -> bool:
    """Wait until none of these turns runs; whether that was so in time."""
    deadline = time.monotonic() + _TURN_PATIENCE_S
    while not set(turns).isdisjoint(_list_turns(workspace)):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


@contextmanager
def _alone(workspace: Path) -> Iterator[None]:
    """Hygiene and who forgets come one after the other."""
    deadline = time.monotonic() + _LOCK_PATIENCE_S
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(hold_lock(workspace))
                break
            except UnavailableError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE_S)
        yield
