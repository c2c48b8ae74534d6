"""What the Web API answered, read without trust. Pure.

Source: docs.slack.dev/apis/web-api, and the error tables of its methods.
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

DEFAULT_WAIT_S = 1.0
_TOKENS = frozenset((
    "invalid_auth", "not_authed", "account_inactive", "token_revoked",
    "token_expired", "no_permission", "not_allowed_token_type",
    "org_login_required"))
_LIMITS = frozenset(("ratelimited", "rate_limited", "message_limit_exceeded"))
# Slack's own trouble; what was asked for may have been done.
_TROUBLES = frozenset((
    "internal_error", "fatal_error", "service_unavailable",
    "request_timeout", "team_added_to_org", "accesslimited"))
_HINTS = {
    "not_in_channel": "invite the bot there: /invite @its-name",
    "channel_not_found": "is the id right (C..., G..., D... or U...), and "
                         "is the bot in it?",
    "is_archived": "the channel is archived",
    "msg_too_long": "this should not happen; please report it",
    "restricted_action": "a workspace rule forbids it; ask its admin",
}


def read_body(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer, without halves of characters, which
    JSON can hold and a database can't; {} for anything else."""
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


def read_refusal(peer: Peer, method: str, answer: Answer,
                 body: Mapping[str, Any]) -> ClawError:
    """The error for an answer that is not ok."""
    code = body.get("error")
    if "ok" not in body or not isinstance(code, str):
        return _read_stranger(peer, answer)
    text = summarise(code, peer.secrets)
    message = f"Slack refused {method}: {text}"
    if code in _LIMITS or answer.status == 429:
        wait = retry_after(answer.headers)
        return RateLimitedError(
            message, status=429, hint="it is tried again when Slack allows",
            retry_after_s=DEFAULT_WAIT_S if wait is None else wait)
    if code in _TOKENS:
        return AuthError(f"slack refused the token ({text})",
                         hint=peer.key_hint)
    if code in _TROUBLES or answer.status >= 500:
        return UnavailableError(message, hint="try again later",
                                status=answer.status)
    if code == "missing_scope":
        needed = summarise(str(body.get("needed") or "one"), peer.secrets)
        return RequestRefusedError(
            f"{message} ({needed})", status=403, hint=f"add the scope {needed}"
            " to the app at api.slack.com/apps and install it again")
    return RequestRefusedError(message, status=400, hint=_HINTS.get(code))


def read_code(error: ClawError) -> str:
    """Slack's word for why it refused, "" where it gave none."""
    return error.message.rpartition(": ")[2].partition(" ")[0] \
        if isinstance(error, RequestRefusedError) else ""


def _read_stranger(peer: Peer, answer: Answer) -> ClawError:
    """What answered is no Web API: a proxy's page, a wrong address."""
    hint = ("check the network and channels_config.slack.api_base_url; see: "
            "claw channel doctor slack")
    if answer.status < 300:
        text = summarise(answer.text, peer.secrets)
        return UnavailableError("Slack's address answered without the Web "
                                f"API's JSON: {text}", hint=hint)
    error = status_error(peer, answer.status, answer.text,
                         headers=answer.headers)
    if not isinstance(error, AuthError):
        error.hint = hint
    return error
