"""The other agent's settings against claw's own.

A setting that claw has with another value stays claw's. One that is not
known to be harmless is held back (unasked.py, belonging.py). What remains is
tried against the plug-in that reads it, so that no text is made that claw
would refuse.
"""

import copy
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from claw.config.display import mask, to_toml
from claw.config.draft import Draft
from claw.config.keys import Path, is_secret, join_key
from claw.config.known import is_array, real_path
from claw.config.places import Places
from claw.config.store import current
from claw.config.tree import Tree, lay_over
from claw.core.errors import ClawError, ConfigError, UsageError
from claw.core.value import Value, replace
from claw.wiring.checks.parts import run_part_checks
from claw.wiring.config.apply import find_new
from claw.wiring.config.sections import (
    NOTHING,
    default_at,
    find_problems,
    inert,
    is_meaningful,
    kind_at,
)
from claw.wiring.setup.migrate import Fate, Item, Part, Setting
from claw.wiring.setup.migrate.parts.belonging import Judge
from claw.wiring.setup.migrate.parts.unasked import (
    EVERYBODY,
    KEPT_PLAIN,
    SERVERS,
    explain_hold,
    explain_server,
    hides_key,
)

_LONGEST = 60
_MASK = "********"
MOST = 1_000  # settings; a config.toml has at most 1 MiB
_PEOPLE = "allowed_users"
_OBEYED = "claw does what they ask, with your rights"
# A check of wiring/checks/parts.py -> where its settings stand.
_PARTS = {"providers.built": ("default_provider", "default_model", "api_url",
                              "api_path", "model_providers"),
          "gateway.built": ("gateway",), "plug_ins.built": ("hooks",),
          "sandbox.built": ("security", "autonomy")}
APPEND = "+"  # last in a key: the values are added to the list there
# What claw decides by itself, or would not mean the same in it.
_OWN = {("memory", "backend"): "claw's memory stays where it is",
        ("storage", "provider", "config", "db_url"):
            "claw's memory stays where it is",
        ("gateway", "paired_tokens"): "make keys anew: claw gateway token "
                                      "add NAME",
        ("secrets", "encrypt"): "claw keeps secrets encrypted"}
_HEARTBEAT = ("heartbeat", "enabled")


class Decided(Value):
    """One setting, what becomes of it, and what would be written."""

    item: Item
    path: Path = ()
    value: Any = None


def compare(settings: Iterable[Setting], tree: Tree, *, loosening: bool
            ) -> list[Decided]:
    """What becomes of each setting. `tree` is claw's config.toml alone."""
    unread = inert()
    decided: list[Decided] = []
    taken: set[Path] = set()
    for setting in _in_order(settings)[:MOST]:
        for found in _decide(setting, tree, unread, taken, loosening):
            if found.item.fate == "new":
                taken.add(found.path)
            decided.append(found)
    if loosening:
        return _try(decided, tree)
    full = lay_over(Tree(tree.places, copy.deepcopy(tree.raw)))
    while True:  # what is refused may be the key of what is left
        before = list(decided)
        decided = _try(_hold_strays(decided, full), tree)
        if decided == before:
            return decided


def _hold_strays(decided: list[Decided], full: Tree) -> list[Decided]:
    """What lacks a key or a token of its own is held back."""
    coming = [number for number, each in enumerate(decided)
              if each.item.fate == "new"]
    named = next((each.value for each in decided
                  if each.path == ("default_provider",)), None)
    held = Judge(full, os.environ, [
        (decided[number].path, decided[number].value) for number in coming],
        named).judge()
    for place, why in held.items():
        each = decided[coming[place]]
        decided[coming[place]] = replace(each, item=replace(
            each.item, fate="held", why=why))
    return decided


def build_part(decided: Iterable[Decided]) -> Part:
    return Part("settings", tuple(each.item for each in decided))


def read_own(places: Places) -> Tree:
    """claw's config.toml without the environment. Raises ConfigError."""
    return Draft(places, current(places)).tree


def make_candidate(decided: Iterable[Decided], places: Places
                   ) -> tuple[bytes, bytes | None] | None:
    """(the new text of config.toml, the text that it is made of); None
    where nothing changes. Secrets stand in it in plain: it is for
    `apply`, which seals them."""
    before = current(places)
    draft = Draft(places, before)
    coming = [each for each in decided if each.item.fate == "new"]
    if not coming:
        return None
    draft.set_all(pair for each in coming for pair in _spread(each, draft))
    return draft.render(), before


def _spread(each: Decided, draft: Draft) -> Iterator[tuple[Path, Any]]:
    """One value, or of an array of tables each that is not there yet."""
    if not is_array(each.path):
        yield each.path, each.value
        return
    there = draft.tree.node_or(each.path)
    for number, row in enumerate(each.value):
        if number >= len(there or ()):
            yield (*each.path, str(number)), row


def _in_order(settings: Iterable[Setting]) -> list[Setting]:
    """The top level first, as in a file; what has no name last."""
    return sorted(settings, key=lambda each: (
        2 if each.key is None else len(each.key) > 1))


def _decide(setting: Setting, tree: Tree, unread: frozenset[Path],
            taken: set[Path], loosening: bool) -> Iterator[Decided]:
    """What becomes of one; a list of people may come in part."""
    if setting.key is None:
        yield Decided(Item(setting.source, "left", setting.source,
                           why=setting.why))
        return
    path = real_path(setting.key[:-1] if setting.key[-1] == APPEND
                     else setting.key)
    refusal = _find_refusal(path, setting.value, unread)
    own = NOTHING if refusal else _read_own(tree, path)
    held = default_at(path) if own is NOTHING else own
    is_list = path[-1] == _PEOPLE or setting.key[-1] == APPEND
    value = _append(held, setting.value) if is_list else setting.value

    def say(fate: Fate, why: str, value: Any = value) -> Decided:
        return Decided(Item(join_key(path), fate, setting.source,
                            _show(path, _find_added(held, value) if is_list
                                 else value), why), path, value)

    if refusal:
        yield say("left", refusal)
    elif _equal(held, value):
        yield say("same", "")
    elif path in taken:
        yield say("left", "it comes from another place of it")
    elif own is not NOTHING and not is_list:
        yield say("left", f"claw has {_show(path, own)}")
    elif path == SERVERS and isinstance(value, list):
        yield from _decide_servers(value, held, say, loosening=loosening)
    else:
        obeyed = _OBEYED if path[-1] == _PEOPLE else ""
        why = explain_hold(path, value, None if held is NOTHING else held,
                           is_set=own is not NOTHING)
        if not why or loosening:
            yield say("new", why if why == KEPT_PLAIN else obeyed)
            return
        named = [each for each in value if each != EVERYBODY] \
            if path[-1] == _PEOPLE and own is NOTHING \
            and isinstance(value, list) else []
        if named:
            yield say("new", obeyed, named)
            value = [EVERYBODY]
        yield say("held", why, value)


def _decide_servers(rows: list[Any], held: Any, say: Callable[..., Decided],
                    *, loosening: bool) -> Iterator[Decided]:
    """The plain rows, then those that wait, by their reasons."""
    own = list(held) if isinstance(held, list | tuple) else []
    reasons = {number: why for number, row in enumerate(rows)
               if number >= len(own) and (why := explain_server(row))}
    if loosening:
        yield say("new", KEPT_PLAIN if KEPT_PLAIN in reasons.values() else "",
                  rows)
        return
    plain = [row for number, row in enumerate(rows) if number not in reasons]
    if len(plain) > len(own):
        yield say("new", "", plain)
    for number, why in reasons.items():
        yield say("held", why, [rows[number]])


def _find_refusal(path: Path, value: Any, unread: frozenset[Path]) -> str:
    """Why claw can't take a setting, "" where it can."""
    if path in _OWN:
        return _OWN[path]
    if path[:2] == ("cron", "jobs"):
        return "jobs come as jobs, switched off"
    if path == _HEARTBEAT and value is not False:
        return ("nothing runs by itself after a migration: claw config set "
                "heartbeat.enabled true")
    if any(is_array(path[:size]) for size in range(1, len(path))):
        return "entries of a list come whole; none of claw's is changed"
    if not is_meaningful(path):
        return "claw has no such setting"
    if (kind_at(path) is None and not is_array(path)) or path in unread:
        return "claw does not use it"
    return ""


def _read_own(tree: Tree, path: Path) -> Any:
    try:
        return tree.get(path, NOTHING)
    except ConfigError:  # a secret whose key is gone
        return tree.node_or(path, NOTHING)


def _try(decided: list[Decided], tree: Tree) -> list[Decided]:
    """Those that a plug-in refuses are left out, told with its reason. All
    are laid down before one is looked at: a table counts as a whole."""
    told = {(error.path, error.problem) for error in find_problems(tree)}
    while True:
        after = Tree(tree.places, copy.deepcopy(tree.raw))
        refused: dict[int, ClawError] = {
            number: error for number, each in enumerate(decided)
            if each.item.fate == "new" and (error := _lay(each, after))}
        if not refused:
            errors = [error for error in find_problems(after)
                      if (error.path, error.problem) not in told]
            refused = {number: error for error in errors for number
                       in _find_guilty(error.path, decided)}
        if not refused:
            refused = _find_unbuilt(decided, tree, after)
        if not refused:
            return decided
        for number, error in refused.items():
            decided[number] = _refuse(decided[number], error)


def _find_unbuilt(decided: list[Decided], tree: Tree, after: Tree
                  ) -> dict[int, ClawError]:
    """The settings of parts that can't be built as they would be: a channel
    without its token, or whose library is missing."""
    if not any(each.item.fate == "new" for each in decided):
        return {}
    failed = [check for check in find_new(
        run_part_checks, lay_over(Tree(tree.places, copy.deepcopy(tree.raw))),
        lay_over(after)) if check.status == "fail"]
    refused: dict[int, ClawError] = {}
    for check in failed:
        _, name, *_ = (*check.id.split("."), "")
        heads = _PARTS.get(check.id, ())
        is_channel = check.id.startswith("channels.")
        for number, each in enumerate(decided):
            if each.item.fate == "new" and (
                    each.path[:2] == ("channels_config", name) if is_channel
                    else each.path[0] in heads):
                refused[number] = ConfigError(check.detail, hint=check.hint)
    return refused


def _lay(each: Decided, after: Tree) -> ClawError | None:
    """Put a setting into the tree; the error where that can't be."""
    try:
        to_toml(each.value)
        each.item.name.encode()
        after.override(each.path, each.value, "flag", each.item.name)
    except (UsageError, ConfigError) as error:
        return error
    except ValueError as error:
        return UsageError(str(error))
    return None


def _find_guilty(path: Path, decided: list[Decided]) -> list[int]:
    """The settings that an error speaks of: at its path, above or below;
    else those beside it, in the tables around it."""
    coming = [number for number, each in enumerate(decided)
              if each.item.fate == "new"]
    for size in range(len(path), -1, -1):
        found = [number for number in coming
                 if decided[number].path[:size] == path[:size]
                 or path[:len(decided[number].path)] == decided[number].path]
        if found:
            return found
    return []


def _refuse(each: Decided, error: ClawError) -> Decided:
    item = each.item
    problem = getattr(error, "problem", error.message)
    return Decided(Item(item.name, "left", item.source, item.shown,
                        f"claw does not take it: {problem}"))


def _append(held: Any, more: list[Any]) -> list[Any]:
    """A list with what is not in it yet; tables go by their name."""
    found = list(held) if isinstance(held, list | tuple) else []
    names = [each.get("name") for each in found if isinstance(each, dict)]
    return found + [each for each in more if each not in found and not (
        isinstance(each, dict) and each.get("name") in names)]


def _find_added(held: Any, value: Any) -> Any:
    """What a list has beyond the one there."""
    there = held if isinstance(held, list | tuple) else ()
    return [each for each in value if each not in there] or value


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return list(one) == list(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _show(path: Path, value: Any) -> str:
    """A value as a person sees it, on one line, secrets masked."""
    rows = value if path == SERVERS and isinstance(value, list) else ()
    if hides_key(path, value) or any(
            explain_server(row) == KEPT_PLAIN for row in rows):
        return _MASK
    shown = mask(path, value)
    if is_secret(path) or isinstance(value, str):
        text = str(shown)
    else:
        try:
            text = to_toml(shown)
        except ValueError:
            text = str(shown)
    text = " ".join(text.split())
    if path == SERVERS or path[0] == "hooks" or path[-1] == _PEOPLE:
        return text  # whole: the owner's yes is to each argument or person
    return text if len(text) <= _LONGEST else text[:_LONGEST - 1] + "…"
