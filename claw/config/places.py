"""Where claw keeps its settings and its workspace.

Flag, then environment (CLAW_HOME, CLAW_WORKSPACE), then ~/.claw and
<home>/workspace. `~` is HOME or, without it, the passwd entry. Nothing is
created here.
"""

import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path

from claw.core.errors import ConfigError, UsageError
from claw.core.value import Value


class Places(Value):
    """The two folders, absolute, and the rule that chose each.

    `trusted`: what lies in the workspace counts (decided by
    wiring/workspace/trust.py). `command`: which one this is ("claw config
    set"), for the history of the settings.
    Origins: "--config-dir" or "--workspace", "CLAW_HOME" or
    "CLAW_WORKSPACE", "default", "default (HOME unset: passwd entry)".
    """

    home: Path
    workspace: Path
    home_origin: str
    workspace_origin: str
    trusted: bool = True
    command: str = ""

    def resolve_granted(self, text: str) -> Path:
        """Where a folder of the settings leads; a relative one is one of
        the workspace."""
        return (self.workspace / os.path.expanduser(text)).resolve()

    @property
    def config_file(self) -> Path:
        """<home>/config.toml."""
        return self.home / "config.toml"

    @property
    def key_file(self) -> Path:
        """<home>/.secret_key, which decrypts the stored secrets."""
        return self.home / ".secret_key"


def locate(config_dir: str | None = None, workspace: str | None = None,
           env: Mapping[str, str] | None = None, *, command: str = ""
           ) -> Places:
    """The places for these flags and this environment (default: ours).

    An empty flag is a UsageError, an empty variable counts as unset.
    ConfigError where no home directory can be found.
    """
    env = os.environ if env is None else env
    home, home_origin = _choose(
        "--config-dir", config_dir, "CLAW_HOME", env)
    if home is None:
        user_home, known_by = _user_home(env)
        home, home_origin = user_home / ".claw", "default" + known_by
    workspace_path, workspace_origin = _choose(
        "--workspace", workspace, "CLAW_WORKSPACE", env)
    return Places(home, workspace_path or home / "workspace", home_origin,
                  workspace_origin, command=command)


def refuse_links(places: Places) -> None:
    """Raise StorageError for settings behind a link where they lie in the
    workspace: a command may have put it there. Elsewhere links are the
    owner's own."""
    if places.workspace == places.home / "workspace":
        return
    home, workspace = places.home, places.workspace
    if not home.is_relative_to(workspace):
        home = Path(os.path.realpath(home))
        workspace = Path(os.path.realpath(workspace))
    if not home.is_relative_to(workspace):
        return
    from claw.security.files import nofollow
    for name in ("config.toml", "config.toml.bak", ".secret_key",
                 ".config.lock", ".config.apply", "config.history"):
        found = nofollow.status(workspace, home / name)
        if found is not None and stat.S_ISLNK(found.st_mode):
            raise nofollow.refuse(home / name, found)


def _choose(flag: str, given: str | None, variable: str,
            env: Mapping[str, str]) -> tuple[Path | None, str]:
    if given is not None:
        if not given.strip():
            raise UsageError(f"{flag} is empty",
                             hint=f"give a folder or leave {flag} out")
        return _absolute(given, flag, env), flag
    value = env.get(variable, "")
    if value.strip():
        return _absolute(value, variable, env), variable
    return None, "default"


def _absolute(text: str, source: str, env: Mapping[str, str]) -> Path:
    if "\0" in text:
        raise UsageError(f"{source} holds a NUL character",
                         hint="give a plain path")
    path = _expand(text, source, env) if text[0] == "~" else Path(text)
    try:
        return path.absolute()
    except FileNotFoundError as error:
        raise ConfigError(
            f"{source}: {text!r} is relative and the current folder is "
            "gone", hint="cd to a folder that exists, or give a full path"
        ) from error


def _expand(text: str, source: str, env: Mapping[str, str]) -> Path:
    who, _, rest = text.partition("/")
    if who == "~":
        return _user_home(env)[0] / rest.lstrip("/")
    try:
        return Path(pwd.getpwnam(who[1:]).pw_dir) / rest.lstrip("/")
    except (KeyError, UnicodeEncodeError) as error:
        raise ConfigError(f"{source}: no user {who[1:]!r} here",
                          hint="give a full path") from error


def _user_home(env: Mapping[str, str]) -> tuple[Path, str]:
    """The user's home and how it was found ("" = HOME)."""
    home = env.get("HOME", "")
    if home:
        return Path(home), ""
    try:
        return (Path(pwd.getpwuid(os.getuid()).pw_dir),
                " (HOME unset: passwd entry)")
    except KeyError as error:
        raise ConfigError(
            "no home folder: HOME is unset and this user has no passwd "
            "entry", hint="set CLAW_HOME or give --config-dir") from error
