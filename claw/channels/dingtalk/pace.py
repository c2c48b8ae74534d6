"""Twenty messages a minute in a group: who sends more is shut out for ten
minutes, so the twenty-first waits here."""

from collections import OrderedDict, deque
from collections.abc import Callable

MOST = 20
SPAN_S = 60.0
_GROUPS = 1_000


class Pace:
    """When a group was written to lately."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sent: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, group: str) -> float:
        """Seconds until one more may go; 0 for now."""
        sent = self._sent.get(group)
        return 0.0 if sent is None or len(sent) < MOST \
            else max(0.0, sent[0] + SPAN_S - self._clock())

    def note(self, group: str) -> None:
        """One is sent."""
        self._sent.setdefault(group, deque(maxlen=MOST)).append(self._clock())
        self._sent.move_to_end(group)
        if len(self._sent) > _GROUPS:
            self._sent.popitem(last=False)
