"""The sign-in of the Gemini CLI, used as it lies on the disk.

`~/.gemini/oauth_creds.json` holds access_token, refresh_token and
expiry_date (unix milliseconds); other folders of that name (`~/.gemini-2`)
hold other accounts. A token that runs out is refreshed and written back, so
that the CLI goes on with it. Requests then go to another address with the
project of the account in them.
Source: gemini-cli's code_assist (read 2026-11); RFC 6749, section 6.
"""

import asyncio
import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from claw.core.errors import AuthError, ClawError
from claw.net.errors import Peer, status_error
from claw.net.http import HttpClient
from claw.net.lean import httpx
from claw.providers.connection import ignore_notice
from claw.providers.wire.answers import read_json
from claw.providers.wire.json import string

INTERNAL_URL = "https://cloudcode-pa.googleapis.com/v1internal"
TOKEN_URL = "https://oauth2.googleapis.com/token"
AGAIN = "sign in again with: gemini; or set GEMINI_API_KEY"

_FILE = "oauth_creds.json"
_EARLY_S = 60.0
_SECRETS = ("access_token", "refresh_token", "id_token", "client_secret")


def login_files(home: Path) -> list[Path]:
    """The sign-ins below a home, that of ~/.gemini first."""
    try:
        found = sorted(home.glob(f".gemini*/{_FILE}"))
    except OSError:
        return []
    return sorted(found, key=lambda p: p.parent.name != ".gemini")


class Login:
    """One or more sign-ins; the current one gives token and project.

    `clock` gives unix seconds. Raises AuthError where a sign-in can't be
    used any more.
    """

    def __init__(self, files: Sequence[Path], env: Mapping[str, str], *,
                 internal_url: str = INTERNAL_URL,
                 token_url: str = TOKEN_URL, timeout_s: float = 120.0,
                 clock: Callable[[], float] = time.time,
                 notify: Callable[[str], None] = ignore_notice,
                 transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.internal_url = internal_url.rstrip("/")
        self._files = list(files)
        self._env = env
        self._token_url = token_url
        self._clock = clock
        self._notify = notify
        self._at = 0
        self._held: dict[Path, dict[str, Any]] = {}
        self._projects: dict[Path, str] = {}
        self._lock = asyncio.Lock()
        self._http = HttpClient(Peer("Google's sign-in", key_hint=AGAIN),
                                timeout_s=timeout_s, transport=transport)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Everything that must not be said."""
        held = [creds.get(name) for creds in self._held.values()
                for name in _SECRETS]
        held.append(self._env.get("GEMINI_OAUTH_CLIENT_SECRET"))
        return tuple(s for s in held if isinstance(s, str) and s)

    async def token(self) -> str:
        """An access token that is good for another minute."""
        async with self._lock:
            creds = self._held.get(self._file)
            if creds is None or self._is_old(creds):
                creds = self._read()
            if self._is_old(creds):
                creds = await self._refresh(creds)
            return str(creds["access_token"])

    async def project(self) -> str | None:
        """The project that pays; asked for once. GOOGLE_CLOUD_PROJECT is
        what the account is told it should be."""
        token = await self.token()
        try:
            return await self._project(token)
        except AuthError:
            if not await self.rotate(token):
                raise
            return await self._project(await self.token())

    async def rotate(self, refused: str) -> bool:
        """Whether there is another token to try than the one refused: that
        of the next sign-in, or a fresh one of the only one."""
        if self._held.get(self._file, {}).get("access_token") != refused:
            return True  # another request has done it meanwhile
        before = self._at
        self._at = (before + 1) % len(self._files)
        try:
            if self._at != before:
                return await self.token() != refused
            async with self._lock:
                await self._refresh(self._held[self._file])
                return True
        except ClawError:
            self._at = before
            return False

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _project(self, token: str) -> str | None:
        async with self._lock:
            if self._file not in self._projects:
                self._projects[self._file] = await self._load(token)
            return self._projects[self._file] or None

    @property
    def _file(self) -> Path:
        return self._files[self._at]

    @property
    def _short_path(self) -> str:
        return f"~/{self._file.parent.name}/{self._file.name}"

    def _is_old(self, creds: Mapping[str, Any]) -> bool:
        expiry = creds.get("expiry_date")
        if not creds.get("access_token"):
            return True
        return isinstance(expiry, int | float) and \
            expiry / 1000 - self._clock() < _EARLY_S

    def _read(self) -> dict[str, Any]:
        """The file as it is now: another process may have refreshed."""
        try:
            found = json.loads(self._file.read_bytes())
        except OSError as error:
            raise AuthError(
                f"{self._short_path} can't be read: {error.strerror}",
                hint=AGAIN) from error
        except (ValueError, RecursionError):
            found = None
        names = ("access_token", "refresh_token")
        if not isinstance(found, dict) or not any(
                isinstance(found.get(n), str) and found[n] for n in names):
            raise AuthError(f"{self._short_path} holds no sign-in", hint=AGAIN)
        self._held[self._file] = found
        return found

    async def _refresh(self, creds: Mapping[str, Any]) -> dict[str, Any]:
        form = {"grant_type": "refresh_token",
                "refresh_token": creds.get("refresh_token"),
                "client_id": self._client(creds, "client_id"),
                "client_secret": self._client(creds, "client_secret")}
        if not form["refresh_token"]:
            raise AuthError(
                f"the sign-in in {self._short_path} has run out", hint=AGAIN)
        if not form["client_id"]:
            raise AuthError(
                f"the sign-in in {self._short_path} has run out, and whose "
                "it is to refresh is not said",
                hint="run gemini once, or set GEMINI_OAUTH_CLIENT_ID and "
                     "GEMINI_OAUTH_CLIENT_SECRET, or GEMINI_API_KEY")
        given = await self._ask_for_token(
            {k: str(v) for k, v in form.items() if v})
        good_s = given.pop("expires_in", 3600.0)
        fresh = {**creds, **given,
                 "expiry_date": int((self._clock() + good_s) * 1000)}
        self._held[self._file] = fresh
        try:
            await asyncio.to_thread(write_private, self._file, fresh)
        except OSError as error:
            self._notify(f"the refreshed sign-in could not be kept in "
                         f"{self._short_path}: {error.strerror}")
        return fresh

    def _client(self, creds: Mapping[str, Any], name: str) -> str | None:
        value = creds.get(name) or self._env.get(
            f"GEMINI_OAUTH_{name.upper()}", "").strip()
        return value if isinstance(value, str) and value else None

    async def _ask_for_token(self, form: Mapping[str, str]
                             ) -> dict[str, Any]:
        """What the token endpoint gives: strings, and expires_in in
        seconds."""
        peer = Peer("Google's sign-in", key_hint=AGAIN, secrets=(
            *self.secrets, *form.values()))
        answer = await self._http.request(
            "POST", self._token_url, check=False,
            content=urlencode(form).encode(), headers={
                "content-type": "application/x-www-form-urlencoded"})
        if 400 <= answer.status < 500 and answer.status not in (408, 429):
            refusal = status_error(peer, answer.status, answer.text)
            raise AuthError(refusal.message, hint=AGAIN)
        if answer.status >= 300:
            raise status_error(peer, answer.status, answer.text,
                               headers=answer.headers)
        found = read_json(answer)
        if not isinstance(found, dict) or not isinstance(
                found.get("access_token"), str):
            raise AuthError("Google's sign-in gave no token", hint=AGAIN)
        names = ("access_token", "refresh_token", "id_token", "scope",
                 "token_type")
        given: dict[str, Any] = {n: found[n] for n in names
                                 if string(found.get(n))}
        seconds = found.get("expires_in")
        if isinstance(seconds, int | float) and 0 < seconds < 1e9:
            given["expires_in"] = float(seconds)
        return given

    async def _load(self, token: str) -> str:
        """The account's project; "" where it has none."""
        seed = next((value for name in ("GOOGLE_CLOUD_PROJECT",
                                        "GOOGLE_CLOUD_PROJECT_ID")
                     if (value := self._env.get(name, "").strip())), "")
        about: dict[str, Any] = {"ideType": "IDE_UNSPECIFIED",
                                 "platform": "PLATFORM_UNSPECIFIED",
                                 "pluginType": "GEMINI"}
        body: dict[str, Any] = {"metadata": about}
        if seed:
            about["duetProject"] = body["cloudaicompanionProject"] = seed
        answer = await self._http.request(
            "POST", f"{self.internal_url}:loadCodeAssist", json=body,
            check=False, headers={"authorization": f"Bearer {token}"})
        if answer.status >= 300:
            raise status_error(
                Peer("Gemini Code Assist", self.secrets, key_hint=AGAIN),
                answer.status, answer.text, headers=answer.headers)
        found = read_json(answer)
        given = found.get("cloudaicompanionProject") \
            if isinstance(found, dict) else None
        return string(given.get("id") if isinstance(given, dict)
                      else given) or seed


def write_private(path: Path, data: Mapping[str, Any]) -> None:
    """A JSON file in place of the old one, whole or not at all, for its
    owner's eyes (0600). A link stays one. Raises OSError."""
    path = path.resolve()
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
