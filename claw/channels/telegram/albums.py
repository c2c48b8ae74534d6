"""Albums: which of them may still grow. Pure.

Telegram sends each photo of an album as an update of its own, and says
neither how many there are nor which is the last: they may come by several
polls. An album is whole when it has ten members or none has come for a
second. Until then it waits, and so does what stands behind it in its chat.
"""

from collections.abc import Callable, Sequence

from claw.channels.telegram.wire import Incoming
from claw.core.value import Value

QUIET_S = 1.0
MOST = 10  # members, by the Bot API (sendMediaGroup)
LONGEST_S = 5.0  # a server that numbers anew makes all members look new

Group = list[Incoming]


class _Growth(Value):
    """How many members there are; times of the clock in seconds."""

    members: int
    began: float
    grew: float


class Albums:
    """The albums of one bot that are on their way."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._growing: dict[tuple[int, str], _Growth] = {}

    def part(self, groups: Sequence[Group]) -> tuple[list[Group],
                                                     list[Group]]:
        """What can be read now, and what has to wait, each in its
        order."""
        whole: list[Group] = []
        waiting: list[Group] = []
        growing: dict[tuple[int, str], _Growth] = {}
        chats: set[int] = set()
        for group in groups:
            message = group[0].message
            if message is None:
                whole.append(group)
                continue
            if message.media_group_id is not None and not group[0].edited:
                key = (message.chat.id, message.media_group_id)
                growth = self._watch(key, len(group))
                if self._may_grow(growth):
                    chats.add(message.chat.id)
                if message.chat.id in chats:
                    growing[key] = growth
            (waiting if message.chat.id in chats else whole).append(group)
        self._growing = growing
        return whole, waiting

    def _watch(self, key: tuple[int, str], members: int) -> _Growth:
        now = self._clock()
        known = self._growing.get(key)
        if known is None:
            return _Growth(members, now, now)
        return known if members <= known.members else _Growth(
            members, known.began, now)

    def _may_grow(self, growth: _Growth) -> bool:
        now = self._clock()
        return (growth.members < MOST and now - growth.grew < QUIET_S
                and now - growth.began < LONGEST_S)
