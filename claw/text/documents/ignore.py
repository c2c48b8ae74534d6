"""Which files of a folder its .gitignore files leave out. Pure.

The patterns of git: comments, !negation, trailing / for folders, a slash
inside for a path from here, **, and \\ before a character that is meant as
it is. Of several that fit the last one counts. A pattern comes with the
folder, from whoever made that: matching takes no more steps than the
product of both lengths.
Source: gitignore(5), read 2026-11.
"""

import fnmatch
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

_CLASSES = {"alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9",
            "lower": "a-z", "upper": "A-Z", "space": " \t",
            "xdigit": "0-9a-fA-F"}
_LONGEST = 4_096
_glob = re.compile(r"[*?\[\\]")
_escaped = re.compile(r"\\(.)", re.DOTALL)

# What one part of a path is held to: itself, a pattern, None for "**".
_Part: TypeAlias = str | re.Pattern[str] | None
_ANYTHING = re.compile(r"(?s:.+)")


class _Rule(NamedTuple):
    parts: tuple[_Part, ...]
    leaves_out: bool
    only_folders: bool


class Rules:
    """The rules of one .gitignore file."""

    def __init__(self, text: str) -> None:
        self._rules = [rule for line in text.removeprefix("\ufeff").split("\n")
                       if (rule := _read_rule(line)) is not None]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def leave_out(self, parts: Sequence[str], *, is_folder: bool
                  ) -> bool | None:
        """Whether a path, from the folder of the file on, is left out; None
        where nothing is said of it."""
        for rule in reversed(self._rules):
            if (is_folder or not rule.only_folders) \
                    and _fits(rule.parts, parts):
                return rule.leaves_out
        return None


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Whether a path, its parts between slashes, fits a pattern as a whole:
    *, ?, [a-z] within a part, ** for any number of parts."""
    parts = [_read_part(name) for name in pattern.split("/") if name]
    if parts and parts[-1] is None:
        parts.append(_ANYTHING)
    return lambda path: _fits(parts, path.split("/"))


def _read_rule(line: str) -> _Rule | None:
    line = line.removesuffix("\r")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    leaves_out = not line.startswith("!")
    if line.startswith("#") or len(line) > _LONGEST:
        return None
    line = line[0 if leaves_out else 1:]
    bare = line.removesuffix("/")
    names = bare.removeprefix("/").split("/")
    if not all(names):
        return None
    parts: list[_Part] = [None] if "/" not in bare else []
    parts += map(_read_part, names)
    if names[-1] == "**":  # what is inside, and not the folder itself
        parts.append(_ANYTHING)
    return _Rule(tuple(parts), leaves_out, line.endswith("/"))


def _read_part(name: str) -> _Part:
    if name == "**":
        return None
    if not _glob.search(name):
        return name
    for word, letters in _CLASSES.items():
        name = name.replace(f"[:{word}:]", letters)
    name = re.sub(r"\*+", "*", name.replace("[^", "[!"))
    return re.compile(fnmatch.translate(_escaped.sub(
        lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1],
        name)))


def _fits(rule: Sequence[_Part], path: Sequence[str]) -> bool:
    """Whether a path fits a rule; "**" takes as few parts as it can, and
    one more where that fails."""
    at = here = 0
    any_at, any_here = -1, 0
    while here < len(path):
        if at < len(rule) and rule[at] is None:
            any_at, any_here = at, here
            at += 1
        elif at < len(rule) and _is_part(rule[at], path[here]):
            at, here = at + 1, here + 1
        elif any_at >= 0:
            any_here += 1
            at, here = any_at + 1, any_here
        else:
            return False
    return all(part is None for part in rule[at:])


def _is_part(part: _Part, name: str) -> bool:
    if isinstance(part, str):
        return part == name
    return part is not None and part.match(name) is not None
