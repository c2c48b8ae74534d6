"""The methods of the Web API that the fake knows, one function each.

A method takes the world and the parameters and gives the answer without
"ok", or raises ApiError. Source: docs.slack.dev/reference/methods.
"""

from collections.abc import Callable
from typing import Any

from claw.testing.fake_slack.world import ApiError, Json, Upload, World

TEXT_CHARS = 40_000
Method = Callable[[World, Json], Json]


def auth_test(world: World, params: Json) -> Json:
    return {"url": "https://fake.slack.com/", "team": "Fake",
            "team_id": "T1", "user": world.bot["name"],
            "user_id": world.bot["user_id"], "bot_id": world.bot["bot_id"]}


def users_info(world: World, params: Json) -> Json:
    person = world.people.get(params.get("user", ""))
    if person is None:
        raise ApiError("user_not_found")
    return {"user": person}


def _place(world: World, params: Json) -> str:
    channel = str(params.get("channel") or "")
    if channel.startswith(("U", "W")) and channel in world.people:
        return str(conversations_open(
            world, {"users": channel})["channel"]["id"])
    if channel not in world.channels:
        raise ApiError("channel_not_found")
    found = world.channels[channel]
    if not found.get("is_im") and not found.get("is_member"):
        raise ApiError("not_in_channel")
    return channel


def conversations_open(world: World, params: Json) -> Json:
    user = str(params.get("users") or "")
    if user not in world.people:
        raise ApiError("user_not_found")
    return {"channel": {"id": world.channel("D" + user[1:])["id"]}}


def conversations_list(world: World, params: Json) -> Json:
    return _page(sorted(world.channels.values(), key=lambda c: c["id"]),
                 params, "channels")


def conversations_history(world: World, params: Json) -> Json:
    channel = _place(world, params)
    found = [m for m in world.messages[channel] if _is_top(m)]
    return _page([_shown(world, m, params) for m in reversed(
        _within(found, params))], params, "messages")


def conversations_replies(world: World, params: Json) -> Json:
    channel = _place(world, params)
    named = world.find(channel, str(params.get("ts") or ""))
    if named is None:
        raise ApiError("thread_not_found")
    root = named.get("thread_ts") or named["ts"]
    found = [m for m in world.messages[channel]
             if m["ts"] == root or m.get("thread_ts") == root]
    kept = _within(found, params)
    first = [m for m in found if m["ts"] == root and m not in kept]
    return _page([_shown(world, m, params) for m in (*first, *kept)],
                 params, "messages")


def _is_top(message: Json) -> bool:
    return (message.get("thread_ts", message["ts"]) == message["ts"]
            or message.get("subtype") == "thread_broadcast")


def _within(messages: list[Json], params: Json) -> list[Json]:
    oldest, latest = (float(params.get(key) or default) for key, default in (
        ("oldest", 0), ("latest", 1e12)))
    inclusive = params.get("inclusive") in (True, "true", "1", 1)
    return [m for m in messages if oldest < float(m["ts"]) < latest
            or (inclusive and float(m["ts"]) in (oldest, latest))]


def _shown(world: World, message: Json, params: Json) -> Json:
    asked = params.get("include_all_metadata") in (True, "true", "1", 1)
    drop = () if asked and world.keeps_metadata else ("metadata",)
    return {k: v for k, v in message.items()
            if k not in (*drop, "unfurl", "history")}


def _page(rows: list[Json], params: Json, name: str) -> Json:
    start = int(params.get("cursor") or 0)
    end = start + min(int(params.get("limit") or 100), 1_000)
    more = end < len(rows)
    return {name: rows[start:end], "has_more": more,
            "response_metadata": {"next_cursor": str(end) if more else ""}}


def chat_post_message(world: World, params: Json) -> Json:
    channel = _place(world, params)
    text, blocks = str(params.get("text") or ""), params.get("blocks")
    if not text and not blocks:
        raise ApiError("no_text")
    if len(text) > TEXT_CHARS:
        raise ApiError("msg_too_long")
    check_blocks(blocks)
    thread = params.get("thread_ts")
    if thread and world.find(channel, str(thread)) is None:
        raise ApiError("thread_not_found")
    message = world.add(channel, {
        "user": world.bot["user_id"], "bot_id": world.bot["bot_id"],
        "text": text, "history": [show(text, blocks)],
        "unfurl": params.get("unfurl_links") is not False
        or params.get("unfurl_media") is not False,
        **{key: params[key] for key in ("blocks", "thread_ts", "metadata")
           if params.get(key)}})
    return {"channel": channel, "ts": message["ts"], "message": message}


def chat_update(world: World, params: Json) -> Json:
    channel = _place(world, params)
    message = world.find(channel, str(params.get("ts") or ""))
    if message is None:
        raise ApiError("message_not_found")
    if message["user"] != world.bot["user_id"]:
        raise ApiError("cant_update_message")
    check_blocks(params.get("blocks"))
    message.update({key: params[key] for key in ("text", "blocks")
                    if params.get(key) is not None})
    message["edited"] = {"user": message["user"], "ts": world.next_ts()}
    message["history"].append(show(message["text"], message.get("blocks")))
    world.updated.append(message)
    return {"channel": channel, "ts": message["ts"], "text": message["text"]}


def chat_post_ephemeral(world: World, params: Json) -> Json:
    _place(world, params)
    return {"message_ts": world.next_ts()}


def reactions_add(world: World, params: Json) -> Json:
    found = _reactions(world, params)
    if params["name"] in found:
        raise ApiError("already_reacted")
    found.append(str(params["name"]))
    return {}


def reactions_remove(world: World, params: Json) -> Json:
    found = _reactions(world, params)
    if params["name"] not in found:
        raise ApiError("no_reaction")
    found.remove(str(params["name"]))
    return {}


def _reactions(world: World, params: Json) -> list[str]:
    channel, ts = _place(world, params), str(params.get("timestamp"))
    if world.find(channel, ts) is None:
        raise ApiError("message_not_found")
    return world.reactions.setdefault((channel, ts), [])


def set_status(world: World, params: Json) -> Json:
    world.statuses.append(params)
    return {}


def get_upload_url(world: World, params: Json) -> Json:
    if not params.get("filename") or int(params.get("length") or 0) < 1:
        raise ApiError("invalid_arguments")
    upload = Upload(world.number("F"), params["filename"],
                    int(params["length"]))
    world.uploads[upload.file_id] = upload
    return {"upload_url": f"{world.bot['url']}/upload/{upload.file_id}",
            "file_id": upload.file_id}


def complete_upload(world: World, params: Json) -> Json:
    files = params.get("files")
    uploads = [world.uploads.get(str(one.get("id"))) for one in files] \
        if isinstance(files, list) else []
    found = [u for u in uploads if u is not None and u.content is not None
             and not u.done]
    if not found or len(found) < len(uploads):
        raise ApiError("file_not_found")
    channel = _place(world, {"channel": params.get("channel_id")})
    posted: list[Json] = []
    for upload in found:
        upload.done = True
        assert upload.content is not None
        world.contents[upload.file_id] = upload.content
        posted.append({
            "id": upload.file_id, "name": upload.name, "title": upload.name,
            "size": upload.length, "shares": {}})
    message = world.add(channel, {
        "user": world.bot["user_id"], "bot_id": world.bot["bot_id"],
        "text": params.get("initial_comment") or "", "files": posted,
        "subtype": "file_share", "history": [], **(
            {"thread_ts": params["thread_ts"]}
            if params.get("thread_ts") else {})})
    for file in posted:
        world.files[file["id"]] = {**file, "shares": {"private": {
            channel: [{"ts": message["ts"]}]}}}
    return {"files": posted}


def files_info(world: World, params: Json) -> Json:
    file = world.files.get(str(params.get("file")))
    if file is None:
        raise ApiError("file_not_found")
    return {"file": file}


METHODS: dict[str, Method] = {
    "auth.test": auth_test, "users.info": users_info,
    "conversations.open": conversations_open,
    "conversations.list": conversations_list,
    "conversations.history": conversations_history,
    "conversations.replies": conversations_replies,
    "chat.postMessage": chat_post_message, "chat.update": chat_update,
    "chat.postEphemeral": chat_post_ephemeral,
    "reactions.add": reactions_add, "reactions.remove": reactions_remove,
    "assistant.threads.setStatus": set_status,
    "files.getUploadURLExternal": get_upload_url,
    "files.completeUploadExternal": complete_upload,
    "files.info": files_info,
}

# -- blocks

_OUTER = ("rich_text_section", "rich_text_preformatted", "rich_text_quote")


def check_blocks(blocks: Any) -> None:
    """Raises ApiError for what Slack would not take."""
    if blocks is None:
        return
    if not isinstance(blocks, list) or len(blocks) > 50:
        raise ApiError("invalid_blocks")
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "rich_text":
            good = bool(block["elements"]) and all(
                outer["type"] in _OUTER and outer["elements"]
                and all(map(_is_inline, outer["elements"]))
                for outer in block["elements"])
        elif kind == "actions":
            good = 1 <= len(block["elements"]) <= 25 and all(
                1 <= len(e["text"]["text"]) <= 75
                and 1 <= len(e["value"]) <= 2000 and e["action_id"]
                for e in block["elements"])
        else:
            good = kind == "section" and 1 <= len(
                block["text"]["text"]) <= 3000
        if not good:
            raise ApiError("invalid_blocks")


def _is_inline(element: Json) -> bool:
    if element["type"] == "link":
        return bool(element["url"].startswith(("http://", "https://")))
    return bool(element["type"] == "text" and element["text"])


def show(text: str, blocks: Any) -> str:
    """What people read: the blocks; without any the text."""
    outers = [outer for block in blocks or () if block["type"] == "rich_text"
              for outer in block["elements"]]
    if not outers:
        return text.replace("&lt;", "<").replace("&gt;", ">").replace(
            "&amp;", "&")
    return "\n".join("".join(e["text"] for e in outer["elements"])
                     for outer in outers)
