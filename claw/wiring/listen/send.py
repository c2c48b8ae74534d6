"""One message out: `claw send`, through the outbox of the workspace.

Where `claw listen` runs, it sends; else this process takes the leader lease
for the moment.
"""

import asyncio
import os
import shutil
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from claw.agent.hooks.runner import HookRunner
from claw.channels import REGISTRY
from claw.config.tree import Tree
from claw.core.abilities import ClosesChannel
from claw.core.channel import Attachment, SendMessage
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    RefusedError,
    StorageError,
    UnavailableError,
    UsageError,
)
from claw.core.log import Log
from claw.core.value import Value, replace
from claw.runtime.hooks import HookNotifier
from claw.runtime.live import LiveChannel
from claw.runtime.message.parts import split_parts
from claw.runtime.outbox import Sender
from claw.runtime.process.health import Health
from claw.runtime.service import LEASE
from claw.security.files import nofollow
from claw.storage.queue.model import Lease, NewSend, OutboxRow
from claw.storage.queue.sqlite import SqliteQueue
from claw.wiring.channels.build import open_channel
from claw.wiring.channels.names import (
    CONSOLE,
    is_foreign,
    list_configured,
)
from claw.wiring.listen.outgoing_files import tidy_outgoing
from claw.wiring.workspace.place_names import outgoing_path, queue_path

LEASE_S = 60.0
HOOKS_S = 60.0  # for hooks that hear of it
LOOK_S = 0.05
_OVER = ("sent", "failed")
_OPEN = ("waiting", "sending", "uncertain")


class Sent(Value):
    """What became of it: "sent", "failed" or "waiting" (still queued).

    `parts` is how many messages it takes, `message_ids` are of those that
    are out; `token_refused` says that no part goes until a new one is set.
    """

    source: str
    state: str
    message_ids: tuple[str, ...]
    error: str | None = None
    parts: int = 1
    token_refused: bool = False


def parse_target(tree: Tree, target: str) -> tuple[str, str]:
    """(channel, recipient) of "CHANNEL:RECIPIENT". Raises UsageError and
    ConfigError."""
    channel, _, recipient = target.partition(":")
    if not channel or not recipient.strip():
        raise UsageError(f"{target!r} is no target",
                         hint=f"CHANNEL:RECIPIENT, e.g. {_example(channel)}")
    names = list_configured(tree)
    if channel not in (*names, CONSOLE) and not is_foreign(channel):
        REGISTRY.load(channel)  # a name that nothing has is another mistake
        raise ConfigError(f"channel {channel!r} is not configured",
                          hint=f"claw channel setup {channel}" + (
                              f"; set up here: {', '.join(names)}" if names
                              else ""))
    return channel, recipient.strip()


def _example(channel: str) -> str:
    """A target of this channel as its people write it; where it has none,
    of another one."""
    for name in (channel, *REGISTRY.names()):
        with suppress(ClawError):
            if example := REGISTRY.load(name).example_recipient:
                return f"{name}:{example}"
    return "NAME:RECIPIENT"


def collect_attachments(files: Sequence[Path]) -> tuple[Attachment, ...]:
    """Files to send along. Raises UsageError for what is no file."""
    for path in files:
        if not path.is_file():
            raise UsageError(f"{path} is no file")
    return tuple(Attachment(str(path.resolve()), path.name,
                            size_bytes=path.stat().st_size)
                 for path in files)


async def send(tree: Tree, channel: str, message: SendMessage, log: Log, *,
               timeout_s: float, source: str | None = None) -> Sent:
    """Put it into the outbox and wait until it is out, `timeout_s` at
    most, and no longer than until the token is refused. What is not out by
    then stays queued. A `source` that the outbox knows sends nothing more:
    it tells what became of it."""
    live, hooks = open_channel(tree, channel, log), _build_hooks(tree, log)
    async with AsyncExitStack() as stack:
        if isinstance(live.channel, ClosesChannel):
            stack.push_async_callback(live.channel.aclose)
        queue = SqliteQueue(queue_path(tree.places))
        stack.push_async_callback(queue.aclose)
        number = uuid.uuid4().hex
        copies = outgoing_path(tree.places) / number
        message = replace(message, attachments=await asyncio.to_thread(
            _copied, message.attachments, tree.places.workspace, copies))
        parts = split_parts(live.channel, message)
        if not parts:
            raise UsageError("there is nothing to send in that message")
        source = source or f"send:{number}"
        await queue.post([NewSend(source, channel, message, parts)])
        hook_notifier = HookNotifier(lambda: hooks, queue, log)
        sent = await _sent(queue, live, log, source, timeout_s, hook_notifier)
        await hook_notifier.finish(HOOKS_S)
        if sent.state == "sent" and message.attachments:
            await asyncio.to_thread(_remove, tree.places.workspace, copies)
        await tidy_outgoing(tree.places, queue)
        return sent


def _copied(files: Sequence[Attachment], workspace: Path, folder: Path
            ) -> tuple[Attachment, ...]:
    """Copies inside the workspace: what is sent later must still be there,
    and channels send no file from elsewhere. Raises UsageError and
    StorageError."""
    copies: list[Attachment] = []
    for index, file in enumerate(files):
        copy = folder / str(index) / file.file_name
        try:
            with open(file.path, "rb") as source, open(
                    nofollow.open_file(workspace, copy, os.O_CREAT | os.O_EXCL
                                       | os.O_WRONLY), "wb") as target:
                shutil.copyfileobj(source, target)
        except OSError as error:
            raise UsageError(f"{file.path} can't be read: {error.strerror}"
                             ) from error
        copies.append(replace(file, path=str(copy)))
    return tuple(copies)


def _remove(workspace: Path, copies: Path) -> None:
    with suppress(OSError, StorageError), \
            nofollow.hold_folder(workspace, copies.parent) as folder:
        shutil.rmtree(copies.name, ignore_errors=True, dir_fd=folder)


def _build_hooks(tree: Tree, log: Log) -> HookRunner:
    if not tree.has("hooks"):
        return HookRunner((), log)
    from claw.wiring.tools.hooks import build_hooks
    return build_hooks(tree, log)


async def _sent(queue: SqliteQueue, live: LiveChannel, log: Log, source: str,
                timeout_s: float, hook_notifier: HookNotifier) -> Sent:
    """Wait until it is out, and send it where nobody else does."""
    pusher = _Pusher(queue, live, log, hook_notifier)
    deadline = time.monotonic() + timeout_s
    while True:
        rows = await queue.outbox_rows(source=source, limit=sys.maxsize)
        left = deadline - time.monotonic()
        if all(row.state in _OVER for row in rows) or left <= 0 \
                or pusher.token_refused:
            sent = _outcome(source, rows, pusher.token_refused)
            return sent if sent.state != "waiting" or sent.error else \
                replace(sent, error=await _find_obstacle(queue, rows))
        if not await pusher.push(left):
            await asyncio.sleep(LOOK_S)


async def _find_obstacle(queue: SqliteQueue, rows: Sequence[OutboxRow]
                         ) -> str | None:
    """What holds up parts that were not tried: an earlier one for the same
    chat, as `claw queue list` names it."""
    chats = {(row.channel, row.message.recipient, row.message.thread_ts)
             for row in rows}
    first = min((row for row in await queue.outbox_rows(
        states=_OPEN, limit=sys.maxsize) if (
            row.channel, row.message.recipient, row.message.thread_ts)
        in chats), key=lambda row: row.seq, default=None)
    if first is None or first.seq >= min(row.seq for row in rows):
        return None
    return f"behind {first.seq}" + (f": {first.error}" if first.error else "")


class _Pusher:
    """Sends as `claw listen` would, while that does not run."""

    def __init__(self, queue: SqliteQueue, live: LiveChannel,
                 log: Log, hook_notifier: HookNotifier) -> None:
        self._queue = queue
        self._lease: Lease | None = None
        self._recovered: int | None = None
        self._log = log
        self._sender = Sender(live.name, lambda: live.channel, queue,
                              self._held, Health(), self._watch,
                              on_sent=hook_notifier.note_sent)
        self.token_refused = False

    def _watch(self, event: str, **fields: Any) -> None:
        if event == "send.error":
            self.token_refused = fields["kind"] == AuthError.kind
        self._log(event, **fields)

    def _held(self) -> Lease:
        assert self._lease is not None
        return self._lease

    async def push(self, patience_s: float) -> int:
        """Send what is due, for so long at most; how many parts were
        tried."""
        self._lease = await self._queue.lease(LEASE, LEASE_S)
        if self._lease is None:
            return 0
        try:
            if self._recovered != self._lease.fence:
                # Who held the lease before may have died in a send.
                await self._queue.recover(self._lease)
                self._recovered = self._lease.fence
            async with asyncio.timeout(patience_s):
                return await self._sender.send_due()
        except TimeoutError:
            await self._sender.drop()
            return 0
        finally:
            await self._queue.yield_lease(self._lease)


def _outcome(source: str, rows: Sequence[OutboxRow], token_refused: bool
             ) -> Sent:
    states = {row.state for row in rows}
    state = ("failed" if "failed" in states else
             "sent" if states <= {"sent"} else "waiting")
    error = next((row.error for row in rows if row.error), None)
    return Sent(source, state, tuple(
        row.message_id for row in rows if row.message_id), error, len(rows),
        token_refused)


def require_sent(sent: Sent) -> None:
    """Raise RefusedError for what will not go, AuthError and
    UnavailableError for what is not out yet."""
    if sent.state == "sent":
        return
    out = (f" ({len(sent.message_ids)} of {sent.parts} parts are out)"
           if sent.message_ids else "")
    why = f": {sent.error}" if sent.error else ""
    if sent.state == "failed":
        raise RefusedError(f"not sent{out}{why}",
                           hint="trying again does not help: is the "
                                "recipient right? see: claw queue list "
                                "--failed")
    if sent.token_refused:
        raise AuthError(f"not sent yet{out}{why}",
                        hint="it stays queued until the token is right; "
                             "see: claw channel doctor")
    raise UnavailableError(f"not sent yet{out}{why}",
                           hint="the rest stays queued and claw listen sends "
                                "it; see: claw queue list" if out else
                                "it stays queued and claw listen sends it; "
                                "see: claw queue list")
