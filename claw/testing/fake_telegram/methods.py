"""The methods of the Bot API that the fake knows, one function each.

A method takes the world and the parameters and gives the `result`, or
raises ApiError. Source: core.telegram.org/bots/api, and the error texts
that bots meet in the wild.
"""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from claw.testing.fake_telegram.drafts import THINKING, ShownDraft
from claw.testing.fake_telegram.errors import bad
from claw.testing.fake_telegram.media import MEDIA, media_fields
from claw.testing.fake_telegram.model import Json, Sent, World
from claw.testing.fake_telegram.params import Params
from claw.testing.fake_telegram.text import (
    Entity,
    from_html,
    is_blank,
    shown,
    units,
)

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
FILE_LIMIT = 20 * 1024 * 1024

# The emoji that ReactionTypeEmoji lists (Bot API 10.1).
_EMOJI = (
    "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 "
    "❤\u200d🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 "
    "👨\u200d💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 "
    "💊 🙊 😎 👾 🤷\u200d♂ 🤷 🤷\u200d♀ 😡")
REACTIONS = frozenset(_EMOJI.split())

ACTIONS = {"typing", "upload_photo", "record_video", "upload_video",
           "record_voice", "upload_voice", "upload_document",
           "choose_sticker", "find_location", "record_video_note",
           "upload_video_note"}

Method = Callable[[World, Params], Any]


def get_me(world: World, params: Params) -> Json:
    return {**world.bot, "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
            "can_connect_to_business": False, "has_main_web_app": False}


def get_chat(world: World, params: Params) -> Json:
    return {**find_chat(world, params), "accent_color_id": 0,
            "max_reaction_count": 11, "accepted_gift_types": {
                "unlimited_gifts": False, "limited_gifts": False,
                "unique_gifts": False, "premium_subscription": False,
                "gifts_from_channels": False}}


def send_message(world: World, params: Params) -> Json:
    chat = find_chat(world, params)
    text, entities = read_text(params, "text")
    if is_blank(text):
        raise bad("message text is empty")
    if units(text) > TEXT_LIMIT:
        raise bad("message is too long")
    return post(world, chat, params, "sendMessage", text, entities, {})


def send_message_draft(world: World, params: Params) -> bool:
    chat = find_chat(world, params)
    if chat["type"] != "private":
        raise bad("drafts can be sent to private chats only")
    draft_id = params.integer("draft_id")
    if not draft_id:
        raise bad("draft identifier must be non-zero")
    text, entities = read_text(params, "text")
    if units(text) > TEXT_LIMIT:
        raise bad("message is too long")
    world.drafts.show(ShownDraft(
        chat["id"], read_thread(world, chat["id"], params), draft_id,
        text or THINKING, tuple(entities), world.drafts.clock()))
    return True


def send_media(method: str) -> Method:
    """sendPhoto and its like."""
    def send(world: World, params: Params) -> Json:
        chat = find_chat(world, params)
        text, entities = read_text(params, "caption")
        if units(text) > CAPTION_LIMIT:
            raise bad("message caption is too long")
        fields = media_fields(world, params, method)
        return post(world, chat, params, method, text, entities, fields)
    return send


def send_poll(world: World, params: Params) -> Json:
    chat = find_chat(world, params)
    question = params.text("question") or ""
    options = params.structure("options")
    if not 1 <= len(question) <= 300:
        raise bad("question must be non-empty" if not question
                  else "poll question length must not exceed 300")
    if not isinstance(options, list) or not 2 <= len(options) <= 12:
        raise bad("poll must have at least 2 option")
    texts = [option.get("text") if isinstance(option, dict) else None
             for option in options]
    if not all(isinstance(text, str) and 1 <= len(text) <= 100
               for text in texts):
        raise bad("poll options must be non-empty")
    return post(world, chat, params, "sendPoll", "", [], {"poll": {
        "id": str(len(world.messages) + 1), "question": question,
        "options": [{"text": text, "voter_count": 0} for text in texts],
        "total_voter_count": 0, "is_closed": False, "is_anonymous": True,
        "type": "regular", "allows_multiple_answers": False}})


def edit_message_text(world: World, params: Params) -> Json:
    key = own_message(world, params, "edit")
    text, entities = read_text(params, "text")
    if is_blank(text):
        raise bad("message text is empty")
    if "text" not in world.messages[key]:
        raise bad("there is no text in the message to edit")
    if units(text) > TEXT_LIMIT:
        raise bad("MESSAGE_TOO_LONG")
    markup = read_markup(params)
    sent = world.sent[key]
    if (text, tuple(entities), markup) == (sent.text, sent.entities,
                                           sent.reply_markup):
        raise bad(_SAME)
    world.sent[key] = replace(
        sent, text=text, entities=tuple(entities), reply_markup=markup,
        edits=sent.edits + 1, history=(*sent.history, text))
    return _edited(world, key)


def edit_message_reply_markup(world: World, params: Params) -> Json:
    key = own_message(world, params, "edit")
    markup = read_markup(params)
    sent = world.sent[key]
    if markup == sent.reply_markup:
        raise bad(_SAME)
    world.sent[key] = replace(sent, reply_markup=markup)
    return _edited(world, key)


def delete_message(world: World, params: Params) -> bool:
    chat = find_chat(world, params)
    key = chat["id"], read_message_id(params)
    if key not in world.messages:
        raise bad("message to delete not found")
    world.forget(*key)
    return True


def send_chat_action(world: World, params: Params) -> bool:
    find_chat(world, params)
    if params.text("action") not in ACTIONS:
        raise bad("wrong parameter action in request")
    return True


def set_message_reaction(world: World, params: Params) -> bool:
    chat = find_chat(world, params)
    key = chat["id"], read_message_id(params)
    if key not in world.messages:
        raise bad("message to react not found")
    wanted = params.structure("reaction") or []
    if not isinstance(wanted, list) \
            or not all(isinstance(r, dict) for r in wanted):
        raise bad("can't parse ReactionType: expected an Array")
    if any(r.get("type") != "emoji" or r.get("emoji") not in REACTIONS
           for r in wanted):
        raise bad("REACTION_INVALID")
    if len(wanted) > 1:
        raise bad("REACTIONS_TOO_MANY")
    world.reactions[key] = [r["emoji"] for r in wanted]
    return True


def answer_callback_query(world: World, params: Params) -> bool:
    name = params.text("callback_query_id") or ""
    if name not in world.queries:
        raise bad("query is too old and response timeout expired or query "
                  "ID is invalid")
    if len(params.text("text") or "") > 200:
        raise bad("MESSAGE_TOO_LONG")
    world.queries[name] = dict(params)
    return True


def get_file(world: World, params: Params) -> Json:
    stored = world.files.get(params.text("file_id") or "")
    if stored is None:
        raise bad("wrong file_id or the file is temporarily unavailable")
    if len(stored.data) > FILE_LIMIT:
        raise bad("file is too big")
    return stored.shape()


def set_my_commands(world: World, params: Params) -> bool:
    commands = params.structure("commands")
    if not isinstance(commands, list):
        raise bad("can't parse commands: expected an Array")
    for command in commands:
        if not (1 <= len(command.get("command", "")) <= 32):
            raise bad("BOT_COMMAND_INVALID")
        if not command.get("description"):
            raise bad("command description must be non-empty")
    world.commands = commands
    return True


def get_my_commands(world: World, params: Params) -> list[Json]:
    return world.commands


_SAME = ("message is not modified: specified new message content and reply "
         "markup are exactly the same as a current content and reply markup "
         "of the message")


def find_chat(world: World, params: Params) -> Json:
    """The chat that a call is about; only those the bot has met."""
    given = params.get("chat_id")
    if given is None or given == "":
        raise bad("chat_id is empty")
    try:
        chat_id = int(given) if isinstance(given, int | str) else 0
    except ValueError:
        chat_id = 0
    if chat_id not in world.chats:
        raise bad("chat not found")
    return world.chats[chat_id]


def read_message_id(params: Params) -> int:
    found = params.integer("message_id")
    if not found:
        raise bad("message identifier is not specified")
    return found


def own_message(world: World, params: Params, verb: str) -> tuple[int, int]:
    """The key of a message that the bot may change."""
    key = find_chat(world, params)["id"], read_message_id(params)
    if key not in world.messages:
        raise bad(f"message to {verb} not found")
    if key not in world.sent:
        raise bad(f"message can't be {verb}ed")
    return key


def read_text(params: Params, name: str) -> tuple[str, list[Entity]]:
    """A text or caption with its entities, as people will see it."""
    text = params.text(name) or ""
    entities = params.structure(
        "entities" if name == "text" else "caption_entities")
    mode = (params.text("parse_mode") or "").lower()
    if mode == "html":
        text, entities = from_html(text)
    elif mode not in ("", "markdown", "markdownv2"):
        raise bad("unsupported parse_mode")
    return shown(text, entities)


def read_markup(params: Params) -> Json | None:
    """The keyboard of a message."""
    markup = params.structure("reply_markup")
    if not markup:
        return None
    if not isinstance(markup, dict):
        raise bad("object expected as reply markup")
    rows = markup.get("inline_keyboard")
    if rows is None:
        return markup
    if not isinstance(rows, list) or not all(isinstance(r, list)
                                             for r in rows):
        raise bad("field \"inline_keyboard\" of the InlineKeyboardMarkup "
                  "must be an Array of Arrays")
    for button in (b for row in rows for b in row):
        _check_button(button)
    return markup if any(rows) else None


def _check_button(button: Any) -> None:
    if not isinstance(button, dict) or not button.get("text"):
        raise bad("can't parse inline keyboard button: Can't find field "
                  "\"text\"")
    if len(button) < 2:
        raise bad("can't parse inline keyboard button: Text buttons are "
                  "unallowed in the inline keyboard")
    data = button.get("callback_data")
    if data is not None and not 1 <= len(data.encode()) <= 64:
        raise bad("BUTTON_DATA_INVALID")


def post(world: World, chat: Json, params: Params, method: str, text: str,
         entities: list[Entity], fields: Json) -> Json:
    """Put a message of the bot into a chat."""
    chat_id = chat["id"]
    thread = read_thread(world, chat_id, params)
    reply_to = _replied(world, chat_id, params)
    markup = read_markup(params)
    message: Json = {"from": world.bot, **fields}
    if thread:
        message |= {"message_thread_id": thread, "is_topic_message": True}
    if reply_to:
        replied = dict(world.messages[chat_id, reply_to])
        replied.pop("reply_to_message", None)
        message["reply_to_message"] = replied
    message = world.new_message(chat_id, message)
    key = chat_id, message["message_id"]
    world.sent[key] = Sent(
        message["message_id"], chat_id, thread, text,
        tuple(entities), reply_markup=markup, method=method,
        at=time.monotonic(), reply_to=reply_to, history=(text,),
        file_id=_file_id(fields), silent=params.flag("disable_notification"))
    world.drafts.end(chat_id)
    return _dressed(world, key)


def read_thread(world: World, chat_id: int, params: Params) -> int | None:
    """The topic that a call is about; in a private chat a known one."""
    thread = params.integer("message_thread_id") or None
    if thread and chat_id > 0 and (chat_id, thread) not in world.threads:
        raise bad("message thread not found")
    return thread


def _file_id(fields: Json) -> str | None:
    for value in fields.values():
        last = value[-1] if isinstance(value, list) and value else value
        if isinstance(last, dict) and "file_id" in last:
            return str(last["file_id"])
    return None


def _replied(world: World, chat_id: int, params: Params) -> int | None:
    wanted = params.structure("reply_parameters") or {}
    if not isinstance(wanted, dict):
        raise bad("object expected as reply parameters")
    found = wanted.get("message_id") or params.integer("reply_to_message_id")
    if not found:
        return None
    if (chat_id, found) in world.messages:
        return int(found)
    if wanted.get("allow_sending_without_reply") \
            or params.flag("allow_sending_without_reply"):
        return None
    raise bad("message to be replied not found")


def _edited(world: World, key: tuple[int, int]) -> Json:
    world.messages[key]["edit_date"] = int(time.time())
    return _dressed(world, key)


def _dressed(world: World, key: tuple[int, int]) -> Json:
    """Write what a message shows into its Message object."""
    message, sent = world.messages[key], world.sent[key]
    name = "text" if sent.file_id is None else "caption"
    kind = "entities" if name == "text" else "caption_entities"
    for field, value in ((name, sent.text), (kind, list(sent.entities)),
                         ("reply_markup", sent.reply_markup)):
        if value:
            message[field] = value
        else:
            message.pop(field, None)
    return message


def encoded(result: Any) -> bytes:
    """An answer with `ok` true."""
    return b'{"ok":true,"result":%s}' % json.dumps(result).encode()


METHODS: dict[str, Method] = {
    "getMe": get_me, "getChat": get_chat, "sendMessage": send_message,
    "sendPoll": send_poll,
    "editMessageText": edit_message_text,
    "editMessageReplyMarkup": edit_message_reply_markup,
    "deleteMessage": delete_message, "sendChatAction": send_chat_action,
    "setMessageReaction": set_message_reaction,
    "answerCallbackQuery": answer_callback_query, "getFile": get_file,
    "sendMessageDraft": send_message_draft,
    "setMyCommands": set_my_commands, "getMyCommands": get_my_commands,
    **{method: send_media(method) for method in MEDIA},
}
