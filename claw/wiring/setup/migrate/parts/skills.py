"""Skills: copied into claw's folder and scanned; none is accepted."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from claw.core.errors import ClawError, StorageError
from claw.core.value import Value, made
from claw.text.plural import plural
from claw.tools import REGISTRY
from claw.tools.skills.folder import Files, digest, read_folder
from claw.tools.skills.install import install
from claw.tools.skills.manifest import read_manifest
from claw.tools.skills.scan import scan
from claw.wiring.setup.migrate import HeldSkill, Item, Part


class _Read(Value):
    item: Item
    files: Files = made(factory=dict)


def look(held: Iterable[HeldSkill], home: Path) -> Part:
    """What would become of each skill."""
    return Part("skills", tuple(each.item for each in _decide(held, home)))


def carry(held: Iterable[HeldSkill], home: Path) -> Part:
    """Install those that are new, each whole or not at all; where one
    can't be written none is."""
    items: list[Item] = []
    put: list[str] = []
    for each in _decide(held, home):
        item = each.item
        if item.fate == "new":
            try:
                install(home, item.name, each.files, replace=False)
            except StorageError:
                _take_back(put, home)
                raise
            put.append(item.name)
        items.append(item)
    return Part("skills", tuple(items), undo="claw skill remove "
                + " ".join(put) if put else "")


def _take_back(names: list[str], home: Path) -> None:
    for name in names:
        shutil.rmtree(home / "skills" / name, ignore_errors=True)


def _decide(held: Iterable[HeldSkill], home: Path) -> list[_Read]:
    found: list[_Read] = []
    taken: set[str] = set()
    for each in held:
        one = _read_one(each, home, taken)
        if one.item.fate == "new":
            taken.add(one.item.name)
        found.append(one)
    return found


def _read_one(each: HeldSkill, home: Path, taken: set[str]) -> _Read:
    where = str(each.root / each.name)

    def leave(why: str) -> _Read:
        return _Read(Item(each.name, "left", where, why=why))

    try:
        files = read_folder(each.root, each.name)
        read_manifest(files, each.name)
    except ClawError as error:
        return leave(error.message)
    except OSError as error:
        return leave(f"it can't be read: {error.strerror}")
    forbidden = [finding.render() for finding in scan(
        files, each.name, REGISTRY.names()) if finding.forbids]
    if forbidden:
        return leave("; ".join(forbidden[:3]))
    if each.name in taken:
        return leave("another of this name comes")
    own = home / "skills" / each.name
    if own.is_symlink() or own.exists():
        return _compare(each, files, where, home)
    return _Read(Item(each.name, "new", where,
                      plural(len(files), "file")), files)


def _compare(each: HeldSkill, files: Files, where: str, home: Path) -> _Read:
    try:
        own = read_folder(home / "skills", each.name)
    except (ClawError, OSError):
        own = {}
    if digest(own) == digest(files):
        return _Read(Item(each.name, "same", where))
    return _Read(Item(each.name, "left", where, why="claw has another of "
                      "this name; to take this one: claw skill install "
                      f"--replace {where}"))
