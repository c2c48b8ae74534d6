"""The Mac around the channel: where Messages keeps its things, and the one
script that it is told to send with.

What is sent, and to whom, are arguments of the script and never a part of its
text. The script is an argument too: one that is read from a pipe would be cut
off where claw is killed meanwhile. `osascript` takes no more options once an
argument does not begin with a dash: a text is never the first one.
Source: Messages' scripting dictionary; man osascript.
"""

import asyncio
import re
import sys
from pathlib import Path

from claw.core.errors import (
    AuthError,
    ConfigError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.value import Value, made

TITLE = "Messages"
SCRIPT = """\
on run argv
    set {theKind, theWay, theTarget, theContent} to argv
    if theKind is "file" then
        set theContent to (POSIX file theContent) as alias
    end if
    with timeout of 20 seconds
        tell application "Messages"
            if theWay is "chat" then
                send theContent to chat id theTarget
            else if theWay is "sms" then
                set theAccount to 1st account whose service type is SMS
                send theContent to participant theTarget of theAccount
            else
                set theAccount to 1st account whose service type is iMessage
                send theContent to participant theTarget of theAccount
            end if
        end tell
    end timeout
end run
"""
ASK = """\
tell application "Messages" to count (accounts whose service type is \
iMessage and enabled is true)
"""
_SCRIPT_S = 30.0
_NUMBER = re.compile(r"\((-\d{2,6})\)\s*$")
# What Messages may have done nevertheless: it did not answer in time, or
# went away meanwhile.
_UNCERTAIN = (-1712, -609, -128)
_NOT_FOUND = (-1728, -1719)
AUTOMATION = (
    "allow the program that starts claw to control Messages: System Settings "
    "> Privacy & Security > Automation; a job of launchd is never asked, so "
    "run `claw send` from a terminal once")
FULL_DISK = (
    "give the program that starts claw Full Disk Access: System Settings > "
    "Privacy & Security > Full Disk Access, add the terminal (under launchd "
    "the python that runs claw), and start it again")


class Mac(Value):
    """The machine. `folder` is where Messages keeps its things."""

    platform: str = sys.platform
    folder: Path = made(factory=lambda: Path.home() / "Library" / "Messages")
    osascript: str = "osascript"

    @property
    def database(self) -> Path:
        return self.folder / "chat.db"

    def check(self) -> None:
        """Raises ConfigError where there is no Messages."""
        if self.platform != "darwin":
            raise ConfigError(
                "imessage works on a Mac only: it is Messages that sends, "
                f"and this is {self.platform}",
                hint="run claw on a Mac that is signed in to Messages, or "
                     "take [channels_config.imessage] out of config.toml")


class ScriptError(UnavailableError):
    """Messages did not do it; `maybe_sent` says whether it may have."""

    def __init__(self, message: str, *, hint: str | None = None,
                 maybe_sent: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.maybe_sent = maybe_sent


class NoSuchTargetError(RequestRefusedError):
    """Messages has no such chat or person."""


async def run_script(mac: Mac, script: str, *arguments: str) -> str:
    """What a script says. Raises AuthError, NoSuchTargetError,
    ScriptError."""
    try:
        process = await asyncio.create_subprocess_exec(
            mac.osascript, "-l", "AppleScript", "-e", script, *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True)
    except (OSError, ValueError) as error:
        raise ScriptError(f"osascript can't be started: {error}") from error
    try:
        async with asyncio.timeout(_SCRIPT_S):
            said, why = await process.communicate()
    except TimeoutError as error:
        raise ScriptError(
            f"Messages did not answer within {_SCRIPT_S:g} s",
            hint="does a dialogue wait on the Mac's screen? " + AUTOMATION,
            maybe_sent=True) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code := process.returncode:
        raise explain(why.decode("utf-8", "replace"), code)
    return said.decode("utf-8", "replace").strip()


def explain(words: str, code: int) -> AuthError | UnavailableError:
    """The error that osascript's words mean; pure."""
    line = " ".join(words.split())[-300:] or f"osascript ended with {code}"
    found = _NUMBER.search(line)
    number = int(found[1]) if found else 0
    if number == -1743:
        return AuthError("macOS does not let this program control Messages "
                         "(-1743)", hint=AUTOMATION)
    if number in _NOT_FOUND:
        return NoSuchTargetError(f"Messages: {line}", hint=(
            "is Messages signed in, and does the chat show there? Write to "
            "them by hand once"))
    return ScriptError(
        f"Messages: {line}", hint="is Messages open and signed in on the "
        "Mac, under the user who runs claw, with a screen of its own?",
        maybe_sent=code < 0 or number in _UNCERTAIN)
