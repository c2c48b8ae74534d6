"""All that can be said about the settings, for `config check` and doctor."""

import os
import stat
from collections.abc import Collection, Iterator
from typing import Any

from claw.config.display import find_open_secrets
from claw.config.keys import Path, join_key
from claw.config.known import STRICT
from claw.config.tree import SettingError, Tree
from claw.config.validate import Finding, Level
from claw.wiring.checks.check import Check, Status
from claw.wiring.config.sections import (
    find_problems,
    inert,
    is_meaningful,
    kind_at,
)
from claw.wiring.config.sections import unknown as unknown_error

_MOST_TOLD = 100
# Settings that name a provider, a route or a hint, or are named so.
_NAMES: tuple[Path, ...] = (
    ("default_provider",), ("default_model",), ("model_routes",),
    ("model_providers",), ("query_classification", "rules"),
    ("agent", "auto_classify"), ("agents",), ("cron", "jobs"),
    ("reliability", "fallback_providers"),
    ("multimodal", "vision_provider"), ("tts", "default_provider"),
    ("memory", "embedding_provider"))


def check_settings(tree: Tree) -> list[Finding]:
    """Errors (claw refuses them), warnings and notes, in that order.

    Every section is read, every secret decrypted; nothing is written and
    no server is asked.
    """
    from claw.wiring.checks.routes import route_findings
    from claw.wiring.jobs.declared import job_findings
    refused = find_refused(tree)
    found = [*refused, *route_findings(tree), *job_findings(tree),
             *_find_bad_secrets(tree, {finding.key for finding in refused}),
             *_find_open_files(tree), *_find_unused(tree)]
    order = ("error", "warning", "note")
    return sorted(found, key=lambda f: order.index(f.level))


def run_settings_checks(tree: Tree) -> Iterator[Check]:
    """What `check_settings` finds, as checks."""
    for finding in check_settings(tree):
        if not finding.key.endswith((".toml", ".secret_key")):
            yield Check(
                f"config.{finding.key}", _STATUS[finding.level],
                finding.text, finding.hint
                or f"claw config get {finding.key}")


_STATUS: dict[Level, Status] = {"error": "fail", "warning": "warn",
                                "note": "ok"}


def find_refused(tree: Tree) -> list[Finding]:
    """Unknown keys and wrong values; neither providers nor secrets are
    looked at."""
    return [*_find_unknown(tree), *(_build_finding(tree, error, "error")
                                    for error in find_problems(tree))]


def check_change(before: Tree, after: Tree, path: Path) -> list[Finding]:
    """What a change at `path` brings, beside what the plug-in of the
    setting says of its value: unknown keys in it, where they are errors,
    and names of providers, routes and hints that nothing has."""
    found = [_build_finding(after, unknown_error(after, below), "error")
             for below in _meaningless(after.node_or(path), path)
             if path[0] in STRICT]
    if any(path[:len(name)] == name for name in _NAMES):
        from claw.wiring.checks.routes import route_findings
        told = {(f.key, f.message) for f in route_findings(before)}
        found += [f for f in route_findings(after) if f.key == join_key(path)
                  or (f.key, f.message) not in told]
    return found


def _find_unknown(tree: Tree) -> Iterator[Finding]:
    for number, path in enumerate(_meaningless(tree.raw)):
        strict = path[0] in STRICT and len(path) > 1
        if strict or number < _MOST_TOLD:
            level: Level = "error" if strict else "warning"
            yield _build_finding(tree, unknown_error(tree, path), level)
        elif number == _MOST_TOLD:
            yield _build_finding(tree, tree.wrong(
                path, "more unknown keys from here on"), "warning")


def _meaningless(node: Any, path: Path = ()) -> Iterator[Path]:
    for below, value in _children(node, path):
        if is_meaningful(below):
            yield from _meaningless(value, below)
        else:
            yield below


def _find_bad_secrets(tree: Tree, told: Collection[str]
                      ) -> Iterator[Finding]:
    """Secrets that can't be decrypted, and those in plain text."""
    for path in _sealed(tree.raw):
        if join_key(path) in told:
            continue
        try:
            tree.get(path)
        except SettingError as error:
            yield _build_finding(tree, error, "error")
    if tree.get("secrets.encrypt", True) is False:
        return
    for path, _ in find_open_secrets(tree.raw):
        if tree.origin(path) == "config":
            key = join_key(path)
            yield Finding(key, tree.line(path), "stands in plain text",
                          f"claw config edit encrypts it, or: claw config "
                          f"set {key}", "warning")


def _sealed(node: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(node, str) and node.startswith(("enc2:", "enc:")):
        yield path
    for below, value in _children(node, path):
        yield from _sealed(value, below)


def _find_open_files(tree: Tree) -> Iterator[Finding]:
    for file in (tree.places.config_file, tree.places.key_file):
        try:
            mode = stat.S_IMODE(os.stat(file).st_mode)
        except OSError:
            continue  # who reads it says why it can't be read
        if mode & 0o077:
            yield Finding(file.name, None, f"others may read {file}",
                          f"chmod 600 '{file}'", "warning")


def _find_unused(tree: Tree) -> Iterator[Finding]:
    unused = inert()
    for path in _used_leaves(tree.raw):
        is_unused = any(path[:n] in unused for n in range(1, len(path) + 1))
        if is_meaningful(path) and (kind_at(path) is None or is_unused):
            yield Finding(join_key(path), tree.line(path),
                          "known, but without effect in this version",
                          None, "note")


def _used_leaves(node: Any, path: Path = ()) -> Iterator[Path]:
    children = list(_children(node, path))
    if not children and path and node != {}:
        yield path
    for below, value in children:
        yield from _used_leaves(value, below)


def _children(node: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Entries of a table, and the tables of a list."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield (*path, name), value
    elif isinstance(node, list):
        for index, value in enumerate(node):
            if isinstance(value, dict):
                yield (*path, str(index)), value


def _build_finding(tree: Tree, error: SettingError, level: Level) -> Finding:
    line = tree.line(error.path) if not tree.variable(error.path) else None
    problem = error.problem
    if tree.variable(error.path):
        problem += f" (environment {tree.variable(error.path)})"
    return Finding(join_key(error.path), line, problem, error.hint, level)
