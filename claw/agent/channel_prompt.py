"""The system prompt of one message of a channel.

    base prompt, channel guidance, context line   the same for every message
    date and time                                 of this message
    memory block                                  of this message

What changes stands last, so that a provider can cache what comes before.
"""

import json
from datetime import datetime

from claw.agent.prompt import DATE_HEADING

_TELEGRAM = """## Writing for Telegram

- **bold**, *italic*, `code` and fenced code are shown as such; for a \
heading write a bold line, never #.
- Be brief, without filler, and use emoji sparingly.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:target], [DOCUMENT:target], [VIDEO:target], [AUDIO:target] or \
[VOICE:target]; the target is a path or a URL.
- Do not describe your tool calls. Give the result."""

_MATRIX = """## Writing for Matrix

- Markdown is shown as such. Be brief.
- A message marked [Voice message] was spoken: answer as in conversation, \
in sentences that sound well, since your reply will be read aloud too."""

_QQ = """## Writing for QQ

- Markdown is shown as such. Be brief.
- To send a file, write a marker on a line of its own: [IMAGE:target], \
[DOCUMENT:target], [VIDEO:target] or [VOICE:target]; the target is a path \
or a URL. Voice must be wav, mp3 or silk."""

GUIDANCE = {"telegram": _TELEGRAM, "matrix": _MATRIX, "qq": _QQ}


def build(base_prompt: str, now: datetime, channel: str, reply_target: str,
          memory_block: str = "") -> str:
    """The whole prompt; the base prompt's own date section goes."""
    parts = [stable(base_prompt, channel, reply_target), date_section(now),
             memory_block.strip()]
    return "\n\n".join(part for part in parts if part)


def stable(base_prompt: str, channel: str, reply_target: str) -> str:
    """What every message of a conversation has in common."""
    parts = [without_date(base_prompt), GUIDANCE.get(channel, ""),
             context_line(channel, reply_target)]
    return "\n\n".join(part for part in parts if part)


def without_date(prompt: str) -> str:
    """A prompt without the date section at its end."""
    head, heading, rest = prompt.rpartition(DATE_HEADING)
    is_last = heading and "\n" not in rest.strip()
    return head.rstrip() if is_last else prompt.rstrip()


def date_section(now: datetime) -> str:
    stamp = now.strftime("%Y-%m-%d %H:%M:%S")
    zone = now.strftime("%Z")
    return f"{DATE_HEADING}\n\n{stamp}" + (f" ({zone})" if zone else "")


def context_line(channel: str, reply_target: str) -> str:
    """Where this conversation is, and how a job answers there; nothing
    where no chat is known."""
    target = "".join(c for c in reply_target if c.isprintable())
    if not target.strip():
        return ""
    delivery = json.dumps({"channel": channel, "to": target},
                          ensure_ascii=False, separators=(",", ":"))
    return (f"Channel context: channel={channel}, reply_target={target}\n"
            "For a job that is to answer in this chat, call cron_add with "
            f"delivery={delivery}")
