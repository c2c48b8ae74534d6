"""Run the real command as a user would: a process of its own, an empty
home, no terminal, no key, no network probing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class Ended:
    """How one command ended."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.raw = done.stdout
        self.out = done.stdout.decode("utf-8")
        self.err = done.stderr.decode("utf-8")

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"<exit {self.code} out={self.out!r} err={self.err!r}>"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """CLAW_HOME of the commands of this test; does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path, tmp_path: Path) -> dict[str, str]:
    """What the commands see: as little as cron gives, and their places."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "user"),
            "CLAW_HOME": str(home), "CLAW_NO_PROBE": "1",
            "PYTHONWARNINGS": "error"}


@pytest.fixture
def claw(environment: dict[str, str],
         tmp_path: Path) -> Callable[..., Ended]:
    """claw("memory", "recall", "tea", stdin="...", env={...})."""

    def call(*arguments: str | bytes, stdin: str | bytes | None = None,
             env: dict[str, str] | None = None, timeout: float = 60,
             cwd: Path | None = None) -> Ended:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        return Ended(subprocess.run(
            [sys.executable, "-m", "claw", *arguments], input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True, env={**environment, **(env or {})},
            timeout=timeout, cwd=cwd or tmp_path, check=False))

    return call
