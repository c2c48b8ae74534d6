"""A folder of documents and its index."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from claw.memory.documents.refresh import Report, refresh
from claw.memory.documents.store import DocumentStore, open_store
from claw.memory.settings import MemorySettings
from claw.text.documents.folder import Folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with two documents."""
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "rent.md").write_text("# Rent\n\nIt is due on the third.\n")
    (folder / "sub/tea.txt").write_text("Mina likes green tea.\n")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DocumentStore]:
    with ExitStack() as stack:
        yield stack.enter_context(closing(open_store(
            tmp_path / "workspace", "notes", MemorySettings(),
            readonly=False, notify=lambda _: None)))


@pytest.fixture
def look(notes: Path, store: DocumentStore, tmp_path: Path
         ) -> Callable[..., Report]:
    """look(): bring the index up to date; `read` gets what was opened."""
    def look(read: list[str] | None = None) -> Report:
        def over(paths: list[str]) -> list[str]:
            if read is not None:
                read.extend(paths)
            return paths
        if store.root is None:
            store.adopt(notes)
        return refresh(store, Folder(notes, tmp_path / "workspace"),
                       clean=lambda text: text.replace("s3cret", "[gone]"),
                       over=over)
    return look
