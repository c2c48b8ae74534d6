"""The message that shows a growing answer: noted on disk, sent, taken away.

A kill may come at any moment. What is noted before the message goes out says
that there may be one; its id, noted after, lets the next run go on with it.
Who ends the turn takes it away by a row of the outbox.
"""

from claw.core.channel import (
    Channel,
    FindsSent,
    Part,
    PreviewsAnswers,
    SendMessage,
)
from claw.core.errors import ClawError
from claw.core.value import replace
from claw.runtime.message.parts import END_DRAFT
from claw.runtime.outbox import may_have_arrived
from claw.runtime.turn.desk import Desk, Running
from claw.runtime.turn.outcomes import Finished
from claw.storage.queue.model import (
    DRAFT_UNKNOWN,
    Completion,
    NewSend,
    OutboxRow,
)


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
        running.draft_id = await _find_lost(desk, running, channel, message)
        if running.draft_id is not None:
            await desk.queue.keep_draft(desk.lease(), running.claim,
                                        running.draft_id)
    if running.draft_id is None:
        await _send(desk, running, channel, message)
    return running.draft_id


async def _find_lost(desk: Desk, running: Running, channel: Channel,
                     message: SendMessage) -> str | None:
    """The draft whose id never came: the process was killed while it was
    sent. None where nobody can tell."""
    if not isinstance(channel, FindsSent):
        return None
    await channel.catch_up()
    row = running.claim.rows[0]
    found = await channel.find_sent(await desk.queue.read_doubt(OutboxRow(
        0, f"turn:{row.turn_id}", 0, row.message.channel, message,
        Part("text", message.content, {"text": message.content}))))
    return found[0] if found is not None and len(found) == 1 else None


async def _send(desk: Desk, running: Running, channel: Channel,
                message: SendMessage) -> None:
    await desk.queue.keep_draft(desk.lease(), running.claim, DRAFT_UNKNOWN)
    try:
        draft_id = await channel.send_draft(message)
    except ClawError as error:
        if not may_have_arrived(error):
            await desk.queue.keep_draft(desk.lease(), running.claim, None)
        raise
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
