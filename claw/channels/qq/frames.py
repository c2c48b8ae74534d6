"""What begins a session at QQ's gateway, and what ends one. Pure.

Source: bot.q.qq.com/wiki, API v2: interface-framework/event-emit,
error-trace/websocket.
"""

from typing import Any

from claw.channels.gateway import IDENTIFY, RESUME
from claw.core.errors import AuthError, ClawError, ConfigError

_GUILD_AT, _BUTTONS, _CHATS, _DMS = 1 << 30, 1 << 26, 1 << 25, 1 << 12
# What is asked for, and what is left of it where QQ refuses it to a bot.
INTENTS = (_CHATS | _GUILD_AT | _BUTTONS | _DMS,
           _CHATS | _GUILD_AT | _BUTTONS, _CHATS | _GUILD_AT, _CHATS)
NO_INTENTS = (4013, 4014)
BAD_TOKEN = 4004
# After these the session is gone.
_NEW_SESSION = (4006, 4007, *range(4900, 4914))
_PORTAL = "https://q.qq.com"
_FINAL: dict[int, tuple[str, str]] = {
    4001: ("it does not know an opcode",
           "this is a fault of claw; please report it"),
    4002: ("it does not know a payload",
           "this is a fault of claw; please report it"),
    4010: ("it was given a shard that does not exist",
           "this is a fault of claw; please report it"),
    4011: ("the bot is in too many guilds for one connection",
           "remove it from some: claw is made for one owner's chats"),
    4012: ("it no longer speaks this version of its gateway", "update claw"),
}
_BANNED: dict[int, tuple[str, str]] = {
    4914: ("the bot is not published: it may connect to the sandbox only",
           "claw config set channels_config.qq.sandbox true, or publish it "
           "at " + _PORTAL),
    4915: ("the bot is banned", "ask QQ to lift that at " + _PORTAL),
}


def identify(token: str, intents: int) -> dict[str, Any]:
    return {"op": IDENTIFY, "d": {
        "token": f"QQBot {token}", "intents": intents, "shard": [0, 1],
        "properties": {"$os": "linux", "$browser": "claw",
                       "$device": "claw"}}}


def resume(token: str, session_id: str, sequence: int) -> dict[str, Any]:
    return {"op": RESUME, "d": {"token": f"QQBot {token}",
                                "session_id": session_id, "seq": sequence}}


def ends_session(code: int | None) -> bool:
    """Whether a close code ends the session, so that it can't be resumed:
    4008 and 4009 do not, nor does a cut."""
    return code in (*_NEW_SESSION, *_FINAL, *_BANNED, *NO_INTENTS, BAD_TOKEN)


def close_error(code: int | None) -> ClawError | None:
    """The error for a close code after which nothing gets better; None for
    all others."""
    if code in _BANNED:
        words, hint = _BANNED[code]
        return AuthError(f"qq closed the connection ({code}): {words}",
                         hint=hint)
    if code in _FINAL:
        words, hint = _FINAL[code]
        return ConfigError(f"QQ closed the connection ({code}): {words}",
                           hint=hint)
    return None


def intents_error(code: int | None) -> AuthError:
    """Where not even the messages of chats may be had."""
    return AuthError(
        f"qq gives the bot no messages (close code {code})",
        hint="allow it private chats and groups under Development settings "
             f"at {_PORTAL}, or set mode = \"webhook\"")
