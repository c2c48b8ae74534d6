"""What was said while nobody listened, by REST: after every start and every
connection that could not be taken up, and by and by where there is no
WebSocket.

Two marks are kept, in the server's milliseconds: "from", where the first
start began (what is older is never read), and "at", the newest post that was
read, with the last ones' keys behind it. Posts are asked for from a little
before "at": several may have one time, and one may become visible after a
later one.

Bounds: 10,000 posts of a channel; an edit of a post is found where its
channel had a post within the last day.
Source: api/v4/source/posts.yaml and channels.yaml.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from claw.channels.connection import Connection
from claw.channels.mattermost.api import Api
from claw.channels.mattermost.posts import is_edit
from claw.channels.mattermost.wire import Channel, Me, Post, read_post
from claw.core.channel import KeepsMarks
from claw.core.errors import RequestRefusedError
from claw.core.log import Log

OVERLAP_MS = 30_000
DAY_MS = 24 * 3600 * 1000
SINCE_POSTS = 1000  # the most that a call with `since` gives
PAGE_POSTS, MOST_PAGES = 200, 50
_STEP_MS = 10_000  # of the mark, for posts that are not for us
_REMEMBERED, _KEPT = 2000, 200  # posts that were read; of them in the mark
_ADDED = ("system_add_to_channel", "system_add_to_team")
_JOINED = ("system_join_channel", "system_join_team")

Take: TypeAlias = Callable[[Post, str], Awaitable[None]]


class History:
    """How far one listener has read. `chosen` are the channels that the
    settings name."""

    def __init__(self, api: Api, marks: KeepsMarks, link: Connection,
                 log: Log, chosen: Collection[str]) -> None:
        self._api = api
        self._marks = marks
        self._link = link
        self._log = log
        self._chosen = chosen
        self.kinds: dict[str, str] = {}  # the type of each channel
        self._done: dict[str, int] = {}  # what was read, and when it was

    async def catch_up(self, me: Me, take: Take,
                       edits_ms: int = DAY_MS) -> None:
        """Hand over what is new, channel by channel and in order. Nothing
        at the very first start. Raises UnavailableError, and what `take`
        raises; it is done again then."""
        channels = await self._list_channels()
        self.kinds = {channel.id: channel.type for channel in channels}
        at, *done = self._read("at")
        if at is None:
            newest = str(max((c.last_post_at for c in channels), default=0)
                         or self._api.server_ms or 0)
            self._marks.set("from", newest)
            self._marks.set("at", newest)
            return
        for key in done:
            self._done.setdefault(str(key), at)
        since = max(self._read("from")[0] or 0, at - OVERLAP_MS)
        for channel in sorted(channels, key=lambda c: c.last_post_at):
            if channel.last_post_at > since - edits_ms:
                at = max(at, await self._read_channel(
                    channel, since, me, take))
        self._write(at)

    def has(self, post: Post) -> bool:
        """Whether it was read, as it is now."""
        return _key(post) in self._done

    def note(self, post: Post) -> None:
        """It was read."""
        self._done[_key(post)] = _moment(post)
        if len(self._done) > _REMEMBERED:
            del self._done[next(iter(self._done))]

    def advance(self, post: Post, *, was_read: bool) -> None:
        """A post has been dealt with as it came."""
        at = self._read("at")[0] or 0
        if was_read or post.create_at > at + _STEP_MS:
            self._write(max(at, post.create_at))

    async def _list_channels(self) -> list[Channel]:
        """All that we are in; of a server that can't list them (before 6.1)
        those that the settings name."""
        try:
            return await self._api.channels()
        except RequestRefusedError:
            if not self._chosen:
                raise
        now = self._api.server_ms or 0
        return [Channel(channel, await self.kind(channel), last_post_at=now)
                for channel in self._chosen]

    async def kind(self, channel: str) -> str:
        """The type of a channel; "O" where it can't be told."""
        if channel not in self.kinds:
            try:
                found = await self._api.call("GET", f"channels/{channel}")
            except RequestRefusedError:
                found = {}
            kind = found.get("type") if isinstance(found, dict) else None
            self.kinds[channel] = kind if isinstance(kind, str) else "O"
        return self.kinds[channel]

    async def _read_channel(self, channel: Channel, since: int, me: Me,
                            take: Take) -> int:
        """Hand over a channel's news; the time of the newest post."""
        try:
            posts = await self._fetch(channel, since)
        except RequestRefusedError as error:  # it is not ours any more
            self._log("channel_not_read", chat=channel.id,
                      error=error.message)
            return 0
        self._link.heard()
        joined = max((p.create_at for p in posts if _is_joining(p, me)),
                     default=0)
        for post in sorted(posts, key=lambda p: (_moment(p), p.id)):
            if _moment(post) > max(since, joined):
                await take(post, channel.type)
        return max((post.create_at for post in posts), default=0)

    async def _fetch(self, channel: Channel, since: int) -> list[Post]:
        """All posts that were written or changed since."""
        raw = await self._api.posts(channel.id, f"since={since}")
        if len(raw) >= SINCE_POSTS:  # it may be any thousand of them
            raw += await self._fetch_pages(channel, since)
        found = {post.id: post for post in map(read_post, raw)
                 if post is not None and post.channel_id == channel.id}
        if len(found) < len({str(r.get("id")) if isinstance(r, dict) else ""
                             for r in raw}):
            self._log("post_unreadable", chat=channel.id)
        return list(found.values())

    async def _fetch_pages(self, channel: Channel,
                           since: int) -> list[object]:
        """The newest first, until those that are known."""
        found: list[object] = []
        for page in range(MOST_PAGES):
            raw = await self._api.posts(
                channel.id, f"page={page}&per_page={PAGE_POSTS}")
            self._link.heard()
            found += raw
            times = [post.create_at for post in map(read_post, raw)
                     if post is not None]
            if len(raw) < PAGE_POSTS or min(times, default=0) <= since:
                return found
        self._log("posts_left_out", chat=channel.id,
                  hint=f"more than {MOST_PAGES * PAGE_POSTS} were written "
                       "while claw was away; the oldest are not read")
        return found

    def _read(self, name: str) -> tuple[int | None, *tuple[str, ...]]:
        """A mark: its time, and what stands behind it."""
        time, *keys = (self._marks.get(name) or "").split(" ")
        known = time.isascii() and time.isdigit() and len(time) < 16
        return int(time) if known else None, *keys

    def _write(self, at: int) -> None:
        """A post that was imported may say that it is of a time to come:
        what is written until then would be missed."""
        if self._api.server_ms is not None:
            at = min(at, self._api.server_ms + OVERLAP_MS)
        recent = [key for key, moment in self._done.items()
                  if moment >= at - OVERLAP_MS][-_KEPT:]
        self._marks.set("at", " ".join([str(at), *recent]))


def _key(post: Post) -> str:
    return f"{post.id}.{post.edit_at}" if is_edit(post) else post.id


def _moment(post: Post) -> int:
    """When it came to be as it is."""
    return post.edit_at if is_edit(post) else post.create_at


def _is_joining(post: Post, me: Me) -> bool:
    """The report that we came into the channel, or were let in: what stands
    before it was said to others."""
    added = post.props.get("addedUserId") if post.props else None
    return (post.type in _ADDED and added == me.id) or (
        post.type in _JOINED and post.user_id == me.id)
