"""Changing settings: set, unset, and the secrets of a text.

The caller's validator sees a change before anything is written. Imported
only by commands that write.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from claw.config.display import find_open_secrets
from claw.config.draft import Draft
from claw.config.environment import parse_value
from claw.config.keys import SEALED, Path, is_secret, join_key
from claw.config.known import is_array, names_below, real_path
from claw.config.places import Places
from claw.config.store import current, lock_settings
from claw.config.tree import SettingError, Tree
from claw.core.errors import NotFoundError, UsageError

# validate(before, after, path): raises SettingError for a change that the
# plug-in of this setting would refuse.
Validate = Callable[[Tree, Tree, Path], None]


def set_value(places: Places, path: Path, value: Any,
              validate: Validate) -> Tree:
    """Write one setting; returns what the file says now.

    Text is read as TOML where it parses and the plug-in takes that, else as
    it stands. Secrets are stored encrypted unless secrets.encrypt is
    false. UsageError for a value or name that is refused.
    """
    path = _resolve_name(path)
    with lock_settings(places):
        draft = Draft(places, current(places))
        value = _choose_reading(draft, path, value, validate)
        draft.set(path, _seal_value(draft, path, value))
        draft.save()
    return draft.tree


def set_table(places: Places, path: Path, values: Mapping[str, Any],
              validate: Validate) -> Tree:
    """Put a table in place of what stands there, in one write; returns
    what the file says now. SettingError for a value that is refused."""
    with lock_settings(places):
        draft = Draft(places, current(places))
        before = Tree(places, copy.deepcopy(draft.tree.raw))
        if draft.tree.has(path):
            draft.unset(path)
        for key, value in values.items():
            draft.set((*path, key), value)
        validate(before, draft.tree, path)
        draft.save()
    return draft.tree


def unset_value(places: Places, path: Path) -> Tree:
    """Remove one setting or table; returns what the file says now.
    NotFoundError when it isn't there."""
    path = _resolve_name(path)
    missing = NotFoundError(
        f"{join_key(path)} is not set in {places.config_file}")
    if current(places) is None:
        raise missing
    with lock_settings(places):
        draft = Draft(places, current(places))
        if not draft.tree.has(path):
            raise missing
        draft.unset(path)
        draft.save()
    return draft.tree


def seal_all(draft: Draft) -> list[Path]:
    """Encrypt the secrets that stand there in plain; which."""
    sealed = []
    for path, value in find_open_secrets(draft.tree.raw):
        stored = _seal_value(draft, path, value)
        if stored != value:
            sealed.append((path, stored))
    if sealed:
        draft.set_all(sealed)
    return [path for path, _ in sealed]


def _resolve_name(path: Path) -> Path:
    if not path:
        raise UsageError("no setting is named",
                         hint="e.g. claw config set memory.backend sqlite")
    return real_path(path)


def _choose_reading(draft: Draft, path: Path, value: Any,
              validate: Validate) -> Any:
    """The reading of the value that the plug-in takes; the first refusal
    where it takes none."""
    _refuse_table(draft, path, value)
    readings = [value]
    if isinstance(value, str):
        parsed = parse_value(value)
        # likeliest first; a secret of digits is text
        if parsed != value and not (is_secret(path) and not isinstance(
                parsed, str | list | dict)):
            readings = [parsed] if names_below(path) or is_array(path) \
                else [parsed, value]
    refusals = []
    for reading in readings:
        after = Tree(draft.places, copy.deepcopy(draft.tree.raw))
        after.override(path, reading, "flag", join_key(path))
        try:
            validate(draft.tree, after, path)
            return reading
        except SettingError as error:
            refusals.append(error)
    first = refusals[0]
    raise UsageError(f"{join_key(first.path)}: {first.problem}",
                     hint=first.hint) from first


def _refuse_table(draft: Draft, path: Path, value: Any) -> None:
    there = draft.tree.node_or(path)
    keys = names_below(path)
    if isinstance(there, dict) or (keys and not isinstance(
            parse_value(value) if isinstance(value, str) else value,
            dict | list)):
        name = join_key(path)
        example = f"{name}.{keys[0]}" if keys else f"{name}.KEY"
        raise UsageError(f"{name} is a table", hint="set one of its keys, "
                         f"e.g. claw config set {example} VALUE")


def _seal_value(draft: Draft, path: Path, value: Any) -> Any:
    """The value as it is stored: its secrets encrypted."""
    if isinstance(value, dict):
        return {key: _seal_value(draft, (*path, key), below)
                for key, below in value.items()}
    if isinstance(value, list):
        return [_seal_value(draft, (*path, str(i)), below)
                for i, below in enumerate(value)]
    if not (isinstance(value, str) and value and is_secret(path)):
        return value
    if value.startswith(SEALED):
        return _check_sealed(draft, path, value)
    if draft.tree.get("secrets.encrypt", True) is False:
        return value
    from claw.config.secrets import seal  # cryptography: 14 ms
    return seal(value, _key(draft, path))


def _check_sealed(draft: Draft, path: Path, value: str) -> str:
    """An already encrypted value, if our key opens it."""
    from claw.config.secrets import read_key, unseal
    try:
        unseal(value, read_key(draft.places.key_file))
    except ValueError as error:
        raise UsageError(
            f"{join_key(path)}: {error} (key file "
            f"{draft.places.key_file})", hint="give the secret itself"
        ) from error
    return value


def _key(draft: Draft, path: Path) -> bytes:
    """The key, made when there is none and no value but the one that is
    replaced was encrypted with an older one."""
    from claw.config.secrets import create_key, read_key
    file = draft.places.key_file
    if file.exists() or _holds_sealed(draft.tree.raw, path):
        return read_key(file)
    return create_key(file)


def _holds_sealed(node: Any, but: Path, path: Path = ()) -> bool:
    if isinstance(node, dict):
        return any(_holds_sealed(below, but, (*path, key))
                   for key, below in node.items())
    if isinstance(node, list):
        return any(_holds_sealed(below, but, (*path, str(i)))
                   for i, below in enumerate(node))
    return (isinstance(node, str) and path[:len(but)] != but and (
        node.startswith("enc2:")
        or (node.startswith("enc:") and is_secret(path))))
