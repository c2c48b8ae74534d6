"""The password, or the access token that a command prints.

A token is kept until a server has refused it once; then the command runs
again. Source: developers.google.com/workspace/gmail/imap/xoauth2-protocol.
"""

import asyncio
import contextlib
import os
import re

from claw.channels.email.settings import EmailSettings
from claw.core.errors import AuthError, ConfigError, UnavailableError
from claw.net.errors import scrub

_COMMAND_S = 30.0
_MOST_BYTES = 2**16
_TOKEN = re.compile(r"[!-~]{1,20000}")
_KEY = "channels_config.email.oauth_command"


class Logins:
    """What both servers are logged in to with."""

    def __init__(self, settings: EmailSettings) -> None:
        self.username = settings.username.strip()
        self.password = settings.password
        self._settings = settings
        self._token: str | None = None
        self._lock = asyncio.Lock()

    @property
    def has_tokens(self) -> bool:
        return bool(self._settings.oauth_command)

    async def token(self) -> str | None:
        """An access token; None where the password is to be used."""
        if not self.has_tokens:
            return None
        async with self._lock:
            if self._token is None:
                self._token = await self._fetch()
            return self._token

    def refuse(self, token: str) -> None:
        """A server did not take this one: the next is a new one."""
        if self._token == token:
            self._token = None

    async def _fetch(self) -> str:
        try:
            argv = self._settings.oauth_argv
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, start_new_session=True)
        except (ValueError, OSError) as error:
            raise ConfigError(f"{_KEY} can't be started: {error}",
                              hint=f"claw config get {_KEY}") from error
        try:
            async with asyncio.timeout(_COMMAND_S):
                out, err = await asyncio.gather(
                    _read(process.stdout), _read(process.stderr))
                await process.wait()
        except TimeoutError as error:
            raise UnavailableError(
                f"{_KEY} printed no token within {_COMMAND_S:g} s",
                hint="run it by hand: does it ask something?") from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
                # wait() waits for pipes that nobody reads any more, too.
                process._transport.close()  # type: ignore[attr-defined]
                await process.wait()
        token = out.decode("utf-8", "replace").strip()
        if process.returncode or not _TOKEN.fullmatch(token):
            said = scrub(err.decode("utf-8", "replace"))
            raise AuthError(
                f"{_KEY} printed no token (exit code {process.returncode})"
                + (f": {' '.join(said.split())[:200]}" if said.strip()
                   else ""), hint="run it by hand; it prints the access "
                   "token and nothing else")
        return token


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    """All that is printed; of much only the beginning is kept."""
    kept = b""
    while stream is not None and (data := await stream.read(2**16)):
        kept += data[:_MOST_BYTES - len(kept)]
    return kept
