"""Slack's markup as text for the model. Pure.

Slack escapes &, < and > in what people write, so whatever stands between <
and > is a mention, a channel or a link.
Source: docs.slack.dev/messaging/formatting-message-text.
"""

import re
from collections.abc import Mapping
from typing import Any

_TOKEN = re.compile(r"<([^<>]*)>")
_PERSON = re.compile(r"<@([UWB][A-Z0-9]{1,30})(?:\|[^<>]*)?>")
_MOST_NESTED = 20


def find_people(text: str) -> list[str]:
    """The ids that a text mentions, each once."""
    return list(dict.fromkeys(_PERSON.findall(text)))


def mentions(text: str, user_id: str) -> bool:
    return bool(user_id) and user_id in find_people(text)


def strip_mention(text: str, user_id: str) -> str:
    """The text without the mentions of somebody."""
    if not mentions(text, user_id):
        return text
    name = re.compile(rf"[ \t]*<@{re.escape(user_id)}(?:\|[^<>]*)?>[ \t]*")
    return name.sub(" ", text).strip()


def decode(text: str, names: Mapping[str, str]) -> str:
    """What a person reads; `names` are those of the ids that are known."""
    parts, at = [], 0
    for token in _TOKEN.finditer(text):
        parts += [_unescape(text[at:token.start()]),
                  _read_token(token[1], names)]
        at = token.end()
    return "".join([*parts, _unescape(text[at:])])


def escape(text: str) -> str:
    """Text that Slack shows as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(
        ">", "&gt;")


def _unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace(
        "&amp;", "&")


def _read_token(token: str, names: Mapping[str, str]) -> str:
    target, _, label = map(_unescape, token.partition("|"))
    if target[:1] == "@":
        known = names.get(target[1:]) or label or target[1:]
        return "@" + known.removeprefix("@")
    if target[:1] == "#":
        return "#" + (label or target[1:]).removeprefix("#")
    if target[:1] == "!":
        kind, _, rest = target[1:].partition("^")
        return label if label and kind in ("date", "subteam") \
            else "@" + (label or kind or rest).removeprefix("@")
    bare = target.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in (target, bare) or bare.endswith("//" + label):
        return bare
    return f"{label} ({bare})"


def read_blocks(blocks: Any) -> str:
    """All texts in a message's blocks, a line each, for one that has no
    text of its own."""
    lines: list[str] = []
    _collect(blocks, lines, 0)
    return "\n".join(line for line in lines if line.strip())


def _collect(value: Any, lines: list[str], depth: int) -> None:
    if depth > _MOST_NESTED:
        return
    if isinstance(value, list):
        for item in value:
            _collect(item, lines, depth + 1)
    elif isinstance(value, dict):
        if value.get("type") == "rich_text_section":
            lines.append(_line(value.get("elements")))
            return
        text = value.get("text")
        if isinstance(text, str):
            lines.append(text)
        for inner in value.values():
            if isinstance(inner, list | dict):
                _collect(inner, lines, depth + 1)


def _line(elements: Any) -> str:
    """A line of rich text, in the markup of `decode`."""
    found = []
    for element in elements if isinstance(elements, list) else ():
        if not isinstance(element, dict):
            continue
        kind = element.get("type")
        if kind == "user":
            found.append(f"<@{element.get('user_id')}>")
        elif kind == "channel":
            found.append(f"<#{element.get('channel_id')}>")
        elif kind == "emoji":
            found.append(f":{element.get('name')}:")
        else:
            text = element.get("text") or element.get("url")
            found.append(escape(text) if isinstance(text, str) else "")
    return "".join(found)
