"""The scheduler, as the service knows it."""

from typing import Protocol

from claw.runtime.turn.desk import Desk


class RunsJobs(Protocol):
    """Runs jobs while the leader lease is held."""

    async def run(self, desk: Desk) -> None:
        """Run them until cancelled or drained, for this term."""

    def stop(self, channel: str, chat: str) -> int:
        """End the runs that tell this chat what they came to; how many."""

    def stop_all(self) -> None:
        """The emergency stop: end all, and start nothing more."""

    async def drain(self, patience_s: float) -> None:
        """Start nothing more; let runs end, and end those that take
        longer."""
