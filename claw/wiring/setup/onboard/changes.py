"""config.toml as the wizard changes it: what it would say, and one place
where it is written."""

import copy
from collections.abc import Mapping
from typing import Any

from claw.config.display import mask, to_toml
from claw.config.draft import Draft
from claw.config.environment import parse_value
from claw.config.keys import Path, is_secret, join_key
from claw.config.parse import decode_text, parse
from claw.config.places import Places
from claw.config.store import current
from claw.config.tree import SettingError, Tree, lay_over
from claw.core.errors import StorageError, UsageError
from claw.wiring.config.apply import apply_text
from claw.wiring.config.sections import validate

Values = Mapping[Path, Any]  # None: not set
_TRIES = 3


class ConfigWriter:
    """With `dry_run` the file stays, and what would be in it is kept in
    memory."""

    def __init__(self, places: Places, *, dry_run: bool = False) -> None:
        self.places = places
        self.dry_run = dry_run
        self._data = current(places) if dry_run else None

    def read(self) -> Tree:
        """The settings in force, the environment over them."""
        return lay_over(self._read_file())

    def preview(self, values: Values) -> Tree:
        """The settings as they would be. Raises SettingError for a value
        that its plug-in refuses."""
        return lay_over(build_tree(self.places, edit_text(
            self.places, self._load(), values)))

    def write(self, values: Values) -> None:
        """Put these settings in force, whole or not at all. Raises
        SettingError, StorageError, and what the trial of them raises."""
        for left in reversed(range(_TRIES)):
            before = self._load()
            data = edit_text(self.places, before, values)
            if data == (before or b""):
                return
            if self.dry_run:
                self._data = data
                return
            try:
                apply_text(self.places, data, expected=before)
                return
            except StorageError:
                if not left or current(self.places) == before:
                    raise

    def flatten(self) -> dict[str, str]:
        """Every setting of the file as masked TOML, by its key."""
        return flatten(self._read_file().raw)

    def _load(self) -> bytes | None:
        return self._data if self.dry_run else current(self.places)

    def _read_file(self) -> Tree:
        return build_tree(self.places, self._load() or b"")


def edit_text(places: Places, before: bytes | None, values: Values) -> bytes:
    """The text of config.toml with these values in it; comments and order
    stay. Raises SettingError for one that its plug-in refuses."""
    draft, changed = Draft(places, before), False
    for path, value in values.items():
        old = Tree(places, draft.tree.raw)
        if value is None:
            if draft.tree.has(path):
                draft.unset(path)
                changed = True
        elif not old.has(path) or old.get(path) != value:
            draft.set(path, value)
            changed = True
            validate(build_tree(places, before or b""), draft.tree, path)
    return draft.render() if changed else before or b""


def build_tree(places: Places, data: bytes) -> Tree:
    """The settings that a text says."""
    text = decode_text(data, places.config_file).replace("\r\n", "\n")
    return Tree(places, parse(text, str(places.config_file)), text)


def read_value(tree: Tree, path: Path, text: str) -> Any:
    """What a person's text means for this setting: TOML where that fits,
    else the text itself. Raises UsageError for what the setting can't
    be."""
    readings = [text] if is_secret(path) else [parse_value(text), text]
    first: SettingError | None = None
    for reading in readings:
        after = Tree(tree.places, copy.deepcopy(tree.raw))
        try:
            after.override(path, reading, "flag", join_key(path))
            validate(tree, after, path)
            return reading
        except SettingError as error:
            first = first or error
    assert first is not None
    raise UsageError(f"{join_key(first.path)}: {first.problem}",
                     hint=first.hint)


def flatten(node: Any, path: Path = ()) -> dict[str, str]:
    """Plain values as masked TOML, by their dotted keys."""
    if isinstance(node, dict):
        return {key: text for name, below in node.items()
                for key, text in flatten(below, (*path, str(name))).items()}
    return {join_key(path): to_toml(mask(path, node))}


def compare(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """What became of the settings: lines that begin with "-" or "+"."""
    return [line for key in dict.fromkeys([*before, *after])
            if before.get(key) != after.get(key)
            for line in (*([f"- {key} = {before[key]}"]
                           if key in before else []),
                         *([f"+ {key} = {after[key]}"]
                           if key in after else []))]
