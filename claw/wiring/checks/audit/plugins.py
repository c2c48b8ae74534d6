"""Code of other packages that claw would load, with its hashes."""

import base64
import hashlib
from collections.abc import Iterator
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from typing import Any

from claw.config.tree import Tree
from claw.security.sandbox.readable import find_own_code
from claw.text.plural import plural
from claw.wiring.checks.check import Check, Group
from claw.wiring.tools.build import build_policy

PLUGINS = Group("plugins")
_CODE = (".py", ".so", ".pyd")


@PLUGINS.check
def check_plugins(tree: Tree) -> Iterator[Check]:
    """Each entry point of a group of claw's; nothing of it is imported."""
    named = set(_words(tree.raw))
    found = [_build_check(point, package, is_named=point.name in named)
             for package in distributions()
             for point in package.entry_points
             if point.group.startswith("claw.")]
    yield from sorted(found, key=lambda check: check.id)
    if not found:
        yield Check("plugins.none", "ok",
                    "no other package brings code for claw")


@PLUGINS.check
def check_own_code(tree: Tree) -> Iterator[Check]:
    """Where claw itself is loaded from."""
    folders = find_own_code(build_policy(tree).paths.roots)
    if folders:
        yield Check(
            "plugins.own", "fail", "code of claw is loaded from where the "
            "agent's files lie (commands can't change it, an approved "
            "file_write can): " + ", ".join(map(str, folders)),
            "install claw by pip without -e, or take another workspace")


def _build_check(point: EntryPoint, package: Distribution, *,
                 is_named: bool) -> Check:
    check_id = f"plugins.{point.group.partition('.')[2]}.{point.name}"
    use = "named in the settings" if is_named else "not used"
    shown = f"{package.name} {package.version}, {use}"
    files = _code_files(package)
    changed = [str(path) for path, wanted in files
               if not path.is_file() or wanted not in (None, _digest(path))]
    shared = [str(path) for path, _ in files
              if path.is_file() and path.stat().st_mode & 0o022]
    again = f"pip install --force-reinstall {package.name}=={package.version}"
    if changed:
        return Check(check_id, "fail", f"{shown}: not as it was installed: "
                     + ", ".join(changed), again)
    if shared:
        return Check(check_id, "fail", f"{shown}: others may write "
                     + ", ".join(shared), "chmod go-w " + " ".join(shared))
    if not files:
        return Check(check_id, "warn", f"{shown}: its files are not listed "
                     "(an editable install?)", again)
    whole = hashlib.sha256(b"".join(path.read_bytes() for path, _ in files))
    return Check(check_id, "ok", f"{shown}, "
                 f"{plural(len(files), 'file')}, sha256 {whole.hexdigest()}")


def _code_files(package: Distribution) -> list[tuple[Path, str | None]]:
    """What could be run of a package, with the SHA-256 that its RECORD
    says (base64url without padding)."""
    return [(Path(str(file.locate())),
             file.hash.value if file.hash and file.hash.mode == "sha256"
             else None)
            for file in sorted(package.files or ())
            if file.suffix in _CODE]


def _digest(path: Path) -> str:
    raw = hashlib.sha256(path.read_bytes()).digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _words(node: Any) -> Iterator[str]:
    """Every name and text in the settings."""
    if isinstance(node, dict):
        yield from node
        node = list(node.values())
    if isinstance(node, list):
        for below in node:
            yield from _words(below)
    elif isinstance(node, str):
        yield node
