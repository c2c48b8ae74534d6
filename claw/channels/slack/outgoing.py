"""Sending: parts, and the calls that deliver them.

Text goes first, in pieces, each with a key of ours in the message's
metadata: by it the message is found again when nobody knows whether it
arrived (sent.py). Then each file: an address for the upload, the bytes, and
files.completeUploadExternal, which posts it. Only that last call can post
twice, and only what is named by the id of the upload, which is kept in the
channel's marks before. A thread that is gone is no reason to lose an
answer: it goes to the channel.
Source: docs.slack.dev/messaging/working-with-files#uploading_files.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

from claw.channels.markup import parse_markdown
from claw.channels.outfiles import (
    OutFile,
    OutFiles,
    OutsideError,
    mark_received,
)
from claw.channels.slack.answers import read_code
from claw.channels.slack.api import SIGN_S, SlackApi
from claw.channels.slack.blocks import (
    MOST_BUTTONS,
    TEXT_CHARS,
    VALUE_CHARS,
    actions,
    judge_links,
    parse_recipient,
    read_spans,
    rich_text,
    section,
    to_mrkdwn,
)
from claw.channels.splitting import split_text
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    ClawError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.files import safe_name
from claw.core.value import replace
from claw.net.http import tell_leaving

EVENT_TYPE = "claw_part"
UPLOAD_BYTES = 100 * 1024 * 1024  # held in memory; Slack itself takes 1 GB
_UPLOADS = 50  # of which the ids are kept
_UPLOAD = "upload:"
# Seconds between looks at a file that Slack is still posting.
_LOOKS_S = (0.2, 0.4, 0.8, 1.5, 2.5, 4.0)
_NO_BLOCKS = ("invalid_blocks", "invalid_blocks_format",
              "msg_blocks_too_long", "unsupported_block")
_NO_THREAD = ("thread_not_found", "message_not_found", "invalid_thread_ts",
              "cannot_reply_to_message")


class Sender:
    """The sending half of one bot."""

    def __init__(self, api: SlackApi, deps: ChannelDeps) -> None:
        self._api = api
        self._deps = deps
        self._files = OutFiles(deps, partial(mark_received, "slack"))
        self._opened: dict[str, str] = {}  # person -> private chat

    # -- parts

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files."""
        text, files = message.content, list[OutFile]()
        if message.files:
            text, files = self._files.split(
                text, message.recipient.partition(":")[0])
        parts = [*self._texts(message, text), *(
            self._file(file, message.links) for file in (
                *files, *self._files.attached(message.attachments)))]
        buttons = self._buttons(message)
        if buttons and parts:
            # Buttons stand under the last text.
            at = max((n for n, part in enumerate(parts)
                      if part.kind == "text"), default=-1)
            if at < 0:
                parts.append(_text_part("Choose:", []))
            parts[at] = replace(parts[at], data={**parts[at].data,
                                                 "buttons": buttons})
        return parts

    def _texts(self, message: SendMessage, markdown: str) -> Iterator[Part]:
        plain, spans = parse_markdown(markdown)
        for piece, inside in split_text(plain, spans, limit=TEXT_CHARS):
            yield _text_part(piece, judge_links(piece, inside,
                                                message.links))

    def _file(self, file: OutFile, links: Collection[str] | None) -> Part:
        """A file to upload; of an address, or of one that can't be sent,
        what stands for it."""
        if file.path:
            return Part("file", file.text, {
                "path": file.path, "name": file.name,
                "key": secrets.token_hex(8)})
        return _text_part(file.text, judge_links(file.text, (), links))

    def _buttons(self, message: SendMessage) -> list[tuple[str, str]]:
        found = []
        for button in message.buttons:
            if button.label.strip() \
                    and 1 <= len(button.action) <= VALUE_CHARS:
                found.append((button.label, button.action))
            else:
                self._deps.log("button_left_out", label=button.label,
                               reason="its action has no 1 to 2,000 "
                                      "characters")
        return found[:MOST_BUTTONS]

    # -- the calls

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] | None = None) -> str | None:
        """Deliver one part; the ts of its message. `leaving` is called
        before each request that could deliver it."""
        channel, thread = parse_recipient(message.recipient,
                                          message.thread_ts)
        deliver = (self._text if part.kind == "text" else self._upload)
        try:
            return await deliver(channel, thread, part, leaving)
        except RequestRefusedError as error:
            if thread is None or read_code(error) not in _NO_THREAD:
                raise
        return await deliver(channel, None, part, leaving)

    async def _text(self, channel: str, thread: str | None, part: Part,
                    leaving: Callable[[], None] | None) -> str:
        text = str(part.data["text"])
        spans = read_spans(part.data)
        plain = to_mrkdwn(text, spans)
        buttons = part.data.get("buttons")
        row = [actions(buttons)] if buttons else []
        sent = {"channel": channel, "thread_ts": thread, "text": plain,
                "unfurl_links": False, "unfurl_media": False,
                "metadata": {"event_type": EVENT_TYPE,
                             "event_payload": {"key": part.data["key"]}}}
        with tell_leaving(leaving) if leaving else nullcontext():
            try:
                found = await self._api.call("chat.postMessage", {
                    **sent, "blocks": [rich_text(text, spans), *row]})
            except RequestRefusedError as error:
                if read_code(error) not in _NO_BLOCKS:
                    raise
                found = await self._api.call("chat.postMessage", {
                    **sent, "blocks": [section(plain), *row] if row
                    else None})
        ts = found.get("ts")
        if not isinstance(ts, str) or not ts:
            raise UnavailableError(
                "Slack answered chat.postMessage without a ts")
        return ts

    # -- files

    async def _upload(self, channel: str, thread: str | None, part: Part,
                      leaving: Callable[[], None] | None) -> str:
        try:
            content = await asyncio.to_thread(
                self._files.read, str(part.data["path"]), UPLOAD_BYTES)
        except (ClawError, OutsideError, OSError) as error:
            return await self._say(channel, thread, part, error, leaving)
        name = safe_name(str(part.data["name"]), "file")
        channel = await self.find_channel(channel)
        try:
            found = await self._api.call("files.getUploadURLExternal", {
                "filename": name, "length": len(content)})
        except RequestRefusedError as error:  # no scope, too large, empty
            return await self._say(channel, thread, part, error, leaving)
        file_id, url = found.get("file_id"), found.get("upload_url")
        if not isinstance(file_id, str) or not isinstance(url, str):
            raise UnavailableError(
                "Slack answered files.getUploadURLExternal without an "
                "address")
        await self._api.upload(url, content)
        self._note_upload(str(part.data["key"]), file_id)
        with tell_leaving(leaving) if leaving else nullcontext():
            found = await self._api.call("files.completeUploadExternal", {
                "files": [{"id": file_id, "title": name}],
                "channel_id": channel, "thread_ts": thread,
                "initial_comment": part.data.get("comment")})
        files = found.get("files")
        ts = find_share(files[0] if isinstance(files, list) and files
                        else None, channel)
        return ts or await self.look_for_share(file_id, channel) or file_id

    async def _say(self, channel: str, thread: str | None, part: Part,
                   why: Exception,
                   leaving: Callable[[], None] | None) -> str:
        """In the place of a file, why it is not there."""
        said = f"({part.text} can not be sent: {why})"
        return await self._text(channel, thread, replace(
            _text_part(said, []), data={"text": said, "spans": [],
                                        "key": part.data["key"]}), leaving)

    def _note_upload(self, key: str, file_id: str) -> None:
        """Keep the id of an upload that is about to be posted."""
        marks = self._deps.marks
        names = marks.keys()
        old = [name for name in names if name.startswith(_UPLOAD)]
        for name in old[:-_UPLOADS]:
            marks.set(name, None)
        marks.set(_UPLOAD + key, file_id)

    def read_upload(self, key: str) -> str | None:
        """The id of the upload of a part; None where none was posted."""
        return self._deps.marks.get(_UPLOAD + key)

    async def look_for_share(self, file_id: str, channel: str) -> str | None:
        """The ts of a file's message: Slack posts it some time after it
        says that it will. None where it is not seen; raises nothing that
        is not about the way there."""
        for wait in (*_LOOKS_S, 0.0):
            try:
                found = await self._api.call(
                    "files.info", {"file": file_id}, timeout_s=SIGN_S)
            except RequestRefusedError as error:
                self._deps.log("file_not_seen", file=file_id,
                               error=error.message, hint=error.hint)
                return None
            if ts := find_share(found.get("file"), channel):
                return ts
            await self._api.sleep(wait)
        self._deps.log("file_not_seen", file=file_id,
                       hint="Slack has taken it and not posted it yet")
        return None

    # -- people as recipients

    async def find_channel(self, recipient: str) -> str:
        """The channel that a recipient means: of a person (U...) his
        private chat."""
        channel, _ = parse_recipient(recipient)
        if channel[:1] not in ("U", "W"):
            return channel
        if channel not in self._opened:
            found = await self._api.call("conversations.open",
                                         {"users": channel})
            opened = found.get("channel")
            if not isinstance(opened, dict) \
                    or not isinstance(opened.get("id"), str):
                raise UnavailableError(
                    "Slack answered conversations.open without a channel")
            self._opened[channel] = opened["id"]
        return self._opened[channel]


def find_share(file: Any, channel: str) -> str | None:
    """The ts of the message that a file stands in, in one channel."""
    shares = file.get("shares") if isinstance(file, dict) else None
    for kind in shares.values() if isinstance(shares, dict) else ():
        posts = kind.get(channel) if isinstance(kind, dict) else None
        for post in posts if isinstance(posts, list) else ():
            if isinstance(post, dict) and isinstance(post.get("ts"), str):
                return str(post["ts"])
    return None


def _text_part(text: str, spans: list[Any]) -> Part:
    return Part("text", text, {"text": text,
                               "spans": [list(span) for span in spans],
                               "key": secrets.token_hex(8)})


def mark(part: Part, note: str) -> Part:
    """The part with a note in front: of its text, or as a file's comment."""
    if part.kind != "text":
        comment = (note + str(part.data.get("comment") or "")).strip()
        return replace(part, text=note + part.text,
                       data={**part.data, "comment": comment})
    shift = len(note)
    return replace(part, text=note + part.text, data={
        **part.data, "text": note + str(part.data["text"]),
        "spans": [[kind, start + shift, end + shift, extra]
                  for kind, start, end, extra in part.data["spans"]]})
