"""Sending: parts, the posts that they become, and finding them again.

A part is one POST /posts; its files are uploaded before. Its key goes along
twice: as `pending_post_id`, by which the server answers a repetition within
30 seconds with the post that is there, and in `props`, where it is found
among the channel's posts later. A thread whose root is gone is no reason to
lose an answer: it goes to the channel.
Source: server/channels/app/post.go (deduplicateCreatePost).
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from claw.channels.mattermost.api import FILE_BYTES, Api, RefusedCallError
from claw.channels.mattermost.markup import escape, split_markdown
from claw.channels.mattermost.posts import NAME, Place, parse_recipient
from claw.channels.mattermost.wire import Post, is_id, read_post
from claw.channels.outfiles import (
    OutFile,
    OutFiles,
    OutsideError,
    mark_received,
)
from claw.core.abilities import Doubt
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    ClawError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.files import safe_name
from claw.core.value import replace
from claw.net.http import tell_leaving

POST_CHARS = 16_383  # of a server that tells no limit
OLD_POST_CHARS = 4_000
NOTE_CHARS = 40  # kept free, for the mark of one that repeats
FILES = 10  # of a post
SLASH = ("(Mattermost keeps what begins with a slash for itself: put a blank "
         "before it.)")
KEY_PROP = "claw_key"
_ROOT_GONE = ("root_id",)
# How far back a post is looked for: a clock may be off by an hour.
_SKEW_MS = 3600 * 1000
_PAGE, _PAGES = 200, 10


class _UnreadableError(Exception):
    """A file that can't be read, or may not be sent now."""


class Sender:
    """The sending half of one bot."""

    def __init__(self, api: Api, deps: ChannelDeps) -> None:
        self._api = api
        self._marks = deps.marks
        self._files = OutFiles(deps, lambda chat: mark_received(NAME, chat))

    # -- parts

    def parts(self, message: SendMessage) -> list[Part]:
        """The posts of a message, in order; [] for a blank one without
        files."""
        chat = message.recipient.strip().partition(":")[0]
        text, files = (self._files.split(message.content, chat)
                       if message.files else (message.content, []))
        files += self._files.attached(message.attachments)
        lines = [file.text for file in files if not file.path]
        if message.buttons:  # there are none: a word is typed
            lines.append(SLASH)
        pieces = split_markdown("\n".join([text, *lines]) if lines else text,
                                self._limit() - NOTE_CHARS, message.links)
        parts = [_make_part(piece) for piece in pieces]
        found = [file for file in files if file.path]
        groups = [found[at:at + FILES] for at in range(0, len(found), FILES)]
        for number, group in enumerate(groups):
            # Files stand below the last words.
            last = parts.pop() if parts and not number else _make_part("")
            parts.append(_attach(last, group))
        return parts

    def _limit(self) -> int:
        """What the server said when it was listened to last."""
        told = self._marks.get("post_limit") or ""
        return max(OLD_POST_CHARS, int(told)) if told.isdigit() \
            else POST_CHARS

    def mark(self, part: Part, note: str) -> Part:
        """The part with a note in front of what people read."""
        return replace(part, text=note + part.text, data={
            **part.data,
            "message": escape(note) + str(part.data["message"])})

    # -- sending

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] | None = None) -> str:
        """Deliver one part; the id of its post."""
        place = parse_recipient(message.recipient, message.thread_ts)
        place = place._replace(channel=await self._api.find_channel(place))
        text, files = str(part.data.get("message", "")), []
        for file in part.data.get("files") or ():
            try:
                files.append(await self._upload(place.channel, file))
            except (_UnreadableError, RequestRefusedError) as error:
                told = split_markdown(f"({file.get('name')} can not be sent: "
                                      f"{error})", NOTE_CHARS * 10, ())
                text = "\n".join([text, *told])[:self._limit()]
        me = await self._api.me()
        key = str(part.data.get("key", ""))
        body = {"channel_id": place.channel, "message": text.strip("\n"),
                "file_ids": files, "props": {KEY_PROP: key},
                "pending_post_id": f"{me.id}:{key}"}
        with tell_leaving(leaving) if leaving else nullcontext():
            return await self._post(place, body)

    async def _post(self, place: Place, body: dict[str, Any]) -> str:
        try:
            found = await self._api.call("POST", "posts", {
                **body, "root_id": place.root})
        except RefusedCallError as error:
            if not place.root or not any(
                    words in error.error_id for words in _ROOT_GONE):
                raise
            found = await self._api.call("POST", "posts", body)
        post_id = found.get("id") if isinstance(found, dict) else None
        if not is_id(post_id):
            raise UnavailableError("Mattermost took a post and gave no id")
        return str(post_id)

    async def _upload(self, channel: str, file: dict[str, Any]) -> str:
        try:
            content = await asyncio.to_thread(
                self._files.read, str(file["path"]), FILE_BYTES)
        except (OutsideError, OSError, ClawError) as error:
            raise _UnreadableError(str(error)) from error
        return await self._api.upload(
            channel, safe_name(str(file.get("name", "")), "file"), content)

    # -- finding

    async def find(self, doubt: Doubt) -> tuple[str, ...] | None:
        """As FindsSent says. Raises UnavailableError, AuthError."""
        key, made_ms = doubt.part.data.get("key"), doubt.part.data.get("at")
        if not key or not isinstance(made_ms, int):
            return None  # of an older version
        place = parse_recipient(doubt.message.recipient,
                                doubt.message.thread_ts)
        channel = await self._api.find_channel(place)
        known = {given for _, given in (*doubt.before, *doubt.owned)}
        for page in range(_PAGES):
            raw = await self._api.posts(
                channel, f"page={page}&per_page={_PAGE}")
            posts = [p for p in map(read_post, raw) if p is not None]
            found = tuple(p.id for p in posts
                          if _read_key(p) == key and p.id not in known)
            if found:
                return found
            if len(raw) < _PAGE or min(
                    (p.create_at for p in posts), default=0) \
                    < made_ms - _SKEW_MS:
                return ()
        return None


def text_part(text: str) -> Part:
    """What claw itself says, as one part."""
    return _make_part(escape(text))


def _make_part(piece: str) -> Part:
    return Part("text", piece, {
        "message": piece, "key": str(secrets.randbits(63)),
        "at": int(time.time() * 1000)})


def _attach(part: Part, files: Sequence[OutFile]) -> Part:
    names = "\n".join(file.text for file in files)
    return Part("files", f"{part.text}\n{names}".strip("\n"), {
        **part.data, "files": [{"path": file.path, "name": file.name}
                               for file in files]})


def _read_key(post: Post) -> object:
    return (post.props or {}).get(KEY_PROP)
