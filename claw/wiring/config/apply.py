"""Settings in two phases: tried as a tree, then in place, and taken back
when they fail there.

Only what is new counts: a check that failed before is no reason to refuse.
"""

import copy
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from claw.config.display import find_open_secrets
from claw.config.draft import Draft
from claw.config.edit import seal_all
from claw.config.keys import Path, join_key
from claw.config.parse import decode_text, parse
from claw.config.places import Places
from claw.config.store import current, lock_settings
from claw.config.tree import SettingError, Tree, lay_over, load
from claw.config.trial import digest, try_out
from claw.config.write import remove_file
from claw.core.errors import (
    ClawError,
    ConfigError,
    FaultError,
    StorageError,
    UsageError,
)
from claw.core.value import Value
from claw.wiring.channels.states import STALE_S, read_running
from claw.wiring.checks.check import Check
from claw.wiring.checks.config import run_settings_checks
from claw.wiring.checks.parts import run_part_checks
from claw.wiring.config.view import hidden

Probe = Callable[[Tree], Iterable[Check]]
AS_BEFORE = "everything is as before"
_LISTEN_S = 20.0
_PAUSE_S = 0.25


class Change(Value):
    """One setting that became another; None where it is not set. Secrets
    are masked."""

    key: str
    before: Any
    after: Any


class Applied(Value):
    """What became of it. `version` is the id of the earlier text in the
    history, None where there was none or nothing was to be written;
    `checks` are the findings that are new, `sealed` the secrets that were
    encrypted."""

    version: str | None
    changes: tuple[Change, ...]
    checks: tuple[Check, ...]
    sealed: tuple[str, ...]


def await_listen(places: Places, wanted: str, *,
                 sleep: Callable[[float], None] = time.sleep,
                 patience_s: float = _LISTEN_S) -> Iterator[Check]:
    """Whether the `claw listen` that runs on this workspace took over the
    config.toml with this SHA-256: nothing where none runs."""
    waited = 0.0
    while True:
        found = read_running(places)
        if found is None or found.age_s > STALE_S \
                or found.pid == os.getpid() \
                or found.settings is None or found.settings == wanted:
            return
        if found.settings_tried == wanted:
            part = found.parts.get("config") or {}
            yield Check("listen.settings", "fail", "claw listen goes on with "
                        "the settings from before: "
                        f"{part.get('last_error') or 'it refused these'}",
                        part.get("hint"))
            return
        if waited >= patience_s:
            yield Check("listen.settings", "skip", "claw listen has not said "
                        f"within {patience_s:g} s whether it took them over",
                        "claw status")
            return
        sleep(_PAUSE_S)
        waited += _PAUSE_S


def check_text(places: Places, data: bytes, expected: bytes | None, *,
               name: str = "", forced: bool = False
               ) -> tuple[tuple[Change, ...], tuple[Check, ...]]:
    """Phase one: what would change, and what is new to say of it. Nothing
    is written. ConfigError for what would be refused; `forced` refuses
    only what is no TOML, of which errors speak by `name`."""
    tree = read_tree(places, data, name)
    before = _read_before(places, expected)
    found = find_new(_check_candidate, before, tree)
    _refuse(found, forced)
    return tuple(list_changes(before, tree)), found


def apply_text(places: Places, data: bytes, *, expected: bytes | None,
               probe: Probe = run_settings_checks,
               listening: Callable[[Places, str], Iterable[Check]]
               = await_listen, name: str = "", forced: bool = False
               ) -> Applied:
    """Put a text in config.toml's place, if it holds there.

    `expected` is what stands there: StorageError when someone else has
    written since. `probe` looks at the settings in force once they are in
    place; a check of it that fails and did not before, and a running
    `claw listen` that refuses them, take all of it back. ConfigError says
    what failed. Ctrl-C takes it back too. With `forced` what fails is
    told, and stays.
    """
    changes, found = check_text(places, data, expected, name=name,
                                forced=forced)
    with lock_settings(places), _without_new_key(places):
        if current(places) != expected:
            raise StorageError(
                f"{places.config_file} was changed meanwhile",
                hint="look at it, then try again: claw config history")
        sealed, written = _seal(places, expected, data)
        if written == expected:
            return Applied(None, changes, found, sealed)
        with try_out(places, written, expected) as version:
            seen = find_new(probe, lay_over(_read_before(places, expected)),
                            load(places))
            _refuse(seen, forced)
            heard = tuple(listening(places, digest(written)))
            _refuse(heard, forced)
    told = {_identify(check) for check in found}
    more = (c for c in (*seen, *heard) if _identify(c) not in told)
    return Applied(version, changes, (*found, *more), sealed)


def read_tree(places: Places, data: bytes, name: str = "") -> Tree:
    """The settings of a text, without environment. ConfigError for one
    that is no TOML; it says where in `name`, else in config.toml."""
    name = name or str(places.config_file)
    text = decode_text(data, name)
    return Tree(places, parse(text, name), text)


def find_new(probe: Probe, before: Tree, after: Tree) -> tuple[Check, ...]:
    """What a probe has to say of `after` that it does not say of
    `before`, without what is well."""
    found = [c for c in probe(after) if c.status != "ok"]
    if not found:
        return ()
    told = {_identify(check) for check in probe(before)}
    return tuple(c for c in found if _identify(c) not in told)


def list_changes(before: Tree, after: Tree) -> Iterator[Change]:
    """Each setting that differs, in the order of the names; one that was
    only encrypted anew does not."""
    old, new = dict(_leaves(before.raw)), dict(_leaves(after.raw))
    for path in sorted({*old, *new}):
        if path not in old or path not in new or \
                _open(before, path, old[path]) != _open(after, path,
                                                        new[path]):
            yield Change(join_key(path), hidden(path, old.get(path)),
                         hidden(path, new.get(path)))


def _check_candidate(tree: Tree) -> Iterator[Check]:
    """The text by itself, then what it builds under our environment. That
    a secret is plain is no finding: it is encrypted on the way."""
    open_ids = {f"config.{join_key(path)}"
                for path, _ in find_open_secrets(tree.raw)}
    yield from (check for check in run_settings_checks(tree)
                if check.status != "warn" or check.id not in open_ids)
    try:
        yield from run_part_checks(lay_over(Tree(
            tree.places, copy.deepcopy(tree.raw))))
    except ClawError as error:
        yield Check("config.built", "fail", error.message, error.hint)


def _read_before(places: Places, data: bytes | None) -> Tree:
    """The settings from before; none where they can't be read."""
    try:
        return read_tree(places, data or b"")
    except ConfigError:
        return Tree(places)


def _seal(places: Places, expected: bytes | None, data: bytes
          ) -> tuple[tuple[str, ...], bytes]:
    """The secrets that were encrypted, and the text with them so."""
    draft = Draft(places, expected, data)
    try:
        sealed = tuple(map(join_key, seal_all(draft)))
    except (FaultError, UsageError) as error:
        raise ConfigError(
            f"the secrets in it can't be encrypted: {error.message}",
            hint="take them out, then: claw config set KEY") from error
    return sealed, draft.render()


@contextmanager
def _without_new_key(places: Places) -> Iterator[None]:
    """What fails leaves no key behind that was made for it. Nobody else
    has used it: keys are made while the settings are locked."""
    had_key = os.path.lexists(places.key_file)
    try:
        yield
    except BaseException:
        if not had_key:
            remove_file(places.key_file)
        raise


def _refuse(found: Iterable[Check], forced: bool) -> None:
    failed = [check for check in found if check.status == "fail"]
    if failed and not forced:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise ConfigError(f"{failed[0].detail}{more}; {AS_BEFORE}",
                          hint=failed[0].hint)


def _identify(check: Check) -> tuple[str, str, str]:
    """What makes two findings one: lines and milliseconds do not count."""
    return check.id, check.status, re.sub(r"\d+", "#", check.detail)


def _leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(node, dict):
        for name, below in node.items():
            yield from _leaves(below, (*path, name))
    elif isinstance(node, list) and any(isinstance(v, dict) for v in node):
        for index, below in enumerate(node):
            yield from _leaves(below, (*path, str(index)))
    else:
        yield path, node


def _open(tree: Tree, path: Path, value: Any) -> Any:
    try:
        return tree.plain(path, value)
    except SettingError:
        return value
