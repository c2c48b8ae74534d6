"""The message that shows a growing answer: noted on disk, sent, taken away.

A kill may come at any moment. What is noted before the message goes out says
that there may be one; its id, noted after, lets the next run go on with it.
Who ends the turn takes it away by a row of the outbox.
"""

import asyncio

from claw.core.abilities import Doubt, FindsSent, PreviewsAnswers
from claw.core.channel import Channel, Part, SendMessage, strip_thread
from claw.core.errors import ClawError
from claw.core.value import replace
from claw.runtime.message.parts import END_DRAFT
from claw.runtime.retry_rules import may_have_arrived
from claw.runtime.turn.desk import Desk, Running
from claw.runtime.turn.outcomes import Finished
from claw.storage.queue.model import (
    DRAFT_UNKNOWN,
    Completion,
    NewSend,
    OutboxRow,
)

# How long a draft waits for parts on their way: five seconds.
QUIET_LOOKS, QUIET_S = 25, 0.2


async def open_draft(desk: Desk, running: Running, channel: Channel,
                     message: SendMessage) -> str | None:
    """The id of the turn's draft: a preview's, an earlier run's, or that of
    a new message; None where there is none. Raises what the channel and the
    store raise."""
    row = running.claim.rows[0]
    if isinstance(channel, PreviewsAnswers):
        preview = channel.preview_id(message.recipient, row.message.id)
        if preview is not None:
            return preview
    if running.draft_id is None and row.draft_id == DRAFT_UNKNOWN:
        found = await _find_lost(desk, running, channel, message)
        if found is not None:
            await _take(desk, running, message, found)
    if running.draft_id is None \
            and await _is_quiet(desk, running, channel, message) \
            and not running.ended:
        await _send(desk, running, channel, message)
    return running.draft_id


async def _find_lost(desk: Desk, running: Running, channel: Channel,
                     message: SendMessage) -> str | None:
    """The draft whose id never came: the process was killed while it was
    sent. None where nobody can tell, and where it may be what went out in
    the chat during the look."""
    if not isinstance(channel, FindsSent):
        return None
    await channel.catch_up()
    await _is_quiet(desk, running, channel, message)
    found = await channel.find_sent(await _read_doubt(desk, running, message))
    if found is None or len(found) != 1:
        return None
    now = await _read_doubt(desk, running, message)
    return (None if _is_unsure(now) or found[0] in {
        number for _, number in now.owned} else found[0])


async def _is_quiet(desk: Desk, running: Running, channel: Channel,
                    message: SendMessage) -> bool:
    """Wait for a moment until no part is on its way to the chat: of it and
    a draft that a kill catches together nobody could tell which is which."""
    if not isinstance(channel, FindsSent):
        return True
    for _ in range(QUIET_LOOKS):
        if not _is_unsure(await _read_doubt(desk, running, message)):
            return True
        await asyncio.sleep(QUIET_S)
    return False


async def _read_doubt(desk: Desk, running: Running,
                      message: SendMessage) -> Doubt:
    row = running.claim.rows[0]
    return await desk.queue.read_doubt(OutboxRow(
        0, f"turn:{row.turn_id}", 0, row.message.channel, message,
        Part("text", message.content, {"text": message.content})))


def _is_unsure(doubt: Doubt) -> bool:
    """Whether something in its chat has no id yet."""
    chat = strip_thread(doubt.message)
    return any(not number and (place == chat
                               or place.startswith(f"{chat}:"))
               for place, number in doubt.unsure)


async def _send(desk: Desk, running: Running, channel: Channel,
                message: SendMessage) -> None:
    await desk.queue.keep_draft(desk.lease(), running.claim, DRAFT_UNKNOWN)
    try:
        draft_id = await channel.send_draft(message)
    except ClawError as error:
        if not may_have_arrived(error):
            await desk.queue.keep_draft(desk.lease(), running.claim, None)
            raise
        draft_id = await _find_lost(desk, running, channel, message)
        if draft_id is None:
            raise
    await _take(desk, running, message, draft_id)


async def _take(desk: Desk, running: Running, message: SendMessage,
                draft_id: str | None) -> None:
    """This is the turn's draft now."""
    running.draft_id = draft_id
    if draft_id is not None and running.ended:
        # The answer was quicker: no completion takes this away.
        name = running.claim.rows[0].message.channel
        await desk.queue.post([_removal(running, name, message, draft_id)])
        desk.wake_sender(name)
        return
    await desk.queue.keep_draft(desk.lease(), running.claim, draft_id)


def end_draft(running: Running, finished: Finished) -> Completion:
    """How the turn ended, with the end of its draft; an answer that takes
    the draft's place is one."""
    running.ended = True
    completion, message = finished.completion, finished.message
    draft_id = running.draft_id
    if draft_id is None or any(send.draft_id == draft_id
                               for send in completion.sends):
        return completion
    removal = _removal(running, message.channel, SendMessage(
        "", message.reply_target, thread_ts=message.thread_ts), draft_id)
    return replace(completion, sends=(*completion.sends, removal))


def _removal(running: Running, channel: str, message: SendMessage,
             draft_id: str) -> NewSend:
    return NewSend(f"draft:{running.claim.turn_id}", channel,
                   replace(message, content=""),
                   (Part(END_DRAFT, "", {"draft": draft_id}),))
