"""What a tenant holds: people, chats, messages and files."""

import html
import itertools
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
APP_ID = "cli_fake"
BOT = "ou_bot"
ALICE, PRIVATE = "ou_1001", "oc_1001"


class ApiError(Exception):
    """A refusal: its code, and the HTTP status that it comes with."""

    def __init__(self, code: int, msg: str, status: int = 400) -> None:
        super().__init__(msg)
        self.code = code
        self.msg = msg
        self.status = status


@dataclass
class World:
    """A tenant. `clock` gives its time in seconds; `shows_cards` whether a
    history shows cards as they were sent."""

    clock: Any = time.time
    shows_cards: bool = True
    key_s: float = 3600.0
    people: dict[str, str] = field(default_factory=dict)
    groups: dict[str, bool] = field(default_factory=dict)  # chat -> group?
    messages: list[Json] = field(default_factory=list)
    keys: dict[str, tuple[float, Json]] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    reactions: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    toasts: list[Json] = field(default_factory=list)
    _last: int = 0
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def number(self, letter: str) -> str:
        return f"{letter}_{next(self._numbers):08d}"

    def chat(self, chat: str) -> bool:
        """Make it where it is not there; whether it is a group."""
        return self.groups.setdefault(chat, not chat.startswith("oc_1"))

    def find(self, message_id: str) -> Json:
        for message in self.messages:
            if message["message_id"] == message_id:
                return message
        raise ApiError(230001, "invalid message_id")

    def add(self, chat: str, sender: Json, kind: str, content: Any,
            **fields: Any) -> Json:
        """A message, as the history shows it."""
        self.chat(chat)
        self._last = max(int(self.clock() * 1000), self._last + 1)
        message = {
            "message_id": self.number("om"), "chat_id": chat,
            "msg_type": kind, "create_time": str(self._last),
            "update_time": str(self._last), "deleted": False,
            "updated": False, "sender": sender,
            "body": {"content": content if isinstance(content, str)
                     else json.dumps(content)}, **fields}
        self.messages.append(message)
        return message

    def show_row(self, message: Json) -> Json:
        """A message as it is listed."""
        row = {k: v for k, v in message.items() if k != "history"}
        if row["msg_type"] == "interactive" and not self.shows_cards:
            row["body"] = {"content": json.dumps({"title": None, "elements": [
                [{"tag": "text", "text": show(message)}]]})}
        return row


def check_card(content: str) -> None:
    """Raises ApiError for a card that the platform would not have."""
    if len(content.encode()) > 30 * 1024:
        raise ApiError(230025, "The length of the message content reaches "
                               "its limit.")
    card = json.loads(content)
    elements = card["body"]["elements"]
    good = card["schema"] == "2.0" and elements
    for element in elements:
        name = element.get("element_id")
        if name is not None and not re.fullmatch(
                r"[A-Za-z][A-Za-z0-9_]{0,19}", name):
            good = False
        if element["tag"] == "markdown":
            good = good and element["content"]
        elif element["tag"] == "div":
            good = good and element["text"]["tag"] == "plain_text"
        elif element["tag"] == "column_set":
            for column in element["columns"]:
                button = column["elements"][0]
                good = good and button["tag"] == "button" \
                    and button["text"]["content"] \
                    and button["behaviors"][0]["type"] == "callback"
        else:
            good = False
    if not good:
        raise ApiError(230099, "Failed to create card content")


def show(message: Json) -> str:
    """What people read of a message of ours."""
    content = json.loads(message["body"]["content"])
    if message["msg_type"] != "interactive":
        return str(content.get("text") or "")
    return "\n".join(_show_element(element)
                     for element in content["body"]["elements"]
                     if element["tag"] in ("markdown", "div"))


_CODE = re.compile(r"(```+)[^\n`]*\n(.*?)\n\1|(`+)(.+?)(?<!`)\3(?!`)", re.S)


def _show_element(element: Json) -> str:
    if element["tag"] == "div":
        return str(element["text"]["content"])
    text, found, at = str(element["content"]), [], 0
    for code in _CODE.finditer(text):
        found += [_plain(text[at:code.start()]), code[2] or code[4]]
        at = code.end()
    return "".join([*found, _plain(text[at:])])


def _plain(markdown: str) -> str:
    markdown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    return html.unescape(re.sub(r"\*\*|~~|\*", "", markdown))


def buttons(message: Json) -> list[tuple[str, str]]:
    """Labels and actions of the buttons under a message."""
    content = json.loads(message["body"]["content"])
    return [(button["text"]["content"],
             button["behaviors"][0]["value"]["claw"])
            for element in content.get("body", {}).get("elements", ())
            if element["tag"] == "column_set"
            for column in element["columns"]
            for button in column["elements"]]
