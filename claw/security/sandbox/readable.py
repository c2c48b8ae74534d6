"""Where the tools of a machine live: what a confined command may read."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import claw
from claw.security.shell.words import words

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
           "/nix/store", "/run/current-system/sw")
_ETC = words("alternatives ld.so.cache ld.so.conf ld.so.conf.d passwd group "
        "nsswitch.conf localtime timezone os-release debian_version hosts "
        "mime.types services protocols terminfo locale.alias ssl/certs "
        "ssl/openssl.cnf pki/tls/certs pki/ca-trust/extracted "
        "ca-certificates crypto-policies")
_ETC_NETWORK = ("resolv.conf", "gai.conf", "host.conf")


def command_path(path: str, writable: Sequence[Path]) -> str:
    """PATH without relative parts and without what a command can write
    to, so that a file it leaves there never passes for a tool."""
    kept = [p for p in path.split(os.pathsep) if p.startswith("/")
            and not any(Path(p).is_relative_to(w) for w in writable)]
    return os.pathsep.join(kept) or os.defpath


def find_own_code(writable: Iterable[Path]) -> list[Path]:
    """Where the code of this process lies in what commands can write to,
    as an editable install or a virtual environment does: whoever changes it
    there runs outside of the sandbox."""
    places = [Path(claw.__file__).parent, *map(Path, filter(None, sys.path))]
    if sys.prefix != sys.base_prefix:
        places.append(Path(sys.prefix))
    real = dict.fromkeys(place.resolve() for place in places)
    return [place for place in real if place.is_dir() and any(
        root in place.parents for root in map(Path.resolve, writable))]


def readable_paths(path: str, commands: Sequence[str], rustup: Path, *,
                   network: bool, home: str | None) -> tuple[str, ...]:
    """Paths to be read: the system's, Python's, and the installation of
    each command that PATH finds elsewhere (pyenv, nvm, a virtual
    environment). `home` itself is never among them."""
    paths = [*_SYSTEM, *(f"/etc/{name}" for name in _ETC)]
    if network:
        paths += [f"/etc/{name}" for name in _ETC_NETWORK]
    tools = {sys.prefix, sys.base_prefix}
    for program in (sys.executable, *commands):
        if found := shutil.which(program, path=path):
            tools.update(_installation(found, home))
            if program == "cargo" and rustup.is_dir():
                tools.add(str(rustup))
    present = [p for p in (*paths, *sorted(tools)) if os.path.exists(p)]
    return tuple(_outermost(dict.fromkeys(present)))


def _installation(program: str, home: str | None) -> Iterator[str]:
    """Directories that a program needs, for each link on the way to it."""
    for _ in range(20):
        folder = os.path.dirname(program)
        yield _prefix(folder, home)
        if not os.path.islink(program):
            return
        program = os.path.normpath(
            os.path.join(folder, os.readlink(program)))


def _prefix(folder: str, home: str | None) -> str:
    """The tree a bin directory belongs to, where it is one for programs:
    ~/.pyenv, but not ~/.cargo, ~/.local or the home, which hold more."""
    parent = os.path.dirname(folder)
    holds_libraries = any(os.path.isdir(os.path.join(parent, name))
                          for name in ("lib", "libexec"))
    private = parent in ("/", home) or os.path.basename(parent) == ".local"
    return parent if holds_libraries and not private else folder


def _outermost(paths: Sequence[str] | dict[str, None]) -> Iterator[str]:
    """Without the paths that lie in another one of the list."""
    listed = set(paths)
    for path in paths:
        if not any(str(p) in listed for p in Path(path).parents):
            yield path
