"""A real `claw listen`: started, watched through its log, ended.

Its environment holds nothing of the user's but the path of programs and of
Python's modules.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COMMAND: Sequence[str] = (sys.executable, "-m", "claw")
_LOOK_S = 0.005
_KEPT = ("PATH", "PYTHONPATH", "SYSTEMROOT", "LD_LIBRARY_PATH")


def environment(home: Path, runtime: Path | None = None,
                more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a child sees. `runtime` is where locks of this user lie."""
    folder = runtime or home / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {**{k: os.environ[k] for k in _KEPT if k in os.environ},
            "HOME": str(home), "XDG_RUNTIME_DIR": str(folder),
            "PYTHONUTF8": "1", **(more or {})}


class Child:
    """One process. `log` is its stderr, one JSON object a line."""

    def __init__(self, home: Path, log: Path, env: Mapping[str, str], *,
                 before: Sequence[str] = ()) -> None:
        self.log = log
        self.started_at = time.monotonic()
        self._events: list[dict[str, Any]] = []
        self._read = 0
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [*before, *COMMAND, "--config-dir", str(home),
                 "--log-format", "json", "listen"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=stderr, env=dict(env), cwd=home)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def events(self, name: str) -> list[dict[str, Any]]:
        """The lines of its log with this event so far."""
        with self.log.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[:data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                event = {"event": "text", "text": line.decode(
                    "utf-8", "replace")}
            if isinstance(event, dict):
                self._events.append(event)
        return [e for e in self._events if e.get("event") == name]

    def wait_for(self, event: str, timeout_s: float = 30.0) -> bool:
        """Until its log has the event; False where it ended before.
        Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while not self.events(event):
            if self.code is not None:
                return bool(self.events(event))
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"claw listen did not say {event!r} within "
                    f"{timeout_s:g} s; {self.last_words()}")
            time.sleep(_LOOK_S)
        return True

    def wait_ready(self, timeout_s: float = 30.0) -> float | None:
        """Seconds from its start until it worked; None where it ended
        before."""
        return (time.monotonic() - self.started_at
                if self.wait_for("started", timeout_s) else None)

    def recovery_ms(self) -> float:
        """What it said its queue took to recover."""
        return float(self.events("started")[0]["ms"])

    def kill(self) -> None:
        """SIGKILL, and until it is gone."""
        self._process.kill()
        self._process.wait()

    def stop(self, timeout_s: float = 40.0) -> int:
        """SIGTERM; the exit code. One that does not end is killed."""
        self._process.terminate()
        return self.wait(timeout_s)

    def wait(self, timeout_s: float = 40.0) -> int:
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def last_words(self) -> str:
        """The end of its log, for a report."""
        text = self.log.read_text("utf-8", "replace").strip()
        return "its log ends: " + " | ".join(text.splitlines()[-3:])[-600:]
