"""What the plug-ins of speech share on the wire: keys, one request, its text.

A client lives for one request: voice messages are rare, and nothing has to
be closed later.
"""

import re
from collections.abc import Mapping
from typing import Any

from claw.core.errors import AuthError, ConfigError, UnavailableError
from claw.core.speech import SpeechLimits
from claw.core.value import Value
from claw.net.errors import Peer
from claw.net.http import Answer, HttpClient
from claw.speech.settings import TranscriptionSettings

TIMEOUT_S = 120.0
AUDIO_BYTES = 32 * 1024 * 1024
# Control characters and bidi overrides say nothing.
_UNSAID = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f"
                     "\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Endpoint(Value):
    """Where a plug-in sends its requests."""

    name: str
    peer: Peer
    url: str
    headers: Mapping[str, str]
    timeout_s: float = TIMEOUT_S

    async def post(self, **request: Any) -> Answer:
        """One POST; `request` is headers, json or content, model."""
        return await self.ask("POST", "", **request)

    async def ask(self, method: str, below: str, **request: Any) -> Answer:
        """As post, at a path below the address."""
        headers = {**self.headers, **request.pop("headers", {})}
        url = self.url.rstrip("/") + below if below else self.url
        client = HttpClient(self.peer, timeout_s=self.timeout_s,
                            max_bytes=AUDIO_BYTES)
        try:
            return await client.request(method, url, headers=headers,
                                        **request)
        finally:
            await client.aclose()


def endpoint(name: str, title: str, url: str, key: str | None = None, *,
             scheme: str = "Bearer {}", header: str = "authorization",
             timeout_s: float = TIMEOUT_S) -> Endpoint:
    """Raises ConfigError for what is no address of a server."""
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"{name}: {url[:60]!r} is no address",
                          hint="it starts with http:// or https://")
    headers = {header: scheme.format(key)} if key else {}
    peer = Peer(title, secrets=(key,) if key else ())
    return Endpoint(name, peer, url, headers, timeout_s)


def find_key(name: str, setting: str, given: str | None, variable: str,
           env: Mapping[str, str]) -> str:
    """A key from config.toml, else from the vendor's variable. Raises
    AuthError where there is none, ConfigError for one that can't be."""
    key = (given or "").strip() or env.get(variable, "").strip()
    if not key:
        raise AuthError(f"{name}: no key is set",
                        hint=f"set {variable}, or: claw config set {setting}")
    return sendable(key, setting)


def sendable(key: str, setting: str) -> str:
    if key.startswith(("enc2:", "enc:")):
        raise ConfigError(
            f"{setting} is still encrypted",
            hint="the secret key file may be missing; set it anew with: "
                 f"claw config set {setting}")
    if not key.isascii() or not key.isprintable():
        raise ConfigError(f"{setting} holds characters that no key has",
                          hint="copy it again")
    return key


def read_limits(settings: TranscriptionSettings) -> SpeechLimits:
    return SpeechLimits(max_seconds=settings.max_duration_secs,
                        other_audio=settings.transcribe_non_ptt_audio)


def read_text(answer: Answer, peer: Peer, *steps: str | int) -> str:
    """The text at these steps of a JSON answer. Raises
    UnavailableError."""
    try:
        found = answer.json()
        for step in steps:
            found = found[step]
    except (ValueError, LookupError, TypeError, RecursionError):
        found = None
    if not isinstance(found, str):
        raise odd(peer)
    return clean(found)


def read_object(answer: Answer, peer: Peer) -> dict[str, Any]:
    """A JSON answer that is an object. Raises UnavailableError."""
    try:
        found = answer.json()
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise odd(peer)
    return found


def odd(peer: Peer) -> UnavailableError:
    """What is said of an answer that can't be read."""
    return UnavailableError(
        f"{peer.title} sent something that is no transcript",
        hint="does its address belong to a transcription API?")


def clean(text: str) -> str:
    """Spoken text without what can't be said."""
    return _UNSAID.sub("", text).strip()
