"""A folder that goes with a question: its tree, and the texts in it."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from claw.cli.attachments.read import Limits, Say
from claw.cli.show.output import join_lines
from claw.core.errors import ClawError, UsageError
from claw.core.provider import Passage
from claw.text.documents.folder import Folder, Listing
from claw.text.documents.kind import is_document
from claw.text.documents.read import read_document
from claw.text.encoding import decode_text, find_binary
from claw.wiring.memory.documents import open_folder

MOST_FILES = 5_000
_NAMED = 5
# Files that hold keys or passwords, by their names. What begins with a dot
# (.env, .netrc, .ssh) is left out like every hidden file.
_KEYS = re.compile(
    r"id_(rsa|dsa|ecdsa|ed25519)(_sk)?|.*\.(pem|key|p12|pfx|kdbx|jks|ppk|"
    r"keystore|tfstate|env)|(credentials?|secrets?|service[-_]?account.*)"
    r"(\.(json|ya?ml|toml|ini|txt))?|htpasswd", re.IGNORECASE)
_BINARY, _KEY, _PAST = "binary", "may hold keys", "past the limit"
# How a reason is put behind a number.
_WORDS = {_BINARY: "binary", _KEY: "that may hold keys (to send one, name it)",
          "link": "links", "large": "over 8 MiB", "special": "no files",
          "unreadable": "unreadable"}


def read_folder(name: str, limits: Limits, say: Say) -> list[Passage]:
    """The tree of a folder, then its texts, `limits.text` bytes together
    at most; what is left out is named in the tree and said. Raises
    UsageError for a folder that can't be read or holds no text."""
    folder = open_folder(limits.tree, Path(os.path.realpath(name)))
    with folder.hold() as top:
        listing = folder.list_files(top, most=MOST_FILES)
        reader = _Reader(folder, top, limits.text
                         - sum(len(os.fsencode(path)) + 1
                               for path in listing.files),
                         needs_sandbox=limits.needs_sandbox)
        texts = {path: text for path in listing.files
                 if (text := reader.read(path)) is not None}
    if not texts:
        raise UsageError(f"{name} holds no text to send",
                         hint=_say_left_out(name, listing, reader, limits)
                         or "name a folder with text files in it")
    left_out = _say_left_out(name, listing, reader, limits)
    if left_out:
        say(left_out)
    tree = "\n".join(_draw_tree(listing.files, reader.left_out))
    return [Passage(f"file:{name}", tree)] + [
        Passage(f"file:{join_lines(os.path.join(name, path))}", text)
        for path, text in texts.items()]


class _Reader:
    """Reads files as long as there is room for them; `left_out` is why one
    was not."""

    def __init__(self, folder: Folder, top: int, room: int, *,
                 needs_sandbox: bool) -> None:
        self._folder = folder
        self._top = top
        self._room = room
        self._needs_sandbox = needs_sandbox
        self.left_out: dict[str, str] = {}

    def read(self, path: str) -> str | None:
        text, why = self._look(path)
        size = len(text.encode())
        if not why and size > self._room:
            why = _PAST
        if why:
            self.left_out[path] = why
            return None
        self._room -= size
        return text

    def _look(self, path: str) -> tuple[str, str]:
        """The text of a file, or why it has none."""
        if _KEYS.fullmatch(path.rpartition("/")[2]):
            return "", _KEY
        try:
            data, _, _ = self._folder.read(self._top, path)
            document = read_document(
                path, data, max_chars=max(self._room, 1),
                required=self._needs_sandbox) if is_document(data) else None
        except OSError:
            return "", "unreadable"
        except ClawError as error:
            return "", error.message.removeprefix(path).strip()
        if document is not None:
            return document.text, _PAST if document.cut else ""
        if find_binary(data) is not None:
            return "", _BINARY
        return decode_text(data), ""


def _draw_tree(paths: Iterable[str], remarks: dict[str, str]
               ) -> Iterator[str]:
    """A line for each folder and file, two blanks deeper than what it is
    in."""
    above: list[str] = []
    for path in paths:
        *folders, name = path.split("/")
        same = 0
        while same < min(len(folders), len(above)) \
                and folders[same] == above[same]:
            same += 1
        for depth in range(same, len(folders)):
            yield f"{'  ' * depth}{join_lines(folders[depth])}/"
        above = folders
        remark = f" (left out: {remarks[path]})" if path in remarks else ""
        yield f"{'  ' * len(folders)}{join_lines(name)}{remark}"


def _say_left_out(name: str, listing: Listing, reader: _Reader,
                  limits: Limits) -> str:
    """One sentence, "" where nothing is to be said: what .gitignore files
    name is left out silently."""
    by_reason: dict[str, list[str]] = {}
    for path, why in reader.left_out.items():
        by_reason.setdefault(why, []).append(path)
    words = {**_WORDS, _PAST: f"past {limits.text:,} bytes in all "
                              f"({limits.way_out})"}
    said = [f"{len(paths)} {words.get(why, why)}: {_list_names(paths)}"
            for why, paths in by_reason.items()]
    said += [f"{count} {_WORDS.get(why, why)}"
             for why, count in listing.skipped.items() if why != "ignored"]
    return f"{name}: left out {'; '.join(said)}" if said else ""


def _list_names(paths: list[str]) -> str:
    more = len(paths) - _NAMED
    shown = ", ".join(map(join_lines, paths[:_NAMED]))
    return shown + (f" and {more} more" if more > 0 else "")
