"""Which agents there are on this machine."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from claw.config.places import locate
from claw.core.errors import ClawError, NotFoundError, UsageError
from claw.wiring.setup.migrate import AGENTS, Found
from claw.wiring.setup.migrate.reading.source import Source

# Where each keeps its things below the user's home, the newest name first,
# the variable that moves it, and files of which one must be there.
_HOMES: dict[str, tuple[str, ...]] = {
    "zeroclaw": (".zeroclaw",),
    "openclaw": (".openclaw", ".clawdbot", ".moltbot"),
    "nanobot": (".nanobot",),
    "hermes": (".hermes",),
}
_VARIABLES = {"zeroclaw": "ZEROCLAW_CONFIG_DIR",
              "openclaw": "OPENCLAW_STATE_DIR",
              "hermes": "HERMES_HOME"}
_SIGNS: dict[str, tuple[str, ...]] = {
    "zeroclaw": ("config.toml", "workspace", "data", "active_workspace.toml"),
    "openclaw": ("openclaw.json", "clawdbot.json", "moltbot.json",
                 "workspace"),
    "nanobot": ("config.json", "workspace"),
    "hermes": ("config.yaml", "memories", "state.db", ".env"),
}
_VERSION = re.compile(r"\d+(\.\d+)+([-.+][0-9A-Za-z.-]+)?\Z")


def find_installations(user_home: Path, env: Mapping[str, str]
                       ) -> list[Found]:
    """The agents below a user's home, claw itself first where it has a
    config.toml. Reads little, and writes nothing."""
    found = []
    try:
        places = locate(env={"HOME": str(user_home), **env})
        if os.path.isfile(places.config_file):
            found.append(Found("claw", places.home, places.workspace))
    except ClawError:  # a variable of claw's that is wrong
        pass
    for agent in AGENTS:
        found += [each for home in _list_homes(agent, user_home, env)
                  if (each := look_at(agent, home)) is not None][:1]
    return found


def find_one(agent: str, path: str | None, user_home: Path,
             env: Mapping[str, str]) -> Found:
    """The agent in this folder, or where it usually is. Raises
    NotFoundError, and UsageError for a path that is none."""
    if path is None:
        homes = _list_homes(agent, user_home, env)
        for home in homes:
            if (found := look_at(agent, home)) is not None:
                return found
        raise NotFoundError(
            f"there is no {agent} in {' or '.join(map(str, homes))}",
            hint=f"name its folder: claw migrate {agent} PATH")
    if "\0" in path or not path.strip():
        raise UsageError(f"{path!r} can't be the name of a folder")
    home = Path(os.path.expanduser(path)).absolute()
    if not os.path.isdir(home):
        raise UsageError(f"{home} is no folder" if os.path.lexists(home)
                         else f"there is no folder {home}",
                         hint=f"name {agent}'s folder, usually "
                         f"~/{_HOMES[agent][0]}")
    if home.name == "workspace" and look_at(agent, home.parent) is not None:
        home = home.parent
    found = look_at(agent, home)
    if found is None:
        raise NotFoundError(
            f"{home} does not look like {agent}'s folder",
            hint="it would hold " + " or ".join(_SIGNS[agent][:2]))
    return found


def look_at(agent: str, home: Path) -> Found | None:
    """The agent in a folder, None where it is not its folder."""
    if not any(os.path.exists(home / sign) for sign in _SIGNS[agent]):
        return None
    return Found(agent, home, _find_workspace(agent, home),
                 _read_version(agent, Source(home, [])))


def _list_homes(agent: str, user_home: Path, env: Mapping[str, str]
                ) -> list[Path]:
    named = env.get(_VARIABLES.get(agent, ""), "").strip()
    return [Path(os.path.expanduser(named))] if named else [
        user_home / name for name in _HOMES[agent]]


def _find_workspace(agent: str, home: Path) -> Path | None:
    names = {"zeroclaw": ("workspace", "agents/default/workspace"),
             "hermes": ()}.get(agent, ("workspace",))
    return next((home / name for name in names
                 if os.path.isdir(home / name)), None)


def _read_version(agent: str, source: Source) -> str | None:
    """What its files say of the version that wrote them."""
    version = None
    if agent == "openclaw":
        config = next((found for name in _SIGNS["openclaw"][:3]
                       if (found := source.json(name)) is not None), None)
        meta = config.get("meta") if isinstance(config, dict) else None
        version = meta.get("lastTouchedVersion") \
            if isinstance(meta, dict) else None
    elif agent == "zeroclaw":
        text = source.text("config.toml") or ""
        found = re.search(r"(?m)^schema_version\s*=\s*(\d{1,3})\s*$", text)
        return f"schema {found[1]}" if found else None
    elif agent == "hermes":
        text = source.text("config.yaml") or ""
        found = re.search(r"(?m)^_config_version\s*:\s*(\d{1,4})\s*$", text)
        return f"config {found[1]}" if found else None
    is_version = isinstance(version, str) and len(version) < 40 \
        and _VERSION.match(version)
    return version if is_version else None
