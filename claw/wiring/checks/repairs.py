"""What `claw doctor --fix` can mend in the home: modes, a change that was
killed, names with one likely meaning, plain secrets, drafts of dead writers.

Settings are changed the way claw config apply does it: what does not hold
is taken back, and claw config undo takes back what does.
"""

import copy
import difflib
import os
import re
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from claw.config.draft import Draft
from claw.config.history import FOLDER, list_versions
from claw.config.keys import Path as KeyPath
from claw.config.keys import join_key, split_key
from claw.config.nodes import drop, put
from claw.config.places import Places
from claw.config.store import current, lock_settings
from claw.config.tree import Tree
from claw.config.trial import read_unfinished
from claw.core.errors import ClawError, ConfigError, UsageError
from claw.core.value import replace
from claw.storage.backup.journal import find_unfinished, finish_restore
from claw.wiring.checks.check import Check
from claw.wiring.config.apply import apply_text, read_tree
from claw.wiring.config.sections import list_names

UNDO = "claw config undo"
_LIKELY = 0.8  # of difflib's ratio: one letter of eight is wrong
_PLAIN = "stands in plain text"


def refuse_foreign_home(places: Places) -> None:
    """Raise UsageError where the home is another user's: who repairs there
    as root does what that user has laid out for him."""
    if places.home.is_dir():
        owner = places.home.stat().st_uid
        if owner != os.geteuid():
            raise UsageError(
                f"{places.home} belongs to another user (uid {owner})",
                hint="repair it as that user")


def check_home_modes(places: Places) -> Iterator[Check]:
    """Whether others may look at the settings, the key of their secrets,
    and what is kept of earlier ones."""
    for name, path, mode in (
            ("config.home_mode", places.home.resolve(), 0o700),
            ("config.mode", places.config_file, 0o600),
            ("config.key_mode", places.key_file, 0o600),
            ("config.history_mode", places.home / FOLDER, 0o700),
            *(("config.history_mode", version.path, 0o600)
              for version in list_versions(places))):
        if path.exists() and (check := _check_mode(name, path, mode)):
            yield check


def check_unfinished(places: Places) -> Iterator[Check]:
    """A change that was on trial when its writer was killed."""
    try:
        trial = read_unfinished(places)
    except ConfigError as error:
        yield Check("config.unfinished", "fail", error.message, error.hint)
        return
    if trial is None:
        return
    try:
        with lock_settings(places, patience_s=0, recovers=False):
            pass
    except ClawError:
        return  # it is being tried just now
    yield Check("config.unfinished", "warn",
                f"{trial.command or 'a change'} did not end: what stands in "
                f"{places.config_file} was never tried",
                "claw doctor --fix", fix="put the settings from before back",
                undo=f"{UNDO} (what was being tried is kept)",
                repair=partial(_take_back, places))


def check_restore(places: Places) -> Iterator[Check]:
    """A claw backup restore that was killed."""
    if path := find_unfinished(places.home):
        yield Check("config.restore", "fail",
                    f"a restore was killed: {path} says how far it came",
                    "claw doctor --fix",
                    fix="finish the restore, or undo one that had not read "
                        "all of its backup",
                    repair=partial(_finish_restore, places))


def check_drafts(places: Places) -> Iterator[Check]:
    """Half-written files of writers that were killed."""
    left = [path for form in (".config.*.tmp", "..config.*.tmp",
                              ".secret_key.*.new")
            for path in sorted(places.home.glob(form))]
    if left:
        names = " ".join(shlex.quote(str(path)) for path in left)
        yield Check("config.drafts", "warn", "half-written files of a writer "
                    f"that was killed: {names}", f"rm {names}",
                    fix=f"remove {names}", repair=partial(
                        _remove_drafts, places, left))


def add_repair(tree: Tree, check: Check) -> Check:
    """A finding about a setting with what mends it, where that is sure."""
    path = split_key(check.id.removeprefix("config."))
    if check.detail.endswith(": unknown key"):
        meant = find_meant(tree, path)
        if meant is not None:
            return replace(
                check, fix=f"rename {join_key(path)} to {join_key(meant)}",
                undo=f"{UNDO} --force" if check.status == "fail" else UNDO,
                repair=partial(rename, tree.places, path, meant))
    if check.detail.endswith(_PLAIN):
        return replace(
            check, fix=f"encrypt {join_key(path)} in config.toml",
            undo=f"claw config get --reveal {join_key(path)} prints it",
            repair=partial(_encrypt, tree.places))
    return check


def find_meant(tree: Tree, path: KeyPath) -> KeyPath | None:
    """The one name that a misspelt one can mean; None where there are
    several or none, and where that one is set too."""
    name, parent = path[-1], path[:-1]
    likely = difflib.get_close_matches(
        name.lower(), list_names(parent), n=2, cutoff=_LIKELY)
    meant = (*parent, likely[0]) if len(likely) == 1 else None
    return None if meant is None or tree.has(meant) else meant


def rename(places: Places, path: KeyPath, meant: KeyPath) -> None:
    """Give a setting its right name. Raises ConfigError where its value
    does not hold under that."""
    before = current(places)
    tree = read_tree(places, before or b"")
    wanted = copy.deepcopy(tree.raw)
    put(wanted, meant, tree.node(path))
    drop(wanted, path)
    apply_text(places, _rename_in_line(places, before or b"", tree, path,
                                       meant, wanted)
               or _rename_in_draft(places, before, path, meant),
               expected=before)


def _rename_in_line(places: Places, data: bytes, tree: Tree, path: KeyPath,
                    meant: KeyPath, wanted: object) -> bytes | None:
    """The name changed where it stands; None where it can't be."""
    number = tree.line(path)
    lines = data.split(b"\n")
    if number is None or number > len(lines):
        return None
    lines[number - 1] = re.sub(
        rb"(?<![\w-])" + re.escape(path[-1].encode()) + rb"(?![\w-])",
        meant[-1].encode(), lines[number - 1], count=1)
    renamed = b"\n".join(lines)
    with suppress(ConfigError):
        if read_tree(places, renamed).raw == wanted:
            return renamed
    return None


def _rename_in_draft(places: Places, before: bytes | None, path: KeyPath,
                     meant: KeyPath) -> bytes:
    draft = Draft(places, before)
    draft.set(meant, draft.tree.node(path))
    draft.unset(path)
    return draft.render()


def _check_mode(name: str, path: Path, mode: int) -> Check | None:
    found = stat.S_IMODE(path.stat().st_mode)
    if not found & 0o077 & ~mode:
        return None
    is_link = path.is_symlink()  # it may lead into anything
    change = f"chmod {mode:o} {shlex.quote(str(path))}"
    return Check(name, "warn", f"others may read {path}" if path.is_file()
                 else f"others may look into {path}", change,
                 fix=None if is_link else change,
                 undo=f"chmod {found:o} {shlex.quote(str(path))}",
                 repair=None if is_link else partial(_set_mode, path, mode))


def _set_mode(path: Path, mode: int) -> None:
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                     | os.O_CLOEXEC)
    try:
        os.fchmod(number, mode)
    finally:
        os.close(number)


def _take_back(places: Places) -> None:
    with lock_settings(places):
        pass


def _finish_restore(places: Places) -> None:
    finish_restore(places.home, places.workspace)


def _encrypt(places: Places) -> None:
    data = current(places)
    apply_text(places, data or b"", expected=data)


def _remove_drafts(places: Places, left: list[Path]) -> None:
    with lock_settings(places):
        for path in left:
            if not os.path.isdir(path):
                path.unlink(missing_ok=True)
