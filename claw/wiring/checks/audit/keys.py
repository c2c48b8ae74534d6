"""Keys in plain text: in the settings and their copy, and in files from
which programs get their environment. The history of a shell is not read."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from claw.config.display import find_open_secrets
from claw.config.keys import join_key
from claw.config.parse import parse
from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.errors import ClawError, ConfigError
from claw.security.files import beneath
from claw.wiring.checks.check import Check, Group

KEYS = Group("keys")
_LARGEST_FILE = 16 << 20
# NAME_API_KEY=value, export ..., Environment="...", behind cron's times
_ASSIGNED = re.compile(
    r"""\b([A-Z][A-Z0-9_]*(?:API_KEY|TOKEN|SECRET|PASSWORD))=["']?"""
    r"(?!\$)[^\s\"']{8,}")


@KEYS.check
def check_settings_file(tree: Tree) -> Iterator[Check]:
    """config.toml, and the copy of it from before the last change."""
    if tree.get("secrets.encrypt", True) is False:
        yield Check("keys.encrypt", "fail", "secrets are stored as they are",
                    "claw config unset secrets.encrypt")
    file = tree.places.config_file
    copy = file.with_name(f"{file.name}.bak")
    for path, way in ((file, "claw config edit encrypts them"),
                      (copy, f"rm {shlex.quote(str(copy))}")):
        found = _open_keys(path)
        if found:
            yield Check("keys.settings", "fail", f"{path} holds in plain "
                        "text: " + ", ".join(found), way)
        elif found is not None:
            yield Check("keys.settings", "ok", f"no key stands open in {path}")


@KEYS.check
def check_environment_files(tree: Tree) -> Iterator[Check]:
    """Files of variables: a command reads those in the workspace, other
    people those that are open to them."""
    for path in _environment_files(tree.places):
        names = _assigned(path)
        if not names:
            continue
        inside = tree.places.workspace in path.parents
        shared = bool(path.stat().st_mode & 0o077)
        reader = "commands" if inside else "others" if shared else "backups"
        yield Check("keys.files", "fail" if inside or shared else "warn",
                    f"{path} holds {', '.join(names)}: {reader} may read it",
                    "claw config set api_key stores it encrypted"
                    if inside or not shared
                    else f"chmod 600 {shlex.quote(str(path))}")


def _open_keys(path: Path) -> list[str] | None:
    """The names of open secrets; None where there is no such file."""
    try:
        raw = parse(path.read_text(encoding="utf-8"), path.name)
    except FileNotFoundError:
        return None
    except (ConfigError, UnicodeDecodeError):
        return []  # who reads it says why it can't be read
    return [join_key(key) for key, _ in find_open_secrets(raw)]


def _environment_files(places: Places) -> Iterator[Path]:
    """Where keys are put for cron and for services, and .env files."""
    home = Path(os.environ.get("HOME") or places.home.parent)
    config = home / ".config"
    yield from (places.workspace / ".env", places.home / ".env",
                Path("/etc/crontab"))
    for folder, pattern in ((config / "environment.d", "*.conf"),
                            (config / "systemd/user", "*.service"),
                            (Path("/etc/cron.d"), "*"),
                            (Path("/var/spool/cron/crontabs"), "*")):
        try:
            yield from sorted(folder.glob(pattern))
        except PermissionError:
            continue  # it is not ours to read, nor to mend


def _assigned(path: Path) -> list[str]:
    """Names of variables that get a key there, in order. A command may
    have put a pipe or a link there: neither is read."""
    try:
        text = beneath.read(path.parent, path.name, lambda _: True,
                            _LARGEST_FILE).decode(errors="replace")
    except (ClawError, OSError):
        return []
    return list(dict.fromkeys(
        match[1] for line in text.splitlines()
        if not line.lstrip().startswith("#")
        for match in _ASSIGNED.finditer(line)))
