"""What DingTalk answered, read without trust. Pure.

The API refuses with a status and {"code", "message"}, the older one with 200
and {"errcode", "errmsg"}; both call a limit by many names.
"""

from collections.abc import Mapping
from typing import Any

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

DEFAULT_WAIT_S = 5.0
MINUTE_S = 60.0
_TOKENS = frozenset((
    "40001", "40014", "42001", "88", "invalidauthentication",
    "invalidclientidorsecret", "authfailed", "missingaccesstoken"))
_LIMITS = frozenset(("90002", "90018", "90030", "130101", "660026"))
_LIMIT_WORDS = ("qpslimit", "toofast", "too.fast", "too.many", "throttl",
                "flowcontrol", "ratelimit")
_A_MINUTE = ("130101", "send.too.fast")  # twenty a minute and group
_TROUBLES = frozenset(("-1", "system.err", "serviceunavailable",
                       "internalerror"))
_NO_RIGHT = "accesstokenpermissiondenied"


def read_body(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer; {} for anything else."""
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def read_text(body: Any, key: str) -> str:
    """A text of an object, as UTF-8 can carry it; "" for anything else.
    Numbers are read as they are written."""
    value = body.get(key) if isinstance(body, dict) else None
    if isinstance(value, int) and not isinstance(value, bool) \
            and abs(value) < 1 << 63:
        return str(value)
    return clean(value) if isinstance(value, str) else ""


def is_fine(answer: Answer, body: Mapping[str, Any]) -> bool:
    """Whether it was done: no refusal by status, nor by code."""
    return answer.status < 300 and bool(body) and all(
        read_text(body, key) in ("", "0") for key in ("code", "errcode"))


def read_refusal(peer: Peer, what: str, answer: Answer,
                 body: Mapping[str, Any]) -> ClawError:
    """The error for an answer that is not fine; `what` was asked for."""
    code = read_text(body, "code") or read_text(body, "errcode")
    if not code:
        return _read_stranger(peer, answer)
    said = read_text(body, "message") or read_text(body, "errmsg")
    text = summarise(f"{code} {said}".strip(), peer.secrets)
    message = f"DingTalk refused {what}: {text}"
    low = code.lower()
    if answer.status == 429 or low in _LIMITS or any(
            word in low.replace("_", "") for word in _LIMIT_WORDS):
        wait = retry_after(answer.headers)
        usual = MINUTE_S if low.startswith(_A_MINUTE) else DEFAULT_WAIT_S
        return RateLimitedError(
            message, status=429, retry_after_s=usual if wait is None else wait,
            hint="it is tried again when DingTalk allows")
    if low in _TOKENS or answer.status == 401:
        return AuthError(f"DingTalk refused the app's key ({text})",
                         hint=peer.key_hint)
    if answer.status >= 500 or low in _TROUBLES:
        return UnavailableError(message, hint="try again later",
                                status=max(answer.status, 500))
    hint = None
    if _NO_RIGHT in low.replace(".", ""):
        hint = ("apply for the right that it names, e.g. "
                "qyapi_robot_sendmsg, at open-dev.dingtalk.com, Permissions")
    return RequestRefusedError(message, status=400, hint=hint)


def _read_stranger(peer: Peer, answer: Answer) -> ClawError:
    """What answered is not DingTalk: a proxy's page, a wrong address."""
    hint = ("check the network and channels_config.dingtalk.api_base_url; "
            "see: claw channel doctor dingtalk")
    if answer.status < 300:
        text = summarise(answer.text, peer.secrets)
        return UnavailableError(
            f"DingTalk's address answered without its JSON: {text}",
            hint=hint)
    error = status_error(peer, answer.status, answer.text,
                         headers=answer.headers)
    if not isinstance(error, AuthError):
        error.hint = hint
    return error
