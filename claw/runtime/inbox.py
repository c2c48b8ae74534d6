"""Where channels put what they receive: committed first, then on the bus."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from claw.core.abilities import HearsServing, ReceivesWebhook, Report
from claw.core.channel import ChannelMessage, Inbox, Part, SendMessage
from claw.core.errors import UnavailableError
from claw.core.log import Log
from claw.runtime.hooks import HookNotifier
from claw.runtime.message.keys import order_key
from claw.runtime.process.health import Health
from claw.storage.queue.model import (
    Arrival,
    InboxRow,
    Lease,
    NewSend,
    Queue,
)

BUS_SIZE = 100
# A report may overtake the answer to the call: it waits for it so long.
REPORT_STEP_S = 0.1
REPORT_LOOKS = 50

Bus = asyncio.Queue[InboxRow]


class ServesHttp(Protocol):
    """The gateway, as the service knows it."""

    async def run(self, heard: HearsServing) -> None:
        """Serve until cancelled, where the settings want it."""

    async def receive(self, channel: ReceivesWebhook, inbox: Inbox) -> None:
        """Serve a channel's webhook until cancelled."""


class DurableInbox:
    """The inbox of one channel. `put` returns after the commit; a message
    that was accepted before is passed over. `answers` says of one whether
    it is meant for a question that is open."""

    def __init__(self, name: str, queue: Queue, lease: Callable[[], Lease],
                 bus: Bus, health: Health, log: Log,
                 wake_sender: Callable[[str], None] = lambda _: None,
                 hook_notifier: HookNotifier | None = None,
                 gateway: "ServesHttp | None" = None,
                 answers: Callable[[ChannelMessage], bool] = lambda _: False
                 ) -> None:
        self._answers = answers
        self._hook_notifier = hook_notifier
        self._gateway = gateway
        self._name = name
        self._wake_sender = wake_sender
        self._part = f"channel:{name}"
        self._queue = queue
        self._lease = lease
        self._bus = bus
        self._health = health
        self._log = log
        self._accepting: set[asyncio.Task[None]] = set()

    def received(self) -> None:
        self._health.note_receive(self._part)

    def resting(self, seconds: float) -> None:
        self._health.excuse(self._part, seconds)

    def failed(self, why: str) -> None:
        self._health.fail_receiving(self._part, why)

    def serving(self, host: str, port: int) -> None:
        if self._hook_notifier is not None:
            self._hook_notifier.serving(host, port)

    def stopped_serving(self) -> None:
        if self._hook_notifier is not None:
            self._hook_notifier.stopped_serving()

    async def serve_webhook(self, channel: ReceivesWebhook) -> None:
        if self._gateway is None:
            raise UnavailableError("nothing serves HTTP here")
        await self._gateway.receive(channel, self)

    async def reply(self, key: str, message: SendMessage,
                    part: Part) -> None:
        await self._queue.post([NewSend(f"hint:{self._name}:{key}",
                                        self._name, message, (part,))])
        self._wake_sender(self._name)

    async def report(self, report: Report) -> None:
        for _ in range(REPORT_LOOKS):
            became = await self._queue.mark_reported(self._lease(),
                                                     self._name, report)
            if became != "under way":
                break
            await asyncio.sleep(REPORT_STEP_S)
        if became == "kept" and report.error is not None:
            self._health.note_not_there(self._part)

    async def put(self, message: ChannelMessage) -> None:
        await self.put_all([message])

    async def put_all(self, messages: Sequence[ChannelMessage]) -> None:
        """Several at once, in one commit."""
        self.received()
        # A caller that ends meanwhile (its channel is built anew) must not
        # leave rows that are committed and that nobody has heard of.
        task = asyncio.ensure_future(self._accepted(messages))
        self._accepting.add(task)
        task.add_done_callback(self._forget)
        await asyncio.shield(task)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._accepting.discard(task)
        if not task.cancelled():
            task.exception()  # who still waits hears of it

    async def _accepted(self, messages: Sequence[ChannelMessage]) -> None:
        rows = await self._queue.accept(self._lease(), [
            Arrival(message, order_key(
                message, is_alone=self._answers(message)))
            for message in messages])
        for message, row in zip(messages, rows, strict=True):
            if row is None:
                self._log("message.known", channel=message.channel,
                          id=message.id)
                continue
            self._log("message.accepted", channel=message.channel,
                      id=message.id, turn=row.turn_id)
            await self._bus.put(row)
