"""The emergency stop: while it is set, no turn and no tool runs.

It is a file in claw's own folder, out of the reach of tools, with the keys
of the reference (`kill_all`, `updated_at`). What stops only a part there
(`network_kill`, `blocked_domains`, `frozen_tools`) stops all here, and so
does a file that can't be read.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claw.core.errors import DeniedError, StorageError
from claw.core.folders import make_private
from claw.core.minutes import format_minute

if TYPE_CHECKING:
    import asyncio

FILE = "estop-state.json"
POLL_S = 0.2
_NO_ROOM = b'{"kill_all": true}'  # what an empty file says
_PARTS = ("kill_all", "network_kill", "blocked_domains", "frozen_tools")


class StoppedError(DeniedError):
    """The owner has stopped claw."""

    kind = "stopped"

    def __init__(self, why: str) -> None:
        super().__init__(f"claw is stopped: {why}",
                         hint="lift the stop with: claw estop --lift")


class EmergencyStop:
    """The stop of one claw home."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE

    def read(self) -> str | None:
        """Since when and why claw is stopped; None where it is not."""
        try:
            state = json.loads(self.path.read_bytes() or _NO_ROOM)
            if not any(state.get(part) for part in _PARTS):
                return None
            since = format_minute(str(state.get("updated_at") or ""))
            return ", ".join(filter(None, (
                f"since {since or 'some time'}",
                str(state.get("reason") or ""))))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            return f"{self.path} can't be read ({error})"

    def check(self) -> None:
        """Raises StoppedError while the stop is set."""
        why = self.read()
        if why is not None:
            raise StoppedError(why)

    async def wait(self) -> None:
        """Return once the stop is set."""
        import asyncio
        while self.read() is None:  # noqa: ASYNC110  another process sets it
            await asyncio.sleep(POLL_S)

    async def set_once_stopped(self, cancel: "asyncio.Event") -> None:
        await self.wait()
        cancel.set()

    def set(self, reason: str = "") -> None:
        """Stop. Raises StorageError."""
        state = {"kill_all": True, "reason": reason,
                 "updated_at": datetime.now(UTC).isoformat(
                     timespec="seconds")}
        try:
            make_private(self.path.parent)
            # In one write: half a file stops as well.
            self.path.touch(0o600)
            self.path.write_text(json.dumps(state), encoding="utf-8")
            self.path.chmod(0o600)
        except OSError as error:
            if self.read() is not None:  # a full disk took its name alone
                return
            raise StorageError(
                f"the stop can't be written: {error}",
                hint="end claw by hand: pkill -KILL -f claw") from error

    def lift(self) -> bool:
        """Let claw run again; False where it was not stopped. Raises
        StorageError."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError(f"the stop can't be lifted: {error}",
                               hint=f"remove {self.path}") from error
        return True
