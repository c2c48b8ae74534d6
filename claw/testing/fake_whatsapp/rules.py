"""What the Cloud API would not have of a message.

Source: developers.facebook.com/documentation/business-messaging/whatsapp,
message types and their limits.
"""

from typing import Any

Json = dict[str, Any]

KEYS = {"messaging_product", "recipient_type", "to", "recipient", "type",
        "context", "biz_opaque_callback_data"}
MEDIA = ("image", "audio", "video", "document")


def judge(body: Json, media: set[str]) -> str | None:
    """Why a message is refused; None for a good one."""
    kind = body.get("type")
    if body.get("messaging_product") != "whatsapp":
        return "messaging_product must be whatsapp"
    if kind not in ("text", "interactive", "template", "reaction", *MEDIA):
        return f"no such type: {kind}"
    if unknown := set(body) - KEYS - {kind}:
        return f"unknown keys: {sorted(unknown)}"
    if not isinstance(body.get(kind), dict):
        return f"the parameter {kind} is required"
    if len(str(body.get("biz_opaque_callback_data", ""))) > 512:
        return "biz_opaque_callback_data is too long"
    return _RULES.get(kind, _judge_media)(body[kind], media)


def _judge_text(text: Json, media: set[str]) -> str | None:
    body = text.get("body")
    if not isinstance(body, str) or not body.strip():
        return "text.body is required"
    return "text.body is too long" if len(body) > 4096 else None


def _judge_interactive(given: Json, media: set[str]) -> str | None:
    action, body = given["action"], given["body"]["text"]
    if not 0 < len(body) <= 1024:
        return "the body has 1 to 1024 characters"
    if given["type"] == "button":
        pairs = [(b["reply"]["id"], b["reply"]["title"])
                 for b in action["buttons"]]
        most, title_chars = 3, 20
    else:
        pairs = [(row["id"], row["title"]) for section in action["sections"]
                 for row in section["rows"]]
        most, title_chars = 10, 24
        if not 0 < len(action["button"]) <= 20:
            return "the button of a list has 1 to 20 characters"
    if not 0 < len(pairs) <= most:
        return f"1 to {most} choices"
    if len({given for given, _ in pairs}) < len(pairs):
        return "duplicate ids"
    return None if all(0 < len(title) <= title_chars and len(given) <= 256
                       for given, title in pairs) else "a title is too long"


def _judge_template(given: Json, media: set[str]) -> str | None:
    texts = [p["text"] for c in given["components"] for p in c["parameters"]]
    if any("\n" in t or "\t" in t or "    " in t or not t for t in texts):
        return "a variable is one line without runs of blanks"
    return "the body is too long" if any(len(t) > 1024 for t in texts) \
        else None


def _judge_reaction(given: Json, media: set[str]) -> str | None:
    return None if given.get("message_id") and "emoji" in given \
        else "message_id and emoji are required"


def _judge_media(given: Json, media: set[str]) -> str | None:
    if given.get("id") not in media:
        return "there is no such media"
    return "the caption is too long" if len(given.get("caption", "")) > 1024 \
        else None


_RULES = {"text": _judge_text, "interactive": _judge_interactive,
          "template": _judge_template, "reaction": _judge_reaction}
