"""What claw puts beside itself on this machine: completion and man pages
for the shell, and the service."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from claw.core.errors import StorageError
from claw.core.value import Value

SHELLS = ("bash", "zsh", "fish")


class Installed(Value):
    """The files that were written, and what is left to the owner to do,
    "" for nothing."""

    files: tuple[Path, ...]
    left: str = ""


def find_shell(env: Mapping[str, str]) -> str | None:
    """The shell of the owner, where claw completes in it."""
    name = Path(env.get("SHELL") or "").name
    return name if name in SHELLS else None


def place_completion(shell: str, env: Mapping[str, str]) -> Path:
    """Where this shell looks for the completion of claw."""
    home = _find_home(env)
    config = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    return {"bash": _find_data(env) / "bash-completion/completions/claw",
            "zsh": home / ".zfunc/_claw",
            "fish": config / "fish/completions/claw.fish"}[shell]


def write_completion(shell: str, script: str,
                     env: Mapping[str, str]) -> Installed:
    """Put the completion script in its place. Raises StorageError."""
    path = place_completion(shell, env)
    _write(path, script)
    return Installed((path,), {
        "bash": "", "fish": "",
        "zsh": "" if _has_zfunc(env) else
               "put into ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit; "
               "compinit"}[shell])


def write_man_pages(pages: Mapping[str, str],
                    env: Mapping[str, str]) -> Installed:
    """Put the man pages where man looks: beside the folder of PATH that
    claw was found in, if one may write there. Raises StorageError."""
    folder = place_man_pages(env)
    for name, text in pages.items():
        _write(folder / name, text)
    return Installed(tuple(folder / name for name in pages))


def place_man_pages(env: Mapping[str, str]) -> Path:
    """The folder of the man pages."""
    command = shutil.which("claw", path=env.get("PATH"))
    share = Path(command).parent.parent / "share" if command else None
    if share is not None and os.access(
            share if share.exists() else share.parent, os.W_OK):
        return share / "man/man1"
    return _find_data(env) / "man/man1"


def _has_zfunc(env: Mapping[str, str]) -> bool:
    folder = Path(env.get("ZDOTDIR") or _find_home(env))
    try:
        return ".zfunc" in (folder / ".zshrc").read_text("utf-8", "replace")
    except OSError:
        return False


def _find_data(env: Mapping[str, str]) -> Path:
    return Path(env.get("XDG_DATA_HOME") or _find_home(env) / ".local/share")


def _find_home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or os.path.expanduser("~"))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.new")
        draft.write_text(text, "utf-8")
        draft.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror}",
                           hint=f"look at: ls -ld '{path.parent}'"
                           ) from error
