"""What the Open API answers, and what its refusals mean.

An answer is {"code": 0, "msg": "success", "data": {...}}; a refusal has
another code, mostly with HTTP 400. Codes: open.larksuite.com/document,
"Generic error code" and the tables of im/v1.
"""

from collections.abc import Mapping
from typing import Any

from claw.channels.gate import DEFAULT_WAIT_S
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.net.errors import Peer, retry_after, status_error, summarise
from claw.net.http import Answer
from claw.text.segment import clean

# The token is over, or of another app: a fresh one may do.
STALE = frozenset((99991661, 99991663, 99991664, 99991665, 99991668,
                   99991671, 99991677))
# The app's id or secret is wrong, or the app is switched off.
_APP = frozenset((10003, 10012, 10013, 10014, 10015, 99991662, 99991543,
                  514, 403, 1000040344))
_LIMITS = frozenset((99991400, 230020, 11232, 11233, 11247, 230072))
_TROUBLES = frozenset((1, 1000040343, 99991641, 230049))
_SCOPE = frozenset((99991672, 99991679, 230027))
GONE = frozenset((230011, 230110, 231003))  # withdrawn, deleted
TOO_MANY = 1000040350  # connections
_HINTS = {
    230002: "add the bot to that group: Settings, Bots",
    230006: "switch the bot on: Features, Bot, and publish a version",
    230013: "let the person use the app: Version Management, availability",
    230018: "the group's settings forbid it; ask its admin",
    230001: "is the id right (oc_..., ou_... or an email address)?",
    230022: "the platform's filter took exception to the words",
}


class RefusedCallError(RequestRefusedError):
    """The platform will not do it; `code` is its own number for why."""

    def __init__(self, message: str, code: int, *, status: int,
                 hint: str | None) -> None:
        super().__init__(message, hint=hint, status=status)
        self.code = code


def read_body(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer, without halves of characters; {} for
    anything else."""
    try:
        body = mend(answer.json())
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def mend(value: Any) -> Any:
    """The value with each text in it as UTF-8 can carry it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [mend(item) for item in value]
    return ({clean(key): mend(item) for key, item in value.items()}
            if isinstance(value, dict) else value)


def read_code(body: Mapping[str, Any]) -> int | None:
    code = body.get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) \
        else None


def read_refusal(peer: Peer, name: str, answer: Answer,
                 body: Mapping[str, Any], table: str) -> ClawError:
    """The error for an answer that is not ok."""
    code = read_code(body)
    if code is None:
        return _read_stranger(peer, answer, table)
    text = summarise(str(body.get("msg") or ""), peer.secrets)
    message = f"{peer.title} refused {name}: {text} (code {code})"
    if code in _LIMITS or answer.status == 429:
        return RateLimitedError(
            message, status=429, retry_after_s=_read_wait(answer),
            hint=f"it is tried again when {peer.title} allows")
    if code in _APP or code in STALE:
        return AuthError(f"{peer.title} refused the app ({text}, code "
                         f"{code})", hint=peer.key_hint)
    if code == TOO_MANY:
        return UnavailableError(
            f"{peer.title} allows no more connections of this app (fifty)",
            hint="stop another claw listen with the same app")
    if code in _TROUBLES or answer.status >= 500:
        return UnavailableError(message, hint="try again later",
                                status=answer.status)
    hint = _HINTS.get(code)
    if code in _SCOPE:
        hint = ("add the scope in the developer console, Permissions & "
                "Scopes, and publish a version")
    return RefusedCallError(message, code, hint=hint, status=answer.status
                            if answer.status >= 400 else 400)


def _read_wait(answer: Answer) -> float:
    """Seconds until the limit is lifted."""
    wait = retry_after(answer.headers)
    try:
        reset = float(answer.headers.get("x-ogw-ratelimit-reset", ""))
    except ValueError:
        reset = DEFAULT_WAIT_S
    found = reset if wait is None else wait
    return found if 0 <= found < 1e9 else DEFAULT_WAIT_S


def _read_stranger(peer: Peer, answer: Answer, table: str) -> ClawError:
    """What answered is not the Open API: a proxy's page, a wrong address."""
    hint = f"check the network and {table}.api_base_url"
    if answer.status < 300:
        text = summarise(answer.text, peer.secrets)
        return UnavailableError(f"{peer.title}'s address answered without "
                                f"the Open API's JSON: {text}", hint=hint)
    error = status_error(peer, answer.status, answer.text,
                         headers=answer.headers)
    if not isinstance(error, AuthError):
        error.hint = hint
    return error
