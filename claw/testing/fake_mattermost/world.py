"""What is on the server: people, channels, posts, files. Pure but for the
clock.

Source: api/v4/source/definitions.yaml of mattermost/mattermost.
"""

import re
import time
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Json = dict[str, Any]
SINCE_POSTS = 1000
PENDING_S = 30.0
MOST_FILES = 10


class ApiError(Exception):
    """A refusal: HTTP status, the server's name for it, its words."""

    def __init__(self, status: int, error_id: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"id": error_id, "message": message,
                     "detailed_error": "", "request_id": "r" * 26,
                     "status_code": status}


@dataclass
class World:
    """All of it; `me` is the bot's id, `now_ms` the clock. `events` are
    those to be sent: a name and a post."""

    me: str
    max_post_size: int = 16383
    users: dict[str, Json] = field(default_factory=dict)
    channels: dict[str, Json] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)
    posts: dict[str, Json] = field(default_factory=dict)
    files: dict[str, tuple[Json, bytes]] = field(default_factory=dict)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    typing: list[Json] = field(default_factory=list)
    pending: dict[str, tuple[str, float]] = field(default_factory=dict)
    events: list[tuple[str, Json]] = field(default_factory=list)
    pending_s: float = PENDING_S
    now_ms: Any = lambda: int(time.time() * 1000)
    _ids: Any = field(default_factory=lambda: count(1))

    def new_id(self, kind: str) -> str:
        return f"{kind}{next(self._ids):0{26 - len(kind)}d}"

    def add_user(self, username: str, user_id: str | None = None, *,
                 is_bot: bool = False) -> str:
        """A person's id; who has the name already keeps his."""
        for user in self.users.values():
            if user["username"] == username:
                return str(user["id"])
        found = user_id or self.new_id("user")
        self.users[found] = {"id": found, "username": username,
                             "is_bot": is_bot, "roles": "system_user",
                             "delete_at": 0}
        return found

    def add_channel(self, kind: str, members: set[str], name: str = "",
                    channel_id: str | None = None) -> str:
        found = channel_id or self.new_id("chan")
        self.channels[found] = {
            "id": found, "type": kind, "name": name or found,
            "display_name": name, "team_id": "" if kind in "DG" else
            "team".ljust(26, "0"), "last_post_at": 0, "delete_at": 0,
            "create_at": self.now_ms()}
        self.members[found] = members
        return found

    def direct(self, one: str, other: str) -> str:
        """The channel of direct messages of two."""
        for channel_id, channel in self.channels.items():
            if channel["type"] == "D" \
                    and self.members[channel_id] == {one, other}:
                return channel_id
        name = "__".join(sorted((one, other)))
        return self.add_channel("D", {one, other}, name)

    def require_member(self, channel_id: str, user_id: str) -> Json:
        if channel_id not in self.channels \
                or user_id not in self.members[channel_id]:
            raise ApiError(403, "api.context.permissions.app_error",
                           "You do not have the appropriate permissions.")
        return self.channels[channel_id]

    def require_post(self, post_id: str) -> Json:
        if post_id not in self.posts:
            raise ApiError(404, "app.post.get.app_error",
                           "Unable to get the post.")
        return self.posts[post_id]

    def create_post(self, user_id: str, given: Json) -> Json:
        """As POST /posts does: one pending_post_id, one post, for a
        while."""
        key = str(given.get("pending_post_id") or "")
        if key and key in self.pending:
            post_id, until = self.pending[key]
            if time.monotonic() < until:
                return self.posts[post_id]
        channel_id = str(given.get("channel_id"))
        channel = self.require_member(channel_id, user_id)
        self._check_post(given, channel_id)
        props = dict(given.get("props") or {})
        if self.users[user_id]["is_bot"]:
            props["from_bot"] = "true"
        now = self.now_ms()
        file_ids = list(given.get("file_ids") or ())
        post = {"id": given.get("id") or self.new_id("post"),
                "create_at": now, "update_at": now,
                "edit_at": 0, "delete_at": 0, "is_pinned": False,
                "user_id": user_id, "channel_id": channel_id,
                "root_id": given.get("root_id") or "", "original_id": "",
                "message": given.get("message") or "",
                "type": given.get("type") or "", "props": props,
                "hashtags": "", "file_ids": file_ids,
                "pending_post_id": key, "reply_count": 0,
                "last_reply_at": 0, "participants": None,
                "metadata": {"files": [self.files[f][0] for f in file_ids],
                             "embeds": given.get("embeds") or []}}
        post |= {k: v for k, v in given.items()
                 if k in ("create_at", "metadata", "delete_at")}
        self.posts[post["id"]] = post
        channel["last_post_at"] = max(channel["last_post_at"],
                                      post["create_at"])
        if post["root_id"]:
            self.posts[post["root_id"]]["update_at"] = now
        if key:
            self.pending[key] = (post["id"],
                                 time.monotonic() + self.pending_s)
        self.events.append(("posted", post))
        return post

    def _check_post(self, given: Json, channel_id: str) -> None:
        message = given.get("message") or ""
        if len(message) > self.max_post_size:
            raise ApiError(400, "model.post.is_valid.message_length.app_error",
                           "Invalid message")
        file_ids = given.get("file_ids") or ()
        if len(file_ids) > MOST_FILES:
            raise ApiError(400, "model.post.is_valid.file_ids.app_error",
                           "Invalid file ids")
        if not message.strip() and not file_ids:
            raise ApiError(400, "api.context.invalid_body_param.app_error",
                           "Invalid or missing message")
        root = self.posts.get(str(given.get("root_id") or ""))
        if given.get("root_id") and (
                root is None or root["root_id"] or root["delete_at"]
                or root["channel_id"] != channel_id):
            raise ApiError(400, "api.post.create_post.root_id.app_error",
                           "Invalid RootId parameter.")

    def edit_post(self, post_id: str, message: str) -> Json:
        post = self.require_post(post_id)
        now = max(self.now_ms(), post["update_at"] + 1)
        post |= {"message": message, "edit_at": now, "update_at": now}
        self.events.append(("post_edited", post))
        return post

    def list_posts(self, channel_id: str, query: dict[str, str]) -> Json:
        """As GET /channels/{id}/posts does, newest first."""
        here = sorted((p for p in self.posts.values()
                       if p["channel_id"] == channel_id),
                      key=lambda p: (p["create_at"], p["id"]), reverse=True)
        if "since" in query:
            since = int(query["since"])
            found = [p for p in here if p["update_at"] > since]
            found = found[-SINCE_POSTS:]  # any thousand of them
        else:
            size = min(200, int(query.get("per_page", 60)))
            at = int(query.get("page", 0)) * size
            found = [p for p in here if not p["delete_at"]][at:at + size]
        return {"order": [p["id"] for p in found],
                "posts": {p["id"]: p for p in found},
                "next_post_id": "", "prev_post_id": "", "has_next": False}

    def add_file(self, name: str, content: bytes,
                 mime_type: str = "application/octet-stream") -> str:
        file_id = self.new_id("file")
        self.files[file_id] = ({
            "id": file_id, "user_id": self.me, "name": name,
            "extension": name.rpartition(".")[2], "size": len(content),
            "mime_type": mime_type, "create_at": self.now_ms()}, content)
        return file_id


# What holds no address that is fetched: an escaped sign, code, a link.
_SAFE = re.compile(
    r"\\[!-/:-@\[-`{-~]|```.*?```|(`+)(?!`).*?(?<!`)\1(?!`)"
    r"|(?<!!)\[(?:\\.|[^\]\\])*\]\((?:<[^>]*>|[^()\s]*"
    r"(?:\([^()\s]*\)[^()\s]*)*)\)", re.S)
_AUTOLINK = re.compile(r"(?:https?|ftp)://\S|(?<![A-Za-z0-9])www\.\S|!\[",
                       re.I)


def is_previewed(post: Json) -> bool:
    """Whether the server would fetch something that a post names: the
    first address that stands bare, or an image."""
    if post["props"].get("unsafe_links") == "true":
        return False
    return _AUTOLINK.search(_SAFE.sub(" ", post["message"])) is not None
