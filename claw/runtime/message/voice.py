"""Voice replies: who speaks to the agent is answered aloud as well.

The text of an answer is always sent. Where the chat last wrote by voice and
the answer has substance, ten seconds later, if nothing newer has come for
eight, it is spoken once, saved, and posted under "voice:<turn id>", a
source that the outbox takes only once. Then the chat leaves voice mode.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from claw.agent.background import cancel_all
from claw.core.channel import Attachment, ChannelMessage, SendMessage
from claw.core.errors import ClawError
from claw.core.files import save_bytes
from claw.core.log import Log, silent
from claw.core.speech import Synthesizer
from claw.core.value import Value, replace
from claw.runtime.message.media import is_voice

WAIT_S = 10.0
QUIET_S = 8.0
SUBSTANCE_BYTES = 40
_MOST_CHATS = 1000
_NOT_SPOKEN = ("http", "{", "[", "Error")

Post: TypeAlias = Callable[[str, str, SendMessage], Awaitable[object]]
Chat: TypeAlias = tuple[str, str, str | None]


def wants_voice(text: str) -> bool:
    """Whether an answer is worth speaking: a sentence or more, no link, no
    data, no error, no code."""
    text = text.strip()
    return (len(text.encode("utf-8", "replace")) > SUBSTANCE_BYTES
            and not text.startswith(_NOT_SPOKEN)
            and "```" not in text and "tool_call" not in text)


class _Pending(Value):
    """An answer that may be spoken; `at` is its time on the clock."""

    turn_id: str
    channel: str
    message: SendMessage
    at: float


class VoiceReplies:
    """`note_message` for every message that comes in, `note_answer` for
    every text that goes out. `post(source, channel, message)` puts a message
    into the outbox; recordings are saved in `files`."""

    def __init__(self, synthesizer: Synthesizer, files: Path, post: Post,
                 log: Log = silent, *,
                 wait_s: float = WAIT_S, quiet_s: float = QUIET_S,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._synthesizer = synthesizer
        self._files = files
        self._post = post
        self._log = log
        self._wait_s = wait_s
        self._quiet_s = quiet_s
        self._clock = clock
        self._speaking: dict[Chat, None] = {}
        self._pending: dict[Chat, _Pending] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def note_message(self, message: ChannelMessage) -> None:
        """Somebody wrote: by voice, which puts the chat into voice mode,
        or by text, which ends it. What was about to be spoken is old."""
        if message.kind != "message":
            return
        chat = (message.channel, message.reply_target, message.thread_ts)
        self._pending.pop(chat, None)
        self._speaking.pop(chat, None)
        if is_voice(message):
            self._speaking[chat] = None
            while len(self._speaking) > _MOST_CHATS:
                self._speaking.pop(next(iter(self._speaking)))

    def note_answer(self, turn_id: str, message: ChannelMessage,
                 answer: SendMessage) -> None:
        """`answer` is what the text of this turn went out as."""
        chat = (message.channel, message.reply_target, message.thread_ts)
        if chat not in self._speaking or not wants_voice(answer.content):
            return
        self._pending[chat] = _Pending(turn_id, message.channel, answer,
                                       self._clock())
        task = asyncio.create_task(self._speak_later(chat))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Speak no more."""
        await cancel_all(self._tasks)

    async def _speak_later(self, chat: Chat) -> None:
        await asyncio.sleep(self._wait_s)
        pending = self._pending.get(chat)
        if pending is None or self._clock() - pending.at < self._quiet_s:
            return  # an answer that came since has its own wait
        del self._pending[chat]
        self._speaking.pop(chat, None)
        try:
            await self._speak(pending)
        except ClawError as error:
            self._log("voice_not_sent", turn=pending.turn_id,
                      provider=self._synthesizer.name, error=error.message)

    async def _speak(self, pending: _Pending) -> None:
        speech = await self._synthesizer.speak(pending.message.content)
        name = f"voice.{speech.extension}"
        path = await asyncio.to_thread(save_bytes, self._files, name,
                                       speech.data)
        spoken = Attachment(str(path), name, speech.mime_type,
                            len(speech.data))
        await self._post(
            f"voice:{pending.turn_id}", pending.channel,
            replace(pending.message, content="", attachments=(spoken,),
                    buttons=()))
