"""The calls of the Open API that the fake knows, one function each.

A call takes the world and a request and gives `data`, or raises ApiError.
Source: open.larksuite.com/document, im/v1.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from claw.testing.fake_lark.world import (
    APP_ID,
    BOT,
    ApiError,
    Json,
    World,
    check_card,
)

_US = {"id": APP_ID, "id_type": "app_id", "sender_type": "app"}


@dataclass
class Call:
    """A call that the app made."""

    name: str
    path: str
    query: Json
    body: Json
    raw: bytes = b""


def create(world: World, call: Call) -> Json:
    chat = _find_chat(world, str(call.query.get("receive_id_type")),
                      str(call.body.get("receive_id")))
    return _deliver(world, call, chat)


def reply(world: World, call: Call) -> Json:
    root = world.find(call.path.split("/")[3])
    if root["deleted"]:
        raise ApiError(230011, "The message was withdrawn.")
    fields: Json = {"parent_id": root["message_id"],
                    "root_id": root.get("root_id") or root["message_id"]}
    if call.body.get("reply_in_thread"):
        root.setdefault("thread_id", world.number("omt"))
        fields["thread_id"] = root["thread_id"]
    return _deliver(world, call, root["chat_id"], **fields)


def _find_chat(world: World, kind: str, number: str) -> str:
    if kind == "chat_id" and number in world.groups:
        return number
    if kind == "open_id" and number in world.people:
        chat = "oc_" + number.removeprefix("ou_")
        world.chat(chat)
        return chat
    raise ApiError(230001, "invalid receive_id")


def _deliver(world: World, call: Call, chat: str, **fields: Any) -> Json:
    key = str(call.body.get("uuid") or "")
    if len(key) > 50:
        raise ApiError(230001, "uuid is too long")
    known = world.keys.get(key)
    if key and known and world.clock() < known[0] + world.key_s:
        return known[1]
    kind, content = str(call.body["msg_type"]), str(call.body["content"])
    if kind == "interactive":
        check_card(content)
    elif kind in ("image", "file", "audio", "media"):
        found = json.loads(content)
        key_of = found.get("image_key") or found.get("file_key")
        if key_of not in world.contents:
            raise ApiError(230055, "the file does not exist")
    else:
        raise ApiError(230001, f"an unexpected msg_type {kind}")
    message = world.add(chat, dict(_US), kind, content, history=[content],
                        **fields)
    if key:
        world.keys[key] = world.clock(), message
    return message


def list_messages(world: World, call: Call) -> Json:
    query = call.query
    place, is_thread = str(query.get("container_id")), query.get(
        "container_id_type") == "thread"
    if is_thread and "start_time" in query:
        raise ApiError(230001, "a thread takes no start_time")
    found = [m for m in world.messages if (
        m.get("thread_id") == place if is_thread else
        m["chat_id"] == place and not (m.get("thread_id")
                                       and m.get("root_id")))]
    if not is_thread and place not in world.groups:
        raise ApiError(230002, "The bot can not be outside the group.")
    if query.get("sort_type") == "ByCreateTimeDesc":
        found.reverse()
    since = int(query.get("start_time") or 0) * 1000
    found = [m for m in found if int(m["create_time"]) >= since]
    at, size = int(query.get("page_token") or 0), int(
        query.get("page_size") or 20)
    if size > 50:
        raise ApiError(230001, "page_size is at most 50")
    return {"items": [world.show_row(m) for m in found[at:at + size]],
            "has_more": at + size < len(found),
            "page_token": str(at + size) if at + size < len(found) else ""}


def get_message(world: World, call: Call) -> Json:
    found = world.find(call.path.split("/")[3])
    inner = [m for m in world.messages
             if m.get("upper_message_id") == found["message_id"]]
    return {"items": [world.show_row(m) for m in (found, *inner)]}


def patch_message(world: World, call: Call) -> Json:
    message = world.find(call.path.split("/")[3])
    if message["sender"]["id"] != APP_ID \
            or message["msg_type"] != "interactive":
        raise ApiError(230012, "Bot is NOT the sender of the message.")
    check_card(str(call.body["content"]))
    message["body"] = {"content": call.body["content"]}
    message["updated"] = True
    return {}


def add_reaction(world: World, call: Call) -> Json:
    number = call.path.split("/")[3]
    world.find(number)
    name = call.body["reaction_type"]["emoji_type"]
    made = world.number("re")
    world.reactions.setdefault(number, []).append((made, name))
    return {"reaction_id": made}


def list_reactions(world: World, call: Call) -> Json:
    found = world.reactions.get(call.path.split("/")[3], [])
    return {"items": [{
        "reaction_id": made, "operator": {"operator_id": APP_ID,
                                          "operator_type": "app"},
        "reaction_type": {"emoji_type": name}} for made, name in found
        if call.query.get("reaction_type") in (None, name)]}


def remove_reaction(world: World, call: Call) -> Json:
    parts = call.path.split("/")
    found = world.reactions.get(parts[3], [])
    if not any(made == parts[5] for made, _ in found):
        raise ApiError(231011, "the reaction does not exist")
    found[:] = [one for one in found if one[0] != parts[5]]
    return {}


def bring(world: World, call: Call) -> Json:
    """An image or a file, as a form."""
    is_image = call.path.endswith("images")
    name = b'name="image"' if is_image else b'name="file"'
    found = re.search(name + rb'[^\r]*(?:\r\n[^\r\n]+)*\r\n\r\n', call.raw)
    if found is None:
        raise ApiError(234001, "Invalid request param.")
    content = call.raw[found.end():call.raw.rindex(b"\r\n--")]
    if not content:
        raise ApiError(234010, "File's size can't be 0.")
    key = world.number("img" if is_image else "file")
    world.contents[key] = content
    return {"image_key" if is_image else "file_key": key}


def list_chats(world: World, call: Call) -> Json:
    return {"items": [{"chat_id": chat, "name": chat}
                      for chat, is_group in world.groups.items()
                      if is_group], "has_more": False, "page_token": ""}


def get_user(world: World, call: Call) -> Json:
    number = call.path.rpartition("/")[2]
    if number not in world.people:
        raise ApiError(41050, "no user authority error")
    return {"user": {"open_id": number, "name": world.people[number]}}


def list_scopes(world: World, call: Call) -> Json:
    return {"scopes": [{"scope_name": name, "grant_status": 1} for name in (
        "im:message", "im:message.group_msg", "im:chat:readonly",
        "contact:user.base:readonly")]}


_MESSAGE = r"im/v1/messages/[^/]+"
METHODS: tuple[tuple[str, str, str, Callable[[World, Call], Json]], ...] = (
    ("POST", r"im/v1/messages", "create", create),
    ("GET", r"im/v1/messages", "list", list_messages),
    ("POST", _MESSAGE + "/reply", "reply", reply),
    ("GET", _MESSAGE, "get", get_message),
    ("PATCH", _MESSAGE, "patch", patch_message),
    ("POST", _MESSAGE + "/reactions", "react", add_reaction),
    ("GET", _MESSAGE + "/reactions", "reactions", list_reactions),
    ("DELETE", _MESSAGE + "/reactions/[^/]+", "unreact", remove_reaction),
    ("POST", "im/v1/images", "image", bring),
    ("POST", "im/v1/files", "file", bring),
    ("GET", "im/v1/chats", "chats", list_chats),
    ("GET", "contact/v3/users/[^/]+", "user", get_user),
    ("GET", "application/v6/scopes", "scopes", list_scopes),
)


def bot_info(active: int = 2) -> Json:
    return {"activate_status": active, "app_name": "claw", "open_id": BOT}
