"""The `lucid` command: how it is called, and when it is not.

Its output and its time are bounded; a call that takes too long ends with
everything it started. It sees no terminal and none of claw's secrets. After
any failure nothing is asked of it for a while. What is to be stored is
handed to a thread of its own and never waited for; a process that ends
waits for that thread, which gives each call its time limit, and all that
are left when the memory is closed one more.
"""

import os
import re
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from claw.core.value import Value
from claw.text.segment import clean

OUTPUT_BYTES = 256 * 1024
_ARGUMENT_BYTES = 100_000  # Linux takes up to 128 KiB
_WAITING = 256
_LONGEST_MS = 600_000
_secret = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL|DB_URL",
                     re.IGNORECASE)


class LucidSettings(Value):
    """From the environment: CLAW_LUCID_<NAME>, else
    ZEROCLAW_LUCID_<NAME>."""

    cmd: str = "lucid"
    budget: int = 200
    recall_timeout_ms: int = 500
    store_timeout_ms: int = 800
    local_hit_threshold: int = 3
    failure_cooldown_ms: int = 15_000


_LOWEST = {"budget": 1, "recall_timeout_ms": 20, "store_timeout_ms": 50,
           "local_hit_threshold": 1, "failure_cooldown_ms": 100}


def settings_from(env: Mapping[str, str], notify: Callable[[str], None]
                  ) -> LucidSettings:
    """What is too small counts as the smallest that is allowed; `notify`
    hears of what is no number."""
    found: dict[str, int] = {}
    for name, lowest in _LOWEST.items():
        variable, text = _variable(env, name)
        if not text:
            continue
        try:
            found[name] = min(max(int(text), lowest), _LONGEST_MS)
        except ValueError:
            default = getattr(LucidSettings(), name)
            notify(f"environment {variable}: no number: {text[:40]!r}; "
                   f"{default} is used")
    return LucidSettings(cmd=_variable(env, "cmd")[1] or "lucid", **found)


def _variable(env: Mapping[str, str], name: str) -> tuple[str, str]:
    own, reference = (f"{prefix}_LUCID_{name.upper()}"
                      for prefix in ("CLAW", "ZEROCLAW"))
    chosen = own if env.get(own, "").strip() else reference
    return chosen, env.get(chosen, "").strip()


class LucidTool:
    """The command, for one project."""

    def __init__(self, settings: LucidSettings, project: Path,
                 env: Mapping[str, str],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._project = f"--project={project}"
        self._env = {name: value for name, value in env.items()
                     if "LUCID_" in name or not _secret.search(name)}
        self._clock = clock
        self._failed_at: float | None = None
        self._waiting: deque[list[str]] = deque()
        self._is_working = False
        self._last_moment: float | None = None
        self._lock = threading.Lock()

    def is_resting(self) -> bool:
        """Whether it failed a short while ago."""
        failed = self._failed_at
        return (failed is not None and self._clock() - failed
                < self.settings.failure_cooldown_ms / 1000)

    def context(self, query: str) -> bytes | None:
        """What it prints for a query; None where it fails."""
        output = run(
            [self.settings.cmd, "context", argument(query),
             f"--budget={self.settings.budget}", self._project],
            self.settings.recall_timeout_ms / 1000, self._env)
        if output is None:
            self._fail()
        return output

    def store(self, text: str, type_: str) -> None:
        """Hand a text over; returns at once."""
        with self._lock:
            if len(self._waiting) >= _WAITING:  # far behind: a failure
                self._fail()
                return
            self._waiting.append([self.settings.cmd, "store", argument(text),
                                  f"--type={type_}", self._project])
            if self._is_working:
                return
            # No daemon: the interpreter waits for it at its end.
            thread = threading.Thread(target=self._work, name="lucid store",
                                      daemon=False)
            try:
                thread.start()
            except RuntimeError:  # too many threads, or it is the very end
                self._waiting.clear()
                self._fail()
            else:
                self._is_working = True

    def close(self) -> None:
        """What still waits has one more time limit."""
        self._last_moment = (time.monotonic()
                             + self.settings.store_timeout_ms / 1000)

    def _work(self) -> None:
        while (command := self._next()) is not None:
            if run(command, self.settings.store_timeout_ms / 1000,
                   self._env) is None:
                self._fail()

    def _next(self) -> list[str] | None:
        with self._lock:
            if (self._last_moment is not None
                    and time.monotonic() > self._last_moment):
                self._waiting.clear()
            if self._waiting:
                return self._waiting.popleft()
            self._is_working = False
            return None

    def _fail(self) -> None:
        self._failed_at = self._clock()


def argument(text: str) -> str:
    """A text as an argument: no NUL, not too long, and never an option,
    whatever it begins with."""
    whole = clean(text).replace("\0", " ")
    cut = whole.encode()[:_ARGUMENT_BYTES].decode("utf-8", "ignore")
    return f" {cut}" if cut.startswith("-") else cut


def run(command: Sequence[str], timeout_s: float, env: Mapping[str, str]
        ) -> bytes | None:
    """The output of a command that ends well, in time and within bounds;
    else None, and what it started is gone."""
    deadline = time.monotonic() + timeout_s
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=env, start_new_session=True)
    except (OSError, ValueError):
        return None
    assert child.stdout is not None
    with child.stdout as stream:
        try:
            output = _read(stream.fileno(), deadline)
            if output is None:
                return None
            code = child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        finally:
            if child.returncode is None:
                # Before it is waited for its number is still its own.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    return output if code == 0 else None


def _read(number: int, deadline: float) -> bytes | None:
    """All there is up to the end; None where it is too late or too much."""
    output = bytearray()
    ready = select.poll()
    ready.register(number, select.POLLIN)
    while len(output) <= OUTPUT_BYTES:
        left = deadline - time.monotonic()
        if left <= 0 or not ready.poll(left * 1000):
            return None
        chunk = os.read(number, 65_536)
        if not chunk:
            return bytes(output)
        output += chunk
    return None
