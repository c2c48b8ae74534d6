"""macOS: the profile that sandbox-exec runs a command under. Untried: no
test has run it on a Mac; what it says is tested, not what it does.

Later rules win, so what is kept from commands stands last.
Source: sandbox-exec(1), sandbox(7); /usr/share/sandbox/*.sb of macOS 14.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

PROGRAM = "/usr/bin/sandbox-exec"
_SYSTEM = ("/System", "/usr", "/bin", "/sbin", "/Library/Apple",
           "/Library/Developer", "/opt/homebrew", "/private/etc/ssl",
           "/private/etc/localtime", "/private/var/db/timezone",
           "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_BASE = """(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/"))
(allow file-write-data (literal "/dev/null"))"""


def write_start(plan: Mapping[str, Any], tmp: str) -> tuple[str, ...]:
    """What stands in front of a command, for a launcher's plan; `tmp` is
    its own to write in."""
    profile = write_profile(
        read=plan["read"], write=[*plan["write"], tmp],
        hidden=plan["hidden"], read_only=plan["read_only"],
        network=plan["network"])
    limits, stdin = plan["limits"], plan["stdin"]
    source = "</dev/null" if stdin is None else f"<&{stdin}"
    shell = (f"ulimit -c 0; ulimit -t {limits['CPU']}; "
             f"ulimit -f {limits['FSIZE'] // 512}; exec \"$@\" {source}")
    return PROGRAM, "-p", profile, "/bin/sh", "-c", shell, "sh"


def write_profile(*, read: Iterable[str | Path], write: Sequence[str | Path],
                  hidden: Iterable[str | Path] = (),
                  read_only: Iterable[str | Path] = (),
                  network: bool = False) -> str:
    """The profile's text; paths are absolute and resolved. What may be
    written although it lies in a hidden folder stands behind that."""
    hidden = [*map(Path, hidden)]
    outer = {path: inner for path in hidden
             if (inner := [each for each in map(Path, write)
                           if path in each.parents])}
    lines = [_BASE, _rule("allow file-read*", (*_SYSTEM, *read)),
             _rule("allow file-read* file-write*", write),
             *(line for path, inner in outer.items() for line in (
                 _rule("deny file-read* file-write*", [path]),
                 _rule("allow file-read* file-write*", inner))),
             _rule("deny file-write*", read_only),
             _rule("deny file-read* file-write*",
                   [path for path in hidden if path not in outer])]
    if network:
        lines.append("(allow network*)\n(allow system-socket)")
    return "\n".join(line for line in lines if line) + "\n"


def _rule(action: str, paths: Iterable[str | Path]) -> str:
    places = " ".join(f"(subpath {_quote(str(path))})" for path in paths)
    return f"({action} {places})" if places else ""


def _quote(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
