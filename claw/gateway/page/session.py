"""Signing in to the page: a key of the owner's, held in a cookie.

    GET /page/session   {"signed_in": true}
    POST /page/login    {"token": "zc_..."}     POST /page/logout

The cookie holds the key itself, so that a key that is rotated or revoked
ends every session of it at once and nothing is kept here. No script can
read it, no other site makes the browser send it, and it is shown to the
paths of the page alone. A pairing code is exchanged for a key at /pair
first, where guessing is bounded.
"""

from starlette.requests import Request
from starlette.responses import Response

from claw.gateway.app import FindsKeys
from claw.gateway.endpoint import (
    Call,
    Endpoint,
    Key,
    Refused,
    objects_with,
    parameter,
    reply,
)
from claw.gateway.keys import OWNER
from claw.gateway.settings import GatewaySettings

COOKIE = "claw_key"  # and the port: browsers keep cookies by host alone
# A page of another site can't set it without our consent (CORS).
HEADER = "x-claw-page"
BASE = "/page"
SENDER = (parameter(HEADER, {"const": "1"}, place="header", required=True),)
_KEPT_S = 30 * 86_400
_TOKEN_CHARS = 512
_HOW_TO_SIGN_IN = "claw gateway link"


class Sessions:
    """Who is signed in, by the cookie of a request."""

    def __init__(self, keys: FindsKeys, settings: GatewaySettings) -> None:
        self._keys = keys
        prefix = (settings.path_prefix or "").rstrip("/")
        self._path = f"{prefix}{BASE}"
        self._cookie = f"{COOKIE}_{settings.port}"
        self._is_https = (settings.public_url or "").startswith("https:")
        self.endpoints = (
            Endpoint(f"{BASE}/session", self._describe, access="open"),
            Endpoint(f"{BASE}/login", self._login, methods=("POST",),
                     access="open", window="pair", body_bytes=4096,
                     parameters=SENDER,
                     body=objects_with({"token": {"type": "string"}})),
            Endpoint(f"{BASE}/logout", self._logout, methods=("POST",),
                     access="open", body_bytes=4096, parameters=SENDER))

    def identify(self, request: Request) -> Key | None:
        """The key of the cookie; of the page's own paths alone."""
        path = request.scope["path"]
        token = request.cookies.get(self._cookie)
        if not token or len(token) > _TOKEN_CHARS \
                or not path.startswith(self._path + "/"):
            return None
        return self._keys.find(token)

    async def _describe(self, call: Call) -> Response:
        return reply({"signed_in": call.key is not None
                      and call.key.sees == OWNER})

    async def _login(self, call: Call) -> Response:
        check_sender(call)
        body = await call.json()
        token = body.get("token") if isinstance(body, dict) else None
        key = self._keys.find(token) if isinstance(token, str) \
            and len(token) <= _TOKEN_CHARS else None
        if key is None or not isinstance(token, str):
            raise Refused(403, "the key is not known",
                          hint=_HOW_TO_SIGN_IN)
        if key.sees != OWNER:
            raise Refused(403, "this key is not the owner's",
                          hint=_HOW_TO_SIGN_IN)
        answer = reply({"name": key.name})
        self._set_cookie(call, answer, token, _KEPT_S)
        return answer

    async def _logout(self, call: Call) -> Response:
        check_sender(call)
        answer = reply({})
        self._set_cookie(call, answer, "", 0)
        return answer

    def _set_cookie(self, call: Call, answer: Response, token: str,
                    kept_s: int) -> None:
        secure = call.request.url.scheme == "https" or (
            self._is_https and not call.is_local)
        answer.set_cookie(self._cookie, token, max_age=kept_s, path=self._path,
                          secure=secure, httponly=True, samesite="strict")


def check_sender(call: Call) -> None:
    """Raises Refused for what our script did not send."""
    if call.request.headers.get(HEADER) != "1":
        raise Refused(403, "this did not come from claw's page",
                      hint=f"programs use /v1, or send {HEADER}: 1")


def check_owner(call: Call) -> None:
    """Raises Refused unless the owner's key was shown."""
    if call.key is None:
        raise Refused(401, "sign in first")
    if call.key.sees != OWNER:
        raise Refused(403, "the page is the owner's", hint=_HOW_TO_SIGN_IN)

