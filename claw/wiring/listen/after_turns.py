"""What comes after a channel's turn, once its answer is safe: the voice of it
is noted, and what is worth remembering goes into the memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claw.agent.memory.consolidation.consolidate import Exchange, consolidate
from claw.agent.turn import local_now
from claw.core.errors import ConfigError
from claw.core.log import Log
from claw.memory.settings import MemorySettings
from claw.runtime.consolidation import Consolidator
from claw.runtime.consolidation import build_notes as write_notes
from claw.runtime.live import Live
from claw.runtime.turn.outcomes import Finished
from claw.security.redact.leaks import guard
from claw.storage.queue.sqlite import SqliteQueue


class AfterTurns:
    """With the settings in force: they may change between two turns."""

    def __init__(self, queue: SqliteQueue, live: Callable[[], Live],
                 settings: Callable[[], MemorySettings], log: Log) -> None:
        self._live = live
        self._settings = settings
        self._consolidator = Consolidator(
            queue, self._consolidate,
            lambda: settings().consolidation_turns, log)

    async def run(self, finished: Finished) -> None:
        """Put what is worth remembering into the memory, once the answer
        is safe."""
        live, result = finished.live, finished.result
        if result is not None and live.voice is not None:
            for send in finished.completion.sends:
                live.voice.note_answer(
                    result.turn_id, finished.message, send.message)
        if finished.completion.outcome == "answered":
            await self._consolidator.run()

    def build_notes(self, turn_id: str, finished: Finished
                    ) -> Mapping[str, Any] | None:
        """What the memory is to be made of, None where nothing is."""
        live, result = finished.live, finished.result
        if result is None or live.memory is None or not live.auto_save \
                or live.route.provider == "offline" \
                or finished.message.labels:  # other people's words
            return None
        # After foreign text only the person's own words are material: what
        # was read may speak out of the answer.
        return write_notes(
            turn_id, finished.message,
            guard(finished.message.content, live.secrets),
            "" if finished.foreign else guard(result.text, live.secrets),
            local_now())

    async def _consolidate(self, exchanges: Sequence[Exchange]) -> None:
        live = self._live()
        if live.memory is None:  # turned off since: not wanted
            return
        if live.route.provider == "offline":
            raise ConfigError("no model is configured")
        await consolidate(live.agent.provider, live.route.model, live.memory,
                          exchanges,
                          conflict_threshold=self._settings()
                          .conflict_threshold)

    async def flush(self) -> None:
        """What waits for the memory, however little it is."""
        await self._consolidator.flush()
