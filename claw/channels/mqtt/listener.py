"""Receiving: one session at the broker, for as long as it lasts.

A session outlives its connections, and us: what comes with QoS 1 while we
are away waits in it, for a week at most. PUBACK goes out after the commit,
so that a message that a crash interrupted is delivered again.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence

from claw.channels.connection import ConflictError, Connection, put_all, works
from claw.channels.mqtt.account import SESSION_S, Account
from claw.channels.mqtt.intake import Intake, Reply
from claw.channels.mqtt.link import HungUpError, Link
from claw.channels.mqtt.packets import SESSION_EXPIRY, Publish
from claw.channels.mqtt.reasons import FAILED, make_error
from claw.channels.mqtt.settings import MqttSettings
from claw.channels.mqtt.topics import SHARE
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    ChannelDeps,
    ChannelMessage,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.errors import UnavailableError

# Two clients with one id throw each other out for ever: a connection is a
# good one once it has lasted longer than the longest wait for the other.
STEADY_S = 40.0
# Mosquitto gives no reason (0x8E) to the one that it throws out. A broker
# that hangs up on us so often, each time soon, has another client.
_HANG_UPS = 3
_FILTERS = "filters"
_NO_LOCAL = 0x04


class Listener:
    """The receiving half. `send` takes what a stranger is told, where the
    inbox does not. `link` is the connection while it works, `running` says
    whether there will be one."""

    def __init__(self, settings: MqttSettings, deps: ChannelDeps,
                 intake: Intake, account: Account,
                 send: Callable[[SendMessage], Awaitable[None]]) -> None:
        self.connection = Connection(deps.log)
        self.link: Link | None = None
        self.running = False
        self._opened_at = float("-inf")
        self._hang_ups = 0
        self._told_of_limit = False
        self.working = asyncio.Event()
        self._settings = settings
        self._marks = deps.marks
        self._log = deps.log
        self._intake = intake
        self._account = account
        self._send = send

    async def run(self, inbox: Inbox) -> None:
        """Until cancelled. Raises AuthError, ConfigError and what `put`
        raises."""
        self.connection.begin(inbox)
        self._intake.door.open_pairing()
        self.running = True
        try:
            while True:
                try:
                    await self._serve(inbox)
                except UnavailableError as error:
                    await self.connection.wait_out(self._suspect(error))
        finally:
            self.running = False
            self.working.set()  # who waits for a connection gets none
            self.working.clear()

    def _suspect(self, error: UnavailableError) -> UnavailableError:
        """The error, or what it means when it comes again and again."""
        if not isinstance(error, HungUpError):
            return error
        if time.monotonic() - self._opened_at > STEADY_S:
            self._hang_ups = 0
        self._hang_ups += 1
        if self._hang_ups < _HANG_UPS:
            return error
        return ConflictError(
            f"{error.message} again and again",
            hint="another client has our client_id, or the broker does not "
                 "want us: its log tells")

    async def _serve(self, inbox: Inbox) -> None:
        """One connection."""
        link = self._account.make_session(self._hear, self._settle)
        try:
            await link.open()
            self._resume(link)
            await self._subscribe(link)
            self.link = link
            self._opened_at = link.opened_at
            self.working.set()
            self._recover(link)
            while True:
                await self._take(await link.receive(), link, inbox)
        finally:
            self.link = None
            self.working.clear()
            await link.close()

    # -- the session

    def _resume(self, link: Link) -> None:
        present = link.granted.session_present
        if not present and self._marks.get(_FILTERS) is not None:
            self._log("session_lost", hint="the broker keeps no session of "
                      "ours any more: what was sent while we were away is "
                      "lost there")
        self._intake.deliveries.resume(present)
        kept_s = link.granted.properties.get(SESSION_EXPIRY, SESSION_S)
        if kept_s < SESSION_S and not self._told_of_limit:
            self._told_of_limit = True
            self._log("session_short", seconds=kept_s, hint="the broker "
                      "keeps messages no longer while we are away")

    async def _subscribe(self, link: Link) -> None:
        """The session of earlier settings has filters of its own: those
        that are no longer wanted go."""
        group = self._settings.share_group
        wanted = {f"{SHARE}{group}/{name}" if group else name:
                  min(self._settings.qos, 1) | (0 if group else _NO_LOCAL)
                  for name in self._settings.topics}
        if link.granted.session_present:
            old = [name for name in _read_list(self._marks.get(_FILTERS))
                   if name not in wanted]
            if old:
                await link.unsubscribe(old)
        reasons = await link.subscribe(list(wanted.items()))
        self._judge(link, list(wanted), reasons)
        self._marks.set(_FILTERS, json.dumps(list(wanted)))

    def _judge(self, link: Link, filters: Sequence[str],
               reasons: Sequence[int]) -> None:
        """Raises the first refusal where nothing is granted."""
        refused = {name: make_error(link.where, code, {},
                                    f"to let us read {name[:200]}")
                   for name, code in zip(filters, reasons, strict=True)
                   if code >= FAILED}
        if refused and len(refused) == len(filters):
            raise next(iter(refused.values()))
        for error in refused.values():
            self._log("subscribe_refused", error=error.message,
                      hint=error.hint)
        if self._settings.qos and 0 in reasons:
            self._log("qos_lowered", hint="the broker grants QoS 0 only: "
                      "what is sent while we are away is lost")

    # -- health

    def _recover(self, link: Link) -> None:
        if self.connection.conflict is None:
            self.connection.recover()
        else:
            self.connection.forget_failures()

    def _hear(self) -> None:
        link = self.link
        if link is not None and self.connection.conflict is not None \
                and time.monotonic() - link.opened_at > STEADY_S:
            self.connection.recover()
        else:
            self.connection.heard()

    def _settle(self, before: float) -> None:
        """What we wrote has been read. What came and waits may still be a
        delivery that is made again."""
        if self.link is not None and self.link.is_drained():
            self._intake.deliveries.settle(before)

    # -- messages

    async def _take(self, batch: list[Publish], link: Link,
                    inbox: Inbox) -> None:
        """Commit what is for us, then confirm all, in order."""
        ready: list[ChannelMessage] = []
        for message in batch:
            read = await self._intake.read(message)
            if isinstance(read, Reply):
                await self._answer(read, inbox)
            elif read is not None:
                ready.append(read)
        await put_all(inbox, ready)
        for message in batch:
            link.ack(message)
            self._intake.deliveries.confirm(message)

    async def _answer(self, reply: Reply, inbox: Inbox) -> None:
        message = SendMessage(reply.text, reply.topic)
        if not isinstance(inbox, TakesReplies):
            await works(self._send(message))
            return
        await inbox.reply(reply.key, message, Part(
            "text", reply.text, {"id": reply.key, "part": "1/1"}))


def _read_list(text: str | None) -> list[str]:
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return [name for name in found if isinstance(name, str)] \
        if isinstance(found, list) else []
