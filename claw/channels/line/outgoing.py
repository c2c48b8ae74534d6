"""Sending: a reply where a fresh token is there, a push else.

A push bears its key, so that LINE takes it once. A reply costs nothing of
the month's messages; replies.py says why it is not shown twice either. An
answer to a message that is no longer the last one quotes it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from claw.channels.line.api import Api, TokenGoneError
from claw.channels.line.parts import PartMaker, mark
from claw.channels.line.replies import Replies, Token
from claw.channels.line.settings import KEY_S
from claw.channels.line.wire import is_chat
from claw.channels.sending import stay_silent
from claw.channels.talks import Talks
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    AuthError,
    ConfigError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.net.http import tell_leaving

Json = dict[str, Any]

GONE = "gone:"  # a mark: LINE takes what is sent there and shows nobody
_MOST = 1000


class Sender:
    """The sending half of one account. `now` is Unix seconds."""

    def __init__(self, api: Api, deps: ChannelDeps, replies: Replies,
                 talks: Talks, *, now: Callable[[], float]) -> None:
        self._api = api
        self._replies = replies
        self._talks = talks
        self._marks = deps.marks
        self._now = now
        self._maker = PartMaker(deps, replies, now)
        self._quotes: dict[str, tuple[str, str]] = {}
        self._unsure: set[str] = set()  # keys whose push broke off

    def parts(self, message: SendMessage) -> list[Part]:
        return self._maker.parts(message)

    def mark(self, part: Part, note: str) -> Part:
        return mark(part, note)

    def knows_key(self, message: SendMessage, part: Part) -> bool:
        """As KnowsKeys says."""
        told = self._replies.may_tell(message.recipient, part)
        if told is not None:
            return told
        at = part.data.get("at")
        return isinstance(at, int | float) and 0 <= self._now() - at < KEY_S

    def note_quote(self, own_id: str, message_id: str, token: str) -> None:
        """How a message is quoted."""
        self._quotes[own_id] = message_id, token
        while len(self._quotes) > _MOST:
            del self._quotes[next(iter(self._quotes))]

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] = stay_silent) -> str | None:
        """Deliver one part; the id of its first message."""
        chat = message.recipient
        self._check(chat)
        messages: list[Json] = list(part.data["messages"])
        quoting = self._quote(message, part, messages)
        try:
            ids = await self._deliver(chat, part, quoting, leaving)
        except TokenGoneError:
            raise
        except RequestRefusedError as error:
            if quoting == messages or "quote" not in error.message.lower():
                raise
            ids = await self._deliver(chat, part, messages, leaving)
        self._replies.settle(chat)
        for number in ids:
            self._talks.note_ours(number, part.text)
        return ids[0] if ids else None

    def _check(self, chat: str) -> None:
        """Raises RequestRefusedError for whom nothing can reach."""
        if not is_chat(chat):
            raise RequestRefusedError(
                f"{chat[:80]!a} is no address of LINE", status=400,
                hint="write to a user id (U4af49...), a group's (C...) or a "
                     "room's (R...)")
        if self._marks.get(GONE + chat):
            raise RequestRefusedError(
                "the person has blocked the account, or it is no longer in "
                "the group: LINE would show nobody what is sent", status=403,
                hint="once they have added it again: claw queue retry")

    def _quote(self, message: SendMessage, part: Part,
               messages: Sequence[Json]) -> list[Json]:
        """The messages, the first a quote of an older question."""
        number, token = self._quotes.get(message.answers or "", ("", ""))
        if not token or not part.data.get("first") \
                or messages[0]["type"] != "text" \
                or not self._talks.is_old(message.recipient, number):
            return list(messages)
        return [{**messages[0], "quoteToken": token}, *messages[1:]]

    # -- the calls

    async def _deliver(self, chat: str, part: Part, messages: Sequence[Json],
                       leaving: Callable[[], None]) -> list[str]:
        token = self._replies.find(chat, part)
        if token is not None:
            ids = await self._reply(token, messages, leaving)
            if ids is not None:
                return ids
        key = str(part.data["key"])
        try:
            with tell_leaving(leaving):
                return await self._api.push(chat, messages, key)
        except QuotaError:
            late = None if key in self._unsure \
                else self._replies.take_late(chat, part)
            found = None if late is None \
                else await self._reply(late, messages, leaving)
            if found is None:
                raise
            return found
        except (RateLimitedError, RequestRefusedError):
            raise
        except UnavailableError:
            if len(self._unsure) >= _MOST:
                self._unsure.clear()
            self._unsure.add(key)
            raise

    async def _reply(self, token: Token, messages: Sequence[Json],
                     leaving: Callable[[], None]) -> list[str] | None:
        """The ids of what has arrived; None where LINE does not take the
        token, and never took it."""
        tried = self._replies.is_tried(token)

        def leave() -> None:
            self._replies.use(token)
            leaving()
        try:
            with tell_leaving(leave):
                return await self._api.reply(token.value, messages)
        except TokenGoneError:
            if tried:
                return []  # by the call that broke off
            self._replies.refuse(token)
            return None
        except (AuthError, ConfigError, RateLimitedError,
                RequestRefusedError):
            if not tried:
                self._replies.give_back(token)
            raise
