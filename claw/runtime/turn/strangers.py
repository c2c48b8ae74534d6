"""Turns of people who may write only because everybody may.

They are answered by the model alone: no tools, no memories, no images of
the workspace, and of the identity files what says who the agent is. Each of
them has limits, and so have all together. Counted since the start.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime

from claw.agent.prompt import hide_owner
from claw.agent.turn import Agent
from claw.channels.markers import inert, lone_attachment
from claw.core.channel import ChannelMessage
from claw.core.value import replace
from claw.runtime.message.keys import registered_name
from claw.runtime.settings import StrangersSettings

LIMITED = ("You have written as much as somebody may whom the owner of this "
           "bot does not know. Please try again later.")
_HOUR_S = 3600.0
_PEOPLE = 1_000  # of whom it is known; all together are counted besides


def limit_agent(agent: Agent) -> Agent:
    """The agent as a stranger meets it."""
    return replace(agent, tools=(), images=None,
                   prompt=agent.prompt and hide_owner(agent.prompt))


def withhold_files(text: str) -> str:
    """The answer with no file to send in it: a marker is a tool too."""
    text = inert(text)
    return f"File: {text.strip()}" if lone_attachment(text) else text


@dataclass(slots=True)
class _Used:
    """What somebody has used: messages of the hour, the rest of a day."""

    messages: deque[float] = field(default_factory=deque)
    day: date | None = None
    tokens: int = 0
    cents: float = 0.0
    told_at: float = float("-inf")

    def begin_day(self, day: date) -> None:
        if self.day != day:
            self.day, self.tokens, self.cents = day, 0, 0.0


class StrangerLimits:
    """What strangers have used, each and all together."""

    def __init__(self, clock: Callable[[], float],
                 now: Callable[[], datetime]) -> None:
        self._clock = clock
        self._now = now
        self._used: OrderedDict[str, _Used] = OrderedDict()
        self._all = _Used()

    def admit(self, message: ChannelMessage,
              settings: StrangersSettings) -> str | None:
        """Count a message; what is used up, None where it may be
        answered."""
        own = self._find(message)
        for who, used, limits in (("this stranger", own, settings.each()),
                                  ("all strangers", self._all,
                                   settings.together())):
            self._forget_old(used)
            for what, spent, limit in zip(
                    ("messages of the hour", "tokens of the day",
                     "money of the day"),
                    (len(used.messages), used.tokens, used.cents), limits,
                    strict=True):
                if limit and spent >= limit:
                    return f"{what} of {who}"
        for used in (own, self._all):
            used.messages.append(self._clock())
        return None

    def spend(self, message: ChannelMessage, tokens: int,
              cost_usd: float) -> None:
        """Count what an answer took."""
        for used in (self._find(message), self._all):
            self._forget_old(used)
            used.tokens += tokens
            used.cents += 100 * cost_usd

    def tell(self, message: ChannelMessage) -> str | None:
        """What somebody hears of his limit: once an hour."""
        own, now = self._find(message), self._clock()
        if now - own.told_at < _HOUR_S:
            return None
        own.told_at = now
        return LIMITED

    def _find(self, message: ChannelMessage) -> _Used:
        key = f"{registered_name(message.channel)}:{message.sender}"
        used = self._used.setdefault(key, _Used())
        self._used.move_to_end(key)
        while len(self._used) > _PEOPLE:
            self._used.popitem(last=False)
        return used

    def _forget_old(self, used: _Used) -> None:
        used.begin_day(self._now().date())
        start = self._clock() - _HOUR_S
        while used.messages and used.messages[0] <= start:
            used.messages.popleft()
