"""Settings -> the indexes of the owner's documents, and what of them goes
with a question."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from claw.config.tree import Tree
from claw.core.errors import NotFoundError
from claw.core.memory import MIN_RELEVANCE, MemoryDeps
from claw.core.provider import Passage
from claw.memory.documents.names import find_file, list_names
from claw.memory.documents.store import (
    DocumentStore,
    Excerpt,
    open_store,
    read_excerpt,
)
from claw.memory.settings import MemorySettings
from claw.security.files import nofollow
from claw.wiring.memory import has_vectors
from claw.wiring.workspace.trust import require_trust

if TYPE_CHECKING:
    from claw.text.documents.folder import Folder

# What goes with a question: so many chunks and characters, none that scores
# less than LEAST or than half of the best.
PASSAGES = 6
CHARACTERS = 9_000
LEAST = 0.2
_NEAR = 0.5


@contextmanager
def open_documents(tree: Tree, name: str, *, readonly: bool = True,
                   make: bool = False,
                   notify: Callable[[str], None] = lambda _: None
                   ) -> Iterator[DocumentStore]:
    """The index of that name, open; closed at the end. Without `make` it
    has to be there: NotFoundError."""
    workspace = tree.places.workspace
    if not make and nofollow.status(workspace, find_file(name)) is None:
        known = ", ".join(list_names(workspace))
        raise NotFoundError(
            f"no documents are indexed as {name!r}",
            hint=f"there are: {known}" if known
            else f"claw memory index DIR --name {name}")
    embedder = None
    settings = tree.decode("memory", MemorySettings)
    if has_vectors(settings):
        from claw.wiring.memory.embedding import build_embedder
        embedder = build_embedder(tree)
    store = open_store(workspace, name, settings, readonly=readonly,
                       notify=notify, deps=MemoryDeps(embedder))
    try:
        yield store
    finally:
        store.close()


def list_originals(tree: Tree) -> dict[Path, frozenset[str]]:
    """The files that are indexed, by the folder below which they lie, but
    for folders in the workspace and the home."""
    found: dict[Path, frozenset[str]] = {}
    own = [Path(os.path.realpath(place)) for place in (
        tree.places.workspace, tree.places.home)]
    for name in list_names(tree.places.workspace):
        with open_documents(tree, name) as store:
            root = store.root
            if root is not None and not any(map(root.is_relative_to, own)):
                found[root] = found.get(root, frozenset()).union(
                    store.documents())
    return found


def open_folder(tree: Tree, root: Path) -> "Folder":
    """A folder to be read, without what claw keeps there itself."""
    from claw.text.documents.folder import Folder
    workspace = Path(os.path.realpath(tree.places.workspace))
    home = Path(os.path.realpath(tree.places.home))
    own = [workspace / name for name in ("memory", "sessions", "state")]
    return Folder(root, workspace, own if root.is_relative_to(workspace)
                  else [home, workspace])


def find_passages(tree: Tree, name: str, question: str,
                  notify: Callable[[str], None]) -> list[Excerpt]:
    """The chunks that fit a question, best first. Raises NotFoundError
    where none does and for an unknown name, DeniedError in a workspace
    that does not count."""
    require_trust(tree.places)
    with open_documents(tree, name, notify=notify) as store:
        found = list(_choose(map(read_excerpt, store.recall(
            question, PASSAGES))))
        if not found:
            raise NotFoundError(
                f"nothing in the documents {name!r} fits the question",
                hint="to ask without them leave --docs out; is the index up "
                     f"to date? claw memory index --name {name}")
        _note_changes(tree, store, found, notify)
    return found


def _choose(found: Iterable[Excerpt]) -> Iterator[Excerpt]:
    left, best = CHARACTERS, 0.0
    for excerpt in found:
        score = excerpt.score or 0.0
        best = max(best, score)
        left -= len(excerpt.text)
        if score < max(LEAST, best * _NEAR) or (left < 0 and score < best):
            return
        yield excerpt


def _note_changes(tree: Tree, store: DocumentStore, found: list[Excerpt],
                  notify: Callable[[str], None]) -> None:
    """Say which of the documents are no longer as they were read."""
    if store.root is None:
        return
    folder = open_folder(tree, store.root)
    changed = [path for path in dict.fromkeys(one.path for one in found)
               if (stamp := store.find_stamp(path)) is not None
               and folder.stamp(path) != stamp]
    if changed:
        notify(f"changed since it was indexed: {', '.join(changed)} "
               f"(claw memory index --name {store.title})")


def build_passages(found: Iterable[Excerpt]) -> list[Passage]:
    """Excerpts as a turn takes them: their paragraphs, each under its
    place, so that a sentence is quoted with its lines."""
    return [Passage(f"{one.origin}:{place}", text)
            for one in found for place, text in _split_paragraphs(one)]


def choose_best(found: Sequence[Excerpt]) -> list[Passage]:
    """The first of them, where it is a good answer."""
    return [Passage(f"{one.origin}:{one.place}", one.text)
            for one in found[:1] if (one.score or 0.0) >= MIN_RELEVANCE]


def _split_paragraphs(one: Excerpt) -> Iterator[tuple[str, str]]:
    lines = one.text.split("\n")
    start = 0
    for number in range(len(lines) + 1):
        if number < len(lines) and lines[number].strip():
            continue
        if number > start:
            first, last = one.line + start, one.line + number - 1
            place = (f"{one.path}:{first}" if first == last
                     else f"{one.path}:{first}-{last}")
            yield (one.place if len(lines) == 1 else place,
                   "\n".join(lines[start:number]))
        start = number + 1


def render_documents(name: str, found: Iterable[Excerpt]) -> str:
    """Excerpts for a model: each under its place, with every line marked,
    so that no text can look like another place or like the question."""
    quotes = "\n\n".join(
        "\n".join([one.place, *(
            f"> {line}" for line in [
                *([f"[{one.heading}]"] if one.heading else ()),
                *one.text.splitlines()])])
        for one in found)
    return (f'Passages of the documents "{name}", each under its place '
            "(path:lines). Answer from them, name the places that the answer "
            f"comes from, and say so where they don't answer it.\n\n{quotes}")
