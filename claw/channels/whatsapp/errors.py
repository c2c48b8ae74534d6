"""What the Graph API refuses, in a request's answer or in a status. Pure.

    {"error": {"message", "type", "code", "error_data": {"details"}}}

Source: developers.facebook.com/documentation/business-messaging/whatsapp,
error codes, read 2026-11.
"""

from typing import Any

from claw.channels.whatsapp.settings import TABLE
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.value import Value
from claw.net.errors import Peer, retry_after, status_error, summarise
from claw.net.http import Answer

TOKEN_HINT = f"set it with: claw config set {TABLE}.access_token"
URL_HINT = (f"check the network and {TABLE}.api_base_url; see: "
            "claw channel doctor whatsapp")
WINDOW = 131047
WINDOW_ERROR = (
    "the person has not written for 24 hours, so WhatsApp takes a template "
    f"alone: wait until they write, or name one in {TABLE}.template")
WINDOW_HINT = (f"claw config set {TABLE}.template NAME; how to make one: "
               "claw channel setup whatsapp")
PAIR_LIMIT = 131056
# Seconds to wait; Meta tells none. A pair of numbers may exchange one
# message in 6 s for long.
_LIMITS = {4: 60.0, 80007: 60.0, 130429: 5.0, 131048: 300.0, PAIR_LIMIT: 6.0}
_TOKEN = frozenset((0, 190))
_RIGHTS = frozenset((3, 10, 131005, *range(200, 300)))
# Meta's own trouble.
_TROUBLES = frozenset((1, 2, 131000, 131016, 131057, 133004))
_RIGHTS_HINT = ("the token needs the permissions whatsapp_business_messaging "
                "and whatsapp_business_management, and its system user the "
                "WhatsApp account")
_TEMPLATE_HINT = (f"is {TABLE}.template approved, in template_language, and "
                  "has it one variable in its body? see WhatsApp Manager")
_HINTS = {
    WINDOW: WINDOW_HINT,
    33: f"is {TABLE}.phone_number_id that of the number, and has the token "
        "the WhatsApp account?",
    131026: "the person may have no WhatsApp, an old version of it, or has "
            "not agreed to its terms",
    131030: "a test number writes only to the numbers that are listed under "
            "API setup of the app",
    131031: "Meta has locked the account; see Business Support",
    131042: "Meta has no way to be paid; see the billing of the account",
    133010: "the number is not registered; register it in WhatsApp Manager",
    368: "Meta has blocked the account for a while; see Business Support",
    **dict.fromkeys((132000, 132001, 132005, 132007, 132012, 132015, 132016),
                    _TEMPLATE_HINT),
}


class GraphError(RequestRefusedError):
    """Meta will not do it; `code` is its own."""

    def __init__(self, message: str, code: int, status: int | None = None
                 ) -> None:
        super().__init__(message, hint=_HINTS.get(code), status=status)
        self.code = code


class Fault(Value):
    """An error object; code -1 where there is none."""

    code: int = -1
    text: str = ""

    @property
    def hint(self) -> str | None:
        return _HINTS.get(self.code)


def read_fault(error: Any, secrets: tuple[str, ...] = ()) -> Fault:
    """The error of an answer or a status, in one line."""
    if not isinstance(error, dict):
        return Fault()
    data = error.get("error_data")
    details = data.get("details") if isinstance(data, dict) else None
    code = error.get("code")
    words = next((text for text in (details, error.get("message"),
                                    error.get("title"))
                  if isinstance(text, str) and text.strip()), "no reason")
    return Fault(code if isinstance(code, int)
                 and not isinstance(code, bool) else -1,
                 summarise(words, secrets))


def read_refusal(peer: Peer, name: str, answer: Answer) -> ClawError:
    """The error for an answer that is none of 2xx."""
    fault = read_fault(read_body(answer).get("error"), peer.secrets)
    if fault.code < 0:  # a proxy's page, a wrong address
        error = status_error(peer, answer.status, answer.text,
                             headers=answer.headers)
        error.hint = TOKEN_HINT if isinstance(error, AuthError) \
            else error.hint or URL_HINT
        return error
    code = fault.code
    message = f"WhatsApp refused {name} (error {code}): {fault.text}"
    if code == WINDOW:
        message += f"; {WINDOW_ERROR}"
    if code in _TOKEN or answer.status == 401:
        return AuthError(f"whatsapp refused the token (error {code}): "
                         f"{fault.text}", hint=TOKEN_HINT,
                         status=answer.status)
    if code in _RIGHTS:
        return AuthError(message, hint=_RIGHTS_HINT, status=answer.status)
    if code in _LIMITS or answer.status == 429:
        wait_s = retry_after(answer.headers)
        return RateLimitedError(
            message, hint="it is tried again when WhatsApp allows",
            status=answer.status,
            retry_after_s=_LIMITS.get(code) if wait_s is None else wait_s)
    if code in _TROUBLES or answer.status >= 500:
        return UnavailableError(message, hint="try again later",
                                status=answer.status)
    return GraphError(message, code, answer.status)


def read_body(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer; {} for anything else."""
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
