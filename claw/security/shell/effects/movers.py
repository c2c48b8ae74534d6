"""mkdir, touch, cp and mv inside the workspace, away from what is read as
instructions or settings."""

import re
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import PurePosixPath

from claw.security.shell.braces import expand_braces
from claw.security.shell.effects.options import NotListed, parse
from claw.security.shell.lexer import Word
from claw.security.shell.words import words as split_words

# Left out: options that make links, set modes or name the target first.
TABLES = {
    "mkdir": "-pv --parents --verbose",
    "touch": "-acmd:t:r: --date: --reference: --no-create --time:",
    "cp": "-rRpnvifua --recursive --no-clobber --verbose --interactive "
          "--force --update --archive",
    "mv": "-nvifu --no-clobber --verbose --interactive --force --update",
}
# What claw reads as the owner's words or keeps for itself; names beginning
# with a dot are settings of git, npm, cargo and shells, as HOME is the
# workspace.
PROTECTED = split_words(
    "AGENTS.md SOUL.md USER.md TOOLS.md IDENTITY.md MEMORY.md HEARTBEAT.md "
    "BOOTSTRAP.md SKILL.md SKILL.toml MEMORY_SNAPSHOT.md skills memory state "
    "sessions config.toml active_workspace.toml")


_PLAIN_DOTS = frozenset((".gitignore", ".gitkeep", ".editorconfig",
                         ".dockerignore", ".github"))


def find_settings(path: str) -> str | None:
    """The part of a path that programs may read settings from, as HOME is
    the workspace."""
    return next((part for part in PurePosixPath(path).parts
                 if part.startswith(".") and part not in _PLAIN_DOTS), None)


def check(name: str, words: Sequence[Word], workspace: str) -> None:
    """Raises NotListed for what is not known to stay harmless."""
    operands = parse(name, TABLES[name], words, patterns=True).operands
    for word in operands:
        # No option ends like a file's name: *.log is never taken for one.
        if word.bare[:1] in ("*", "?", "[", "{") and not re.search(
                r"\.\w+\Z", word.bare):
            raise NotListed(f"{name} {word.text}: write ./ before it")
        check_path(name, word, workspace)
    for word in operands[:-1] if name in ("cp", "mv") else ():
        if word.text in (".", "") or word.text.endswith(("/", "/.")):
            raise NotListed(f"{name} {word.text}: what is in it is not said")


def check_path(name: str, word: Word, workspace: str = "") -> None:
    """Raises NotListed for a path outside, or one that is protected."""
    for text in expand_braces(word.text):
        if workspace and (text + "/").startswith(workspace + "/"):
            text = text[len(workspace):].lstrip("/") or "."
        path = PurePosixPath(text)
        if path.is_absolute() or text.startswith(("~", "-")):
            raise NotListed(f"{name}: {word.text} is not in the workspace")
        if settings := find_settings(text):
            raise NotListed(f"{name}: {settings} may hold settings")
        for part in (*path.parts[:1], *path.parts[-1:]):
            if found := _protected(part):
                raise NotListed(f"{name}: {found} is protected")


def _protected(part: str) -> str | None:
    """The protected name that a part of a path is, or may become."""
    pattern = re.sub(r"\{[^}]*\}?", "*", part).casefold()
    return next((name for name in PROTECTED
                 if fnmatch(name.casefold(), pattern)), None)
