"""Frames of the gateway: one zlib stream in, what begins it out. Pure.

Source: docs.discord.com/developers, events/gateway and
topics/opcodes-and-status-codes, API v10, read 2026-11.
"""

import zlib
from typing import Any

from claw.channels.gateway import IDENTIFY, RESUME
from claw.core.errors import AuthError, ConfigError, UnavailableError

# Guilds, their messages and direct ones, and what those say.
INTENTS = 1 | 1 << 9 | 1 << 12 | 1 << 15
_FLUSHED = b"\x00\x00\xff\xff"
_MOST_BYTES = 64 * 1024 * 1024

_PORTAL = "https://discord.com/developers/applications"
_TOKEN_HINT = ("make a new token under Bot at " + _PORTAL + " and set it "
               "with: claw config set channels_config.discord.bot_token")
# Close codes after which connecting again does no good.
_FINAL: dict[int, tuple[str, str]] = {
    4010: ("it was given a shard that does not exist",
           "this is a fault of claw; please report it"),
    4011: ("the bot is in too many servers for one connection",
           "remove it from some: claw is made for one owner's servers"),
    4012: ("it no longer speaks version 10 of its gateway", "update claw"),
    4013: ("it does not know the intents",
           "this is a fault of claw; please report it"),
    4014: ("the bot may not read messages",
           "switch on Message Content Intent under Bot, Privileged Gateway "
           "Intents, at " + _PORTAL),
}
# After these the session is gone: not authenticated, a wrong sequence, too
# late. Everything else can be resumed.
_NEW_SESSION = (4003, 4007, 4009)


class Inflater:
    """The one zlib context of a connection."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj()
        self._waiting = bytearray()

    def feed(self, data: str | bytes) -> str | None:
        """The JSON of a message that is whole now; None for a piece. A
        server that does not compress sends text. Raises UnavailableError.
        """
        if isinstance(data, str):
            return data
        self._waiting += data
        if len(self._waiting) > _MOST_BYTES:
            raise UnavailableError("Discord sent a message without an end")
        if not self._waiting.endswith(_FLUSHED):
            return None
        whole, self._waiting = bytes(self._waiting), bytearray()
        try:
            text = self._inflate.decompress(whole, _MOST_BYTES)
        except zlib.error as error:
            raise UnavailableError(
                "Discord sent what is no zlib stream") from error
        if self._inflate.unconsumed_tail:
            raise UnavailableError("Discord sent more than 64 MiB at once")
        return text.decode("utf-8", "replace")


def identify(token: str) -> dict[str, Any]:
    return {"op": IDENTIFY, "d": {
        "token": token, "intents": INTENTS, "compress": False,
        "properties": {"os": "linux", "browser": "claw", "device": "claw"}}}


def resume(token: str, session_id: str, sequence: int) -> dict[str, Any]:
    return {"op": RESUME, "d": {
        "token": token, "session_id": session_id, "seq": sequence}}


def ends_session(code: int | None) -> bool:
    """Whether a close code ends the session, so that it can't be resumed."""
    return code in _NEW_SESSION or code == 4004 or code in _FINAL


def close_error(code: int | None) -> AuthError | ConfigError | None:
    """The error for a close code after which nothing gets better; None for
    all others."""
    if code == 4004:
        return AuthError("discord refused the token (close code 4004)",
                         hint=_TOKEN_HINT)
    if code in _FINAL:
        words, hint = _FINAL[code]
        return ConfigError(f"Discord closed the connection ({code}): "
                           f"{words}", hint=hint)
    return None
