"""Texts taken out of the files that claw keeps in a workspace.

Each kind is written as who else writes it does: sessions under their lock,
Markdown memories under theirs, watched files as claw's own writing. A reader
sees the old file or the new one.
"""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from claw.core.value import replace
from claw.memory.forgetting import databases
from claw.memory.forgetting.texts import Texts, is_rest
from claw.memory.markdown import files as markdown
from claw.memory.markdown.format import entry, split_entries
from claw.memory.snapshot import format as snapshot
from claw.memory.snapshot.file import FILE_NAME
from claw.security.files import nofollow
from claw.security.files.paths import OWN_DIRECTORIES
from claw.security.watched import record
from claw.storage.session_file import SessionFile, json_line, json_object
from claw.storage.session_place import file_name
from claw.storage.sqlite import CorruptError

OUTGOING = "outgoing"  # copies of what was sent
_SNAPSHOT = re.compile(r"\.?MEMORY_SNAPSHOT\.md(?:\..*)?", re.IGNORECASE)
_draft = re.compile(r"\.claw-[0-9a-f]{16}\.tmp")  # of one that was killed
_HELD = record.FOLDER + "/"


def is_own(path: str) -> bool:
    """Whether claw made the file, and not its owner."""
    first = path.split("/")[0]
    return first in (*OWN_DIRECTORIES, OUTGOING, markdown.CORE_FILE) \
        or _SNAPSHOT.fullmatch(first) is not None \
        or _draft.fullmatch(first) is not None


def clean_file(workspace: Path, path: str, texts: Texts,
               keys: list[str]) -> None:
    """Take the texts out of a file (`path` below the workspace) and out of
    its name. Raises StorageError, UnavailableError, OSError."""
    _clean_content(workspace, path, texts, keys)
    name = os.path.basename(path)
    cleaned = texts.clean_name(name)
    if cleaned != name and is_own(path) and nofollow.status(workspace, path):
        _rename(workspace, path, cleaned)


def _clean_content(workspace: Path, path: str, texts: Texts,
                   keys: list[str]) -> None:
    name = databases.find_database(path)
    if _is_database(workspace, name):
        try:
            databases.clean_database(workspace / name, texts, keys)
            return
        except CorruptError:
            pass
    if path == FILE_NAME and _is_ours(workspace):
        _clean_snapshot(workspace, texts, keys)
    elif path.startswith("sessions/") and path.endswith(".jsonl"):
        _clean_session(workspace, path, texts)
    elif path.startswith(_HELD):
        record.rewrite(workspace, texts.clean_bytes)
    elif path == markdown.CORE_FILE or (
            path.startswith("memory/") and path.endswith(".md")):
        markdown.rewrite(workspace, path, partial(
            _clean_entries, texts=texts, keys=keys))
    else:
        _clean_plain(workspace, path, texts)


def _is_database(workspace: Path, path: str) -> bool:
    try:
        return nofollow.read(workspace, path,
                             len(databases.HEAD)) == databases.HEAD
    except FileNotFoundError:
        return False


def _is_ours(workspace: Path) -> bool:
    return snapshot.MARK.encode() in nofollow.read(workspace, FILE_NAME)


def _clean_snapshot(workspace: Path, texts: Texts, keys: list[str]) -> None:
    path = workspace / FILE_NAME
    kept = []
    for held in snapshot.read_snapshot(path):
        found = replace(held, key=texts.clean(held.key),
                        content=texts.clean(held.content))
        if held.key not in keys and not is_rest(found.content):
            kept.append(found)
    last = max((held.updated_at for held in kept), default=None)
    text = "".join(snapshot.render(kept, len(kept), last)).encode()
    if text != nofollow.read(workspace, FILE_NAME):
        with record.own_write(path):
            nofollow.write(workspace, FILE_NAME, (text,))


def _clean_session(workspace: Path, path: str, texts: Texts) -> None:
    file = SessionFile.open_locked(workspace, workspace / path, create=False)
    try:
        data = os.pread(file.descriptor, file.size(), 0)
        key, cleaned = _name_session(workspace, Path(path).parent, data,
                                     texts.clean_bytes(data))
        file.replace(cleaned)
        if key is not None:
            nofollow.rename(workspace, path,
                            Path(path).with_name(file_name(key)))
    finally:
        file.close()


def _name_session(workspace: Path, folder: Path, before: bytes, after: bytes
                  ) -> tuple[str | None, bytes]:
    """The name of a session that had to get another one, None where it has
    not, and its lines. Two of one name are told apart by a number."""
    _, _, rest = after.partition(b"\n")
    was, now = (json_object(text.partition(b"\n")[0]) or {}
                for text in (before, after))
    name = now.get("session")
    if not isinstance(name, str) or name == was.get("session"):
        return None, after
    key, number = name, 2
    while nofollow.status(workspace, folder / file_name(key)) is not None:
        key, number = f"{name} {number}", number + 1
    return key, json_line({**now, "session": key}) + rest


def _rename(workspace: Path, path: str, name: str) -> None:
    """Give a file another name, with a number where one is called so."""
    folder, start, end = os.path.dirname(path), *os.path.splitext(name)
    new, number = os.path.join(folder, name), 2
    while nofollow.status(workspace, new) is not None:
        new = os.path.join(folder, f"{start}_{number}{end}")
        number += 1
    nofollow.rename(workspace, path, new)


def _clean_entries(data: bytes, *, texts: Texts, keys: list[str]) -> bytes:
    """A Markdown memory without the entries of these keys, and without
    those of which nothing is left."""
    pieces: list[bytes] = []
    for piece, found in split_entries(data):
        if found is None or found.key is None or found.facts is None:
            pieces.append(texts.clean_bytes(piece))
            continue
        key, content = texts.clean(found.key), texts.clean(found.content)
        if found.key in keys or is_rest(content):
            continue
        pieces.append(piece if (key, content) == (found.key, found.content)
                      else entry(key, content, found.facts).encode())
    return texts.clean_bytes(b"".join(pieces))


def _clean_plain(workspace: Path, path: str, texts: Texts) -> None:
    data = nofollow.read(workspace, path)
    clean: Callable[[bytes], bytes] = (
        texts.overwrite if b"\0" in data else texts.clean_bytes)
    with record.own_write(workspace / path):
        nofollow.write(workspace, path, (clean(data),))


def list_databases(workspace: Path) -> list[Path]:
    """The live databases of the workspace, to be left without old pages."""
    return [workspace / name for name in (
        "memory/brain.db", "memory/response_cache.db", "state/queue.db",
        "state/log.db", "state/map.db", "state/jobs.db")
        if nofollow.status(workspace, name) is not None]
