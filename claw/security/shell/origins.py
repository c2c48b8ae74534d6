"""Whether a command could read what other people sent.

Attachments lie in <channel>_files of the workspace. The question is answered
from the command line alone, and with yes for more commands than need be: a
program that is not known to read only what it is told could read them all.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from claw.core.labels import ATTACHMENT
from claw.security.shell.commands import Verdict, executable
from claw.security.shell.lexer import Segment
from claw.security.shell.words import words

FILES = "_files"

# They tell names, sizes and times of files, and not what stands in them.
_NAMERS = frozenset(words(
    "ls pwd echo printf df du uname uptime hostname free stat mkdir touch "
    "basename dirname true false sleep seq rm mv"))
# They read the files that they are told, and no other.
_READERS = frozenset(words(
    "cat head tail wc nl tac cut sort uniq tr cmp diff md5sum sha256sum file "
    "date cp grep"))


def label_command(verdict: Verdict, workspace: Path) -> str:
    """"attachment" where a command could read one, else "command"."""
    folders = find_attachments(workspace)
    could = any(_could_read(segment, workspace, folders)
                for segment in verdict.segments)
    return ATTACHMENT if folders and could else "command"


def find_attachments(workspace: Path) -> list[Path]:
    """The folders that hold what people sent."""
    return [_resolve(folder) for folder in workspace.glob("*" + FILES)
            if folder.is_dir() and any(folder.iterdir())]


def _could_read(segment: Segment, workspace: Path,
                folders: Sequence[Path]) -> bool:
    if not segment.words:
        return False
    program, *args = segment.words
    name, texts = executable(program.text), [word.text for word in args]
    if name not in _NAMERS and name not in _READERS:
        return True
    if name == "grep" and any(map(_is_recursive, texts)) \
            and not (workspace / texts[-1]).exists():
        return True  # the whole workspace, where none is named
    if any(FILES in word.text or set(word.bare) & set("*?[{~")
           for word in args):
        return True
    named = {_resolve(workspace / part) for text in texts for part in (
        text, text.partition("=")[2], text[2:] if text[:1] == "-" else "")
        if part}
    return any(folder == path or folder in path.parents or (
        name in _READERS and path in folder.parents)
        for path in named for folder in folders)


def _resolve(path: Path) -> Path:
    """Where it leads; Path.resolve raises for links in a circle, before
    Python 3.13."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # of such a name the system knows no file
        return path


def _is_recursive(option: str) -> bool:
    return option.startswith(("--r", "--d", "-d")) or (
        option[:1] == "-" and option[1:2] != "-"
        and not {"r", "R"}.isdisjoint(option))
