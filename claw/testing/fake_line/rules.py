"""What LINE would not have of a message.

Source: developers.line.biz/en/reference/messaging-api, message objects.
"""

import re
from typing import Any

Json = dict[str, Any]

CHAT = re.compile(r"[UCR][0-9a-f]{32}", re.ASCII)
KEY = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_KEYS = {"text": {"text", "quoteToken", "quickReply"},
         "image": {"originalContentUrl", "previewImageUrl", "quickReply"},
         "template": {"altText", "template", "quickReply"}}


def judge(messages: Any) -> str | None:
    """Why messages are refused; None for good ones."""
    if not isinstance(messages, list) or not 1 <= len(messages) <= 5:
        return "messages: size must be between 1 and 5"
    return next(filter(None, map(_judge, messages)), None)


def _judge(message: Any) -> str | None:
    kind = message.get("type") if isinstance(message, dict) else None
    if kind not in _KEYS:
        return f"no such type: {kind}"
    if unknown := set(message) - {"type"} - _KEYS[kind]:
        return f"unknown keys: {sorted(unknown)}"
    items = message.get("quickReply", {}).get("items", [])
    if len(items) > 13:
        return "quickReply: more than 13 items"
    return next(filter(None, (_judge_action(item["action"])
                              for item in items)), None) \
        or _RULES[kind](message)


def _judge_text(message: Json) -> str | None:
    text = message.get("text")
    if not isinstance(text, str) or not text.strip():
        return "text: may not be empty"
    if len(text.encode("utf-16-le")) > 10_000:
        return "text: longer than 5000"
    return None


def _judge_image(message: Json) -> str | None:
    for key in ("originalContentUrl", "previewImageUrl"):
        url = message.get(key)
        if not isinstance(url, str) or not url.startswith("https://") \
                or len(url) > 2000:
            return f"{key}: invalid uri"
    return None


def _judge_template(message: Json) -> str | None:
    template, alt = message.get("template"), message.get("altText")
    if not isinstance(alt, str) or not 1 <= len(alt) <= 400:
        return "altText: 1 to 400"
    if not isinstance(template, dict) or template.get("type") != "buttons":
        return "template: buttons alone"
    if not 1 <= len(template.get("text", "")) <= 160:
        return "template.text: 1 to 160"
    actions = template.get("actions")
    if not isinstance(actions, list) or not 1 <= len(actions) <= 4:
        return "template.actions: 1 to 4"
    return next(filter(None, map(_judge_action, actions)), None)


def _judge_action(action: Json) -> str | None:
    bounds = {"label": 20, "data": 300, "displayText": 300}
    if action.get("type") != "postback" or set(action) != {"type", *bounds}:
        return f"no such action: {action}"
    return next((f"{key}: 1 to {most}" for key, most in bounds.items()
                 if not 1 <= len(action[key]) <= most), None)


_RULES = {"text": _judge_text, "image": _judge_image,
          "template": _judge_template}
