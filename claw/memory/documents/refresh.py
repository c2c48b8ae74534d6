"""Bring the index of a folder up to date.

Only what changed is read: a file whose size and times are the same is not
opened, one with the same bytes is not indexed. Files are kept in batches, a
transaction each: whoever is killed has lost nothing, and the next run goes
on. Two runs at once do the same work and end the same.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from claw.core.errors import NotFoundError
from claw.core.value import Value
from claw.memory.documents.store import (
    Document,
    DocumentStore,
    Known,
    format_time,
    show_path,
)
from claw.text.chunks import split_chunks
from claw.text.documents.folder import Folder, Listing
from claw.text.encoding import decode_text, find_binary

TEXT, BINARY = "text", "binary"
_BATCH_BYTES = 1 << 20
_BATCH = 200
_NAMED = 5
_MARKDOWN = frozenset((".md", ".markdown", ".mdx", ".mkd", ".rst"))

Over = Callable[[list[str]], Iterable[str]]


class Report(Value):
    """What a run did. `files` and `chunks` are what the index holds now;
    `skipped` is how many were left out by reason, `unread` the first of
    those that could not be read."""

    files: int
    chunks: int
    added: int
    changed: int
    removed: int
    unchanged: int
    skipped: dict[str, int]
    unread: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"files": self.files, "chunks": self.chunks,
                "added": self.added, "changed": self.changed,
                "removed": self.removed, "unchanged": self.unchanged,
                "skipped": self.skipped}


def refresh(store: DocumentStore, folder: Folder, *,
            clean: Callable[[str], str], over: Over) -> Report:
    """Bring it up to date. Texts are kept as `clean` gives them back;
    `over` gives the files to read one after the other, for a display.
    Raises UsageError where the folder can't be read, NotFoundError where
    nothing of it is left: a disk that is not there keeps its index."""
    known = store.documents()
    count = Counter[str]()
    with folder.hold() as top:
        listing = folder.list_files(top)
        _check_left(store, folder, listing, known)
        touched = [path for path, stamp in listing.files.items()
                   if path not in known or known[path].stamp != stamp]
        for batch in _batches(_read_all(folder, top, over(touched), listing,
                                        clean)):
            count.update(_compare(known.get(document.path), document.known)
                         for document in batch)
            store.put(batch)
    gone = [path for path in known if not listing.may_be_there(path)]
    if gone:
        store.drop(gone)
    store.note_time()
    now = store.documents().values()
    texts = [one for one in now if one.kind == TEXT]
    skipped = listing.skipped + Counter({BINARY: len(now) - len(texts)})
    return Report(
        len(texts), sum(one.chunks for one in texts), count["added"],
        count["changed"], sum(known[path].kind == TEXT for path in gone),
        len(texts) - count["added"] - count["changed"],
        dict(sorted(skipped.items())),
        tuple(map(show_path, listing.unread[:_NAMED])))


def _compare(old: Known | None, new: Known) -> str:
    if new.kind == BINARY or (old is not None and old.hash == new.hash):
        return ""
    return "added" if old is None or old.kind == BINARY else "changed"


def _check_left(store: DocumentStore, folder: Folder, listing: Listing,
                known: dict[str, Known]) -> None:
    if known and not listing.files:
        raise NotFoundError(
            f"{folder.root} holds nothing to read any more; the index is "
            "kept as it was",
            hint="is its disk mounted? To drop it: claw memory index "
                 f"--remove {store.title}")


def _read_all(folder: Folder, top: int, paths: Iterable[str],
              listing: Listing, clean: Callable[[str], str]
              ) -> Iterator[tuple[Document, int]]:
    """The documents, each with its size in bytes; what can't be read is
    noted and passed over."""
    for path in paths:
        try:
            data, stamp, seconds = folder.read(top, path)
        except OSError:
            listing.skipped["unreadable"] += 1
            listing.unread.append(path)
            continue
        yield _read_document(path, data, stamp, format_time(seconds),
                             folder.find_origin(path), clean), len(data)


def _read_document(path: str, data: bytes, stamp: str, time: str,
                   origin: str, clean: Callable[[str], str]) -> Document:
    digest = hashlib.sha256(data).hexdigest()
    if find_binary(data) is not None:
        return Document(path, Known(stamp, digest, BINARY), time, origin)
    chunks = split_chunks(
        decode_text(data),
        markdown=PurePosixPath(path).suffix.lower() in _MARKDOWN)
    return Document(path, Known(stamp, digest, TEXT), time, origin, [
        chunk._replace(text=clean(chunk.text), heading=clean(chunk.heading))
        for chunk in chunks])


def _batches(documents: Iterable[tuple[Document, int]]
             ) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document, length in documents:
        batch.append(document)
        size += length
        if size >= _BATCH_BYTES or len(batch) >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
