"""The REST API of the fake: what each operation does.

Operations have the names of Discord's OpenAPI description. Each gets the
world and a Call, and gives what is answered (None: 204). Errors and limits:
docs.discord.com/developers, topics/opcodes-and-status-codes, API v10.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qs

from claw.testing.fake_discord.world import (
    ApiError,
    Json,
    Sent,
    World,
    stamp,
)
from claw.testing.http_server import Request

TEXT_CHARS, UPLOAD_BYTES = 2000, 10 * 1024 * 1024
NO_EMBEDS, SILENT, VOICE = 1 << 2, 1 << 12, 1 << 13
_NONCE_CHARS = 25


@dataclass
class Call:
    """One request: its operation, the ids of its path, what it says; `me`
    is who asks."""

    operation: str
    path: dict[str, str]
    query: str = ""
    body: Any = None
    files: dict[str, bytes] = field(default_factory=dict)
    me: Json = field(default_factory=dict)


Operation = Callable[[World, Call], Any]

_ROUTES = """
GET /gateway get_gateway
GET /gateway/bot get_bot_gateway
GET /users/@me get_my_user
GET /users/@me/guilds list_my_guilds
POST /users/@me/channels create_dm
GET /applications/@me get_my_application
GET /oauth2/applications/@me get_my_oauth2_application
GET /applications/{application}/commands list_application_commands
POST /applications/{application}/commands create_application_command
PUT /applications/{application}/commands bulk_set_application_commands
GET /guilds/{guild}/roles list_guild_roles
GET /channels/{chat} get_channel
GET /channels/{chat}/messages list_messages
POST /channels/{chat}/messages create_message
GET /channels/{chat}/messages/{message} get_message
PATCH /channels/{chat}/messages/{message} update_message
DELETE /channels/{chat}/messages/{message} delete_message
POST /channels/{chat}/typing trigger_typing_indicator
PUT /channels/{chat}/messages/{message}/reactions/{emoji}/@me \
add_my_message_reaction
DELETE /channels/{chat}/messages/{message}/reactions/{emoji}/@me \
delete_my_message_reaction
POST /interactions/{interaction}/{token}/callback \
create_interaction_response
"""
_TABLE = [(method, re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)),
           operation) for method, path, operation in
          (line.split() for line in _ROUTES.strip().splitlines())]


def read_call(request: Request, path: str, me: Json) -> Call:
    """Raises ApiError for what is no request of the API."""
    for method, pattern, operation in _TABLE:
        found = pattern.fullmatch(path)
        if found and method == request.method:
            call = Call(operation, found.groupdict(), request.query, me=me)
            _read_body(call, request)
            return call
    raise ApiError(404, 0, "404: Not Found")


def _read_body(call: Call, request: Request) -> None:
    kind = request.headers.get("content-type", "")
    if not request.body:
        return
    if not kind.startswith("multipart/form-data"):
        if not kind.startswith("application/json"):
            raise ApiError(400, 50109, "The request body contains invalid "
                                       "JSON.")
        call.body = _parse(request.body)
        return
    form = BytesParser(policy=HTTP).parsebytes(
        b"content-type: " + kind.encode() + b"\r\n\r\n" + request.body)
    for part in form.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        if name == "payload_json":
            call.body = _parse(content)
        else:
            call.files[name] = content


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise ApiError(400, 50109, "The request body contains invalid JSON."
                       ) from None


# -- who the bot is

def get_my_user(world: World, call: Call) -> Json:
    return call.me


def get_my_application(world: World, call: Call) -> Json:
    return {"id": call.me["id"], "name": "claw", "description": "",
            "icon": None, "bot_public": True, "bot_require_code_grant": False,
            "verify_key": "0" * 64, "flags": 1 << 19, "owner": call.me,
            "rpc_origins": [], "team": None, "summary": ""}


def list_my_guilds(world: World, call: Call) -> list[Json]:
    return [{"id": number, "name": name, "icon": None, "owner": False,
             "permissions": "0", "features": []}
            for number, name in world.guilds.items()]


def create_dm(world: World, call: Call) -> Json:
    return world.open_dm(call.body["recipient_id"]).shown()


def list_application_commands(world: World, call: Call) -> list[Json]:
    return world.commands


def create_application_command(world: World, call: Call) -> Json:
    command = {"id": world.draw_id(), **call.body}
    world.commands = [c for c in world.commands
                      if c["name"] != command["name"]] + [command]
    return command


def bulk_set_application_commands(world: World, call: Call) -> list[Json]:
    world.commands = [{"id": world.draw_id(), "version": "1",
                       "application_id": call.me["id"],
                       "default_member_permissions": None, **command}
                      for command in call.body]
    return world.commands


def list_guild_roles(world: World, call: Call) -> Any:
    if call.path["guild"] not in world.guilds:
        raise ApiError(404, 10004, "Unknown Guild")
    return world.shown_guild(call.path["guild"])["roles"]


# -- messages

def get_channel(world: World, call: Call) -> Json:
    return world.room(call.path["chat"]).shown()


def list_messages(world: World, call: Call) -> list[Json]:
    query = parse_qs(call.query)
    limit = int(query.get("limit", ["50"])[0])
    if not 1 <= limit <= 100:
        raise ApiError(400, 50035, "Invalid Form Body")
    rows = list(world.room(call.path["chat"]).messages.values())
    if "after" in query:
        after = int(query["after"][0])
        rows = [row for row in rows if int(row["id"]) > after][:limit]
    elif "before" in query:
        before = int(query["before"][0])
        rows = [row for row in rows if int(row["id"]) < before][-limit:]
    hidden = () if world.shows_nonces else ("nonce",)
    return [{key: value for key, value in row.items()
             if key not in ("guild_id", "member", *hidden)}
            for row in reversed(rows[-limit:])]


def get_message(world: World, call: Call) -> Json:
    return world.message(call.path["chat"], call.path["message"])


def create_message(world: World, call: Call) -> Json:
    room = world.room(call.path["chat"])
    body = call.body or {}
    nonce = body.get("nonce")
    if nonce is not None and len(str(nonce)) > _NONCE_CHARS:
        raise ApiError(400, 50035, "Invalid Form Body: nonce is too long")
    if nonce is not None and body.get("enforce_nonce"):
        known = world.nonces.get((call.me["id"], str(nonce)))
        if known is not None and world.clock() - known[1] < world.nonce_s:
            return world.message(room.id, known[0])
    fields = _fields(world, room.id, call)
    message = world.add(room, call.me, fields)
    if room.guild_id is not None:
        message["guild_id"] = room.guild_id
    if nonce is not None:
        message["nonce"] = nonce
        world.nonces[call.me["id"], str(nonce)] = (message["id"],
                                                   world.clock())
    if call.me is not world.bot:
        return message
    flags = fields.get("flags", 0)
    world.sent[message["id"]] = Sent(
        message["id"], room.id, message["content"],
        bool(flags & SILENT), not flags & NO_EMBEDS, message,
        history=[message["content"]],
        file=next(iter(call.files.values()), None))
    return message


def _fields(world: World, chat: str, call: Call) -> Json:
    """What a body makes of a message. Raises ApiError."""
    body = call.body or {}
    content = (body.get("content") or "").strip()
    if len(content) > TEXT_CHARS:
        raise ApiError(400, 50035, "Invalid Form Body: content must be 2000 "
                                   "or fewer in length.")
    attachments = [_attach(world, chat, call, row)
                   for row in body.get("attachments") or ()]
    if not attachments and call.files:
        raise ApiError(400, 50035, "Invalid Form Body: files without "
                                   "attachments")
    if not (content or attachments or body.get("poll")
            or body.get("embeds")):
        raise ApiError(400, 50006, "Cannot send an empty message")
    flags = body.get("flags") or 0
    if flags & VOICE and (
            content or len(attachments) != 1
            or not attachments[0].get("waveform")
            or not attachments[0].get("duration_secs")):
        raise ApiError(400, 50160, "Voice messages must have one audio "
                                   "attachment and nothing else")
    found: Json = {"content": content, "flags": flags,
                   "attachments": attachments,
                   "components": body.get("components") or []}
    if body.get("poll"):
        found["poll"] = {
            **body["poll"], "layout_type": 1,
            "expiry": stamp(world.clock() + 86_400), "answers": [
                {**answer, "answer_id": number} for number, answer in
                enumerate(body["poll"]["answers"], 1)]}
    if body.get("message_reference"):
        number = str(body["message_reference"]["message_id"])
        found |= {"type": 19, "message_reference": {
            "type": 0, "message_id": number, "channel_id": chat},
            "referenced_message": world.message(chat, number)}
    return found


def _attach(world: World, chat: str, call: Call, row: Json) -> Json:
    content = call.files.get(f"files[{row['id']}]")
    if content is None:
        raise ApiError(400, 50146, "Uploaded file not found.")
    if len(content) > UPLOAD_BYTES:
        raise ApiError(413, 40005, "Request entity too large")
    return world_file(world, chat, content, row.get("filename") or "file",
                      **{key: row[key] for key in (
                          "duration_secs", "waveform") if key in row})


def world_file(world: World, chat: str, content: bytes, name: str,
               **more: Any) -> Json:
    """A file on the CDN, as an attachment without its address's host."""
    number = world.draw_id()
    path = f"/attachments/{chat}/{number}/{name}"
    world.files[path] = content
    url = f"{world.cdn}{path}?ex=1&is=2&hm=0123456789abcdef"
    return {"id": number, "filename": name, "size": len(content),
            "url": url, "proxy_url": url, **more}


def update_message(world: World, call: Call) -> Json:
    message = world.message(call.path["chat"], call.path["message"])
    if message["author"]["id"] != call.me["id"]:
        raise ApiError(403, 50005, "Cannot edit a message authored by "
                                   "another user")
    body = call.body or {}
    if len(body.get("content") or "") > TEXT_CHARS:
        raise ApiError(400, 50035, "Invalid Form Body")
    message.update({key: body[key] for key in (
        "content", "flags", "components") if key in body})
    if "content" in body:
        message["edited_timestamp"] = stamp(world.clock())
    sent = world.sent.get(message["id"])
    if sent is not None and "content" in body:
        sent.text = body["content"]
        sent.history.append(body["content"])
        sent.previews |= not message["flags"] & NO_EMBEDS
    return message


def delete_message(world: World, call: Call) -> None:
    message = world.message(call.path["chat"], call.path["message"])
    del world.room(call.path["chat"]).messages[message["id"]]
    if message["id"] in world.sent:
        world.sent[message["id"]].deleted = True


# -- signs

def trigger_typing_indicator(world: World, call: Call) -> None:
    world.typing.append(world.room(call.path["chat"]).id)


def add_my_message_reaction(world: World, call: Call) -> None:
    message = world.message(call.path["chat"], call.path["message"])
    if call.path["emoji"].isascii() and ":" not in call.path["emoji"]:
        raise ApiError(400, 10014, "Unknown Emoji")
    signs = world.reactions.setdefault(message["id"], [])
    if call.path["emoji"] not in signs:
        signs.append(call.path["emoji"])


def delete_my_message_reaction(world: World, call: Call) -> None:
    message = world.message(call.path["chat"], call.path["message"])
    signs = world.reactions.get(message["id"], [])
    if call.path["emoji"] in signs:
        signs.remove(call.path["emoji"])


def create_interaction_response(world: World, call: Call) -> None:
    key = f"{call.path['interaction']}/{call.path['token']}"
    if key not in world.interactions:
        raise ApiError(404, 10062, "Unknown interaction")
    if world.interactions[key] is not None:
        raise ApiError(400, 40060, "Interaction has already been "
                                   "acknowledged.")
    world.interactions[key] = call.body


OPERATIONS: dict[str, Operation] = {
    work.__name__: work for work in (
        get_my_user, get_my_application, list_my_guilds, create_dm,
        list_application_commands, create_application_command,
        bulk_set_application_commands, list_guild_roles, get_channel,
        list_messages, get_message, create_message, update_message,
        delete_message, trigger_typing_indicator, add_my_message_reaction,
        delete_my_message_reaction, create_interaction_response)}
OPERATIONS["get_my_oauth2_application"] = get_my_application
