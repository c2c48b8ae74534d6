"""Calls of REST v4: a method and a path to what they do.

Source: api/v4/source/*.yaml of mattermost/mattermost.
"""

import json
import re
from collections.abc import Callable
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl

from claw.testing.fake_mattermost.world import ApiError, Json, World
from claw.testing.http_server import Reply, Request

_OK = {"status": "OK"}


class Call:
    """One request of somebody who is known."""

    def __init__(self, world: World, user: str, request: Request) -> None:
        self.world = world
        self.user = user
        self.request = request
        self.query = dict(parse_qsl(request.query))

    @property
    def body(self) -> Any:
        try:
            return json.loads(self.request.body)
        except ValueError:
            raise ApiError(400, "api.context.invalid_body_param.app_error",
                           "Invalid or missing body") from None

    def who(self, user_id: str) -> Json:
        found = self.world.users.get(
            self.user if user_id == "me" else user_id)
        if found is None:
            raise ApiError(404, "app.user.missing_account.const",
                           "Unable to find the user.")
        return found


def _user_by_name(call: Call, name: str) -> Any:
    for user in call.world.users.values():
        if user["username"] == name:
            return user
    raise ApiError(404, "app.user.get_by_username.app_error",
                   "Unable to find an existing account")


def _my_channels(call: Call, user: str) -> Any:
    me = call.who(user)["id"]
    return [c for i, c in call.world.channels.items()
            if me in call.world.members[i]]


def _channel(call: Call, channel: str) -> Any:
    return call.world.require_member(channel, call.user)


def _posts(call: Call, channel: str) -> Any:
    call.world.require_member(channel, call.user)
    return call.world.list_posts(channel, call.query)


def _direct(call: Call) -> Any:
    one, other = map(str, call.body)
    call.who(other)
    return call.world.channels[call.world.direct(one, other)]


def _create_post(call: Call) -> Any:
    return call.world.create_post(call.user, call.body)


def _patch_post(call: Call, post: str) -> Any:
    found = call.world.require_post(post)
    if found["user_id"] != call.user:
        raise ApiError(403, "api.context.permissions.app_error", "No.")
    return call.world.edit_post(post, str(call.body["message"]))


def _typing(call: Call, user: str) -> Any:
    body = call.body
    call.world.require_member(str(body.get("channel_id")), call.user)
    call.world.typing.append(body)
    return _OK


def _react(call: Call) -> Any:
    body = call.body
    call.world.require_post(str(body.get("post_id")))
    if body.get("user_id") != call.user:
        raise ApiError(403, "api.reaction.save_reaction.user_id.app_error",
                       "Not yours.")
    names = call.world.reactions.setdefault(body["post_id"], [])
    if body["emoji_name"] not in names:
        names.append(body["emoji_name"])
    return {**body, "create_at": call.world.now_ms()}


def _unreact(call: Call, user: str, post: str, name: str) -> Any:
    names = call.world.reactions.get(post, [])
    if name in names:
        names.remove(name)
    return _OK


def _upload(call: Call) -> Any:
    kind = call.request.headers.get("content-type", "")
    form = BytesParser(policy=HTTP).parsebytes(
        b"Content-Type: " + kind.encode() + b"\r\n\r\n"
        + call.request.body)
    infos, channel = [], call.query.get("channel_id", "")
    for part in form.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True) or b""
        assert isinstance(content, bytes)
        if name == "channel_id":
            channel = content.decode()
        elif name == "files":
            infos.append((part.get_filename() or "", content,
                          part.get_content_type()))
    call.world.require_member(channel, call.user)
    ids = [call.world.add_file(*info) for info in infos]
    return {"file_infos": [call.world.files[i][0] for i in ids],
            "client_ids": []}


def _file(call: Call, file: str) -> Any:
    if file not in call.world.files:
        raise ApiError(404, "app.file_info.get.app_error", "No such file.")
    info, content = call.world.files[file]
    return Reply(body=content, content_type=info["mime_type"])


def _file_info(call: Call, file: str) -> Any:
    _file(call, file)
    return call.world.files[file][0]


def _config(call: Call) -> Any:
    return {"MaxPostSize": str(call.world.max_post_size),
            "Version": "11.11.0", "SiteName": "Fake"}


_ID = "([^/]+)"
_ROUTES: list[tuple[str, str, Callable[..., Any]]] = [
    ("GET", f"users/username/{_ID}", _user_by_name),
    ("GET", f"users/{_ID}/channels", _my_channels),
    ("POST", f"users/{_ID}/typing", _typing),
    ("DELETE", f"users/{_ID}/posts/{_ID}/reactions/{_ID}", _unreact),
    ("GET", f"users/{_ID}", Call.who),
    ("POST", "channels/direct", _direct),
    ("GET", f"channels/{_ID}/posts", _posts),
    ("GET", f"channels/{_ID}", _channel),
    ("PUT", f"posts/{_ID}/patch", _patch_post),
    ("GET", f"posts/{_ID}", lambda c, p: c.world.require_post(p)),
    ("POST", "posts", _create_post),
    ("POST", "reactions", _react),
    ("POST", "files", _upload),
    ("GET", f"files/{_ID}/info", _file_info),
    ("GET", f"files/{_ID}", _file),
    ("GET", "config/client", _config),
    ("GET", "system/ping", lambda c: _OK),
]


def name_call(request: Request) -> str:
    """What a call is called, for faults: "POST posts", "GET users"."""
    path = request.path.removeprefix("/api/v4/")
    words = [word for word in path.split("/") if len(word) < 20]
    return f"{request.method} {'/'.join(words)}"


def answer(call: Call) -> Reply:
    """Do it. Raises ApiError."""
    path = call.request.path.removeprefix("/api/v4/")
    for method, pattern, work in _ROUTES:
        found = re.fullmatch(pattern, path)
        if method == call.request.method and found:
            result = work(call, *found.groups())
            if isinstance(result, Reply):
                return result
            return Reply(201 if method == "POST" else 200,
                         json.dumps(result).encode())
    raise ApiError(404, "api.context.404.app_error",
                   "Sorry, we could not find the page.")
