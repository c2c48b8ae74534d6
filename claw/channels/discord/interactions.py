"""Pressed buttons and slash commands: what they say, what is answered.

A button's action is a message of kind "action", a slash command the text
that people may type as well. Discord waits three seconds for an answer.
Source: docs.discord.com/developers, interactions, API v10, read 2026-11.
"""

from collections.abc import Mapping
from typing import Any

from claw.channels.discord.wire import EPHEMERAL, Interaction
from claw.core.channel import ChannelMessage

COMMAND, PRESS = 2, 3
_REPLY, _DEFER_UPDATE = 4, 6
_TEXT_OPTION = 3

# The application's commands. `model` alone has something to say.
COMMANDS: tuple[dict[str, Any], ...] = (
    {"type": 1, "name": "new",
     "description": "Forget this conversation and start afresh"},
    {"type": 1, "name": "stop", "description": "Stop the running answer"},
    {"type": 1, "name": "model",
     "description": "Show the model, or change it",
     "options": [{"type": _TEXT_OPTION, "name": "name",
                  "description": "A model or one of your hints"}]},
)


def read_action(interaction: Interaction, thread: str | None, now: float
                ) -> ChannelMessage | None:
    """What somebody pressed or commanded; None where that says nothing."""
    person = interaction.person
    said = _read_said(interaction)
    if person is None or said is None or interaction.channel_id is None:
        return None
    return ChannelMessage(
        id=f"discord_act_{interaction.id}", sender=person.id,
        reply_target=interaction.channel_id, content=said,
        channel="discord", timestamp=int(now), thread_ts=thread,
        interruption_scope_id=thread,
        kind="action" if interaction.type == PRESS else "message",
        sender_name=person.username)


def _read_said(interaction: Interaction) -> str | None:
    data = interaction.data
    if interaction.type == PRESS:
        found = data.get("custom_id")
        return found if isinstance(found, str) and found else None
    name = data.get("name")
    if interaction.type != COMMAND or not isinstance(name, str) or not name:
        return None
    options = data.get("options")
    words = [str(option.get("value", "")) for option in options
             if isinstance(option, Mapping)] \
        if isinstance(options, list) else []
    return " ".join([f"/{name}", *words]).strip()


def answer(interaction: Interaction, said: str | None) -> dict[str, Any]:
    """The body of the callback; `said` is None for who may not. What it
    shows only the person sees."""
    if said is not None and interaction.type == PRESS:
        return {"type": _DEFER_UPDATE}
    text = "You are not allowed to do this." if said is None else f"`{said}`"
    return {"type": _REPLY, "data": {
        "content": text.replace("\n", " ")[:200], "flags": EPHEMERAL,
        "allowed_mentions": {"parse": []}}}
