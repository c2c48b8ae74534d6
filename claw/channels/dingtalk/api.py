"""DingTalk over HTTP: calls, session webhooks, uploads and downloads.

    await api.call("robot/groupMessages/send", {...}, "a message")

POST <api_base_url>/v1.0/<path> with the token in a header of DingTalk's own.
The token holds for two hours and is fetched anew before they are over, or
when a call says that it is none. Uploads go to the older API, answers of a
running conversation to the address that came with it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote_plus

from claw.channels.client import check_address, check_token
from claw.channels.dingtalk.answers import (
    is_fine,
    read_body,
    read_refusal,
    read_text,
)
from claw.channels.dingtalk.hosts import STORES, is_own, is_session
from claw.channels.dingtalk.messages import is_group
from claw.channels.dingtalk.pace import Pace
from claw.channels.dingtalk.settings import DingtalkSettings
from claw.channels.gate import RateGate, wait_turn
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.core.value import replace
from claw.net.errors import Peer, status_error
from claw.net.http import Answer, HttpClient
from claw.net.lean import httpx
from claw.version import __version__

CALL_S = 30.0
FILE_S = 120.0
SIGN_S = 10.0
FILE_BYTES = 20 * 1024 * 1024  # DingTalk takes no more
PATIENCE_S = 3.0  # a call waits this long for the gate, then gives up
EARLY_S = 300.0
MESSAGES = "/v1.0/im/bot/messages/get"
_SECRETS = 200  # that errors are searched for
_TABLE = "channels_config.dingtalk"
_TOKEN_HEADER = "x-acs-dingtalk-access-token"
SECRET_HINT = (f"set client_id and client_secret of {_TABLE}; they stand at "
               "open-dev.dingtalk.com, Credentials")


class DingtalkApi:
    """Calls of one robot. Raises AuthError, RateLimitedError,
    RequestRefusedError and UnavailableError; none holds a secret."""

    def __init__(self, settings: DingtalkSettings, *, log: Log,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._client_id = settings.client_id.strip()
        self._secret = settings.client_secret.strip()
        self.robot_code = settings.robot_code.strip() or self._client_id
        self.base_url = settings.api_base_url.strip().rstrip("/")
        self._oapi_url = settings.oapi_base_url.strip().rstrip("/")
        self.proxy_url = settings.proxy_url
        self.sleep = sleep or asyncio.sleep
        self._log = log
        self._clock = clock
        self._token = ""
        self._token_until = 0.0
        self._fetching = asyncio.Lock()
        self._gate = RateGate(clock)
        self._session_gate = RateGate(clock)
        self._pace = Pace(clock)
        self._complained: dict[str, str] = {}
        self._own_secrets = (self._secret,) if self._secret else ()
        self._http = HttpClient(
            Peer("DingTalk", secrets=self._own_secrets,
                 key_hint=SECRET_HINT), timeout_s=FILE_S,
            proxy_url=settings.proxy_url, transport=transport,
            max_bytes=FILE_BYTES + 1024 * 1024)

    async def aclose(self) -> None:
        await self._http.aclose()

    @property
    def peer(self) -> Peer:
        return self._http.peer

    @property
    def _bases(self) -> tuple[str, str]:
        return self.base_url, self._oapi_url

    # -- calls

    async def call(self, path: str, body: Mapping[str, Any], what: str, *,
                   chat: str | None = None, timeout_s: float = CALL_S,
                   patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """The answer of POST /v1.0/<path>; `what` names it in errors.

        Waits up to `patience_s` for a limit to end, else raises
        RateLimitedError with `retry_after_s`.
        """
        await self._wait_turn(self._gate, chat, patience_s)
        try:
            return await self._with_token(
                lambda token: self._ask(
                    f"{self._checked()}/v1.0/{path}", body, what, timeout_s,
                    {_TOKEN_HEADER: token}))
        except RateLimitedError as error:
            self._gate.close(chat, error.retry_after_s)
            raise

    async def _wait_turn(self, gate: RateGate, chat: str | None,
                         patience_s: float) -> None:
        group = chat if chat is not None and is_group(chat) else None
        paced_s = self._pace.wait_s(group) if group else 0.0
        await wait_turn("DingTalk", max(gate.wait_s(chat), paced_s),
                        patience_s, self.sleep)
        if group:
            self._pace.note(group)

    async def _with_token(self, ask: Callable[
            [str], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """A call, again with a new token where the one that we had is
        refused: somebody else may have fetched one."""
        token = await self.token()
        try:
            return await ask(token)
        except AuthError:
            if token == self._token:
                self._token = ""
        return await ask(await self.token())

    async def post_session(self, url: str, chat: str,
                           body: Mapping[str, Any]) -> None:
        """An answer to the session webhook of a chat."""
        if not self.is_session(url):
            raise RequestRefusedError("no session webhook of DingTalk's")
        await self._wait_turn(self._session_gate, chat, PATIENCE_S)
        try:
            await self._ask(url, body, "an answer", CALL_S)
        except RateLimitedError as error:
            self._session_gate.close(chat, error.retry_after_s)
            raise
        except AuthError as error:  # of this address, not of the app
            raise RequestRefusedError(error.message, status=400) from error

    def is_session(self, url: str) -> bool:
        return is_session(url, self._bases)

    async def cosmetic(self, path: str, body: Mapping[str, Any],
                       what: str) -> None:
        """A call that nobody should wait for (reactions), dropped while it
        is limited. What went wrong is logged once."""
        try:
            await self.call(path, body, what, timeout_s=SIGN_S,
                            patience_s=0.0)
        except RateLimitedError:
            return
        except ClawError as error:
            if self._complained.get(path) != error.message:
                self._complained[path] = error.message
                self._log("dingtalk_call_failed", call=path,
                          error=error.message, hint=error.hint)
            return
        self._complained.pop(path, None)

    # -- token and stream

    async def token(self, *, fresh: bool = False,
                    timeout_s: float = CALL_S) -> str:
        """The access token, fetched where there is none that holds."""
        async with self._fetching:
            if fresh or not self._token \
                    or self._clock() >= self._token_until:
                await self._fetch_token(timeout_s)
            return self._token

    async def _fetch_token(self, timeout_s: float) -> None:
        self._check_secrets()
        found = await self._ask(
            f"{self._checked()}/v1.0/oauth2/accessToken",
            {"appKey": self._client_id, "appSecret": self._secret},
            "the access token", timeout_s)
        token, holds = read_text(found, "accessToken"), found.get("expireIn")
        check_token("DingTalk", token, SECRET_HINT, what="answered token")
        holds_s = float(holds) if isinstance(holds, int | float) \
            and 0 < holds < 1e6 else 2 * EARLY_S
        self._token = token
        self._token_until = self._clock() + max(holds_s / 2,
                                                holds_s - EARLY_S)

    async def open_stream(self, *, timeout_s: float = CALL_S) -> str:
        """The address of a new connection, good for one."""
        self._check_secrets()
        found = await self._ask(
            f"{self._checked()}/v1.0/gateway/connections/open",
            {"clientId": self._client_id, "clientSecret": self._secret,
             "subscriptions": [{"type": "CALLBACK", "topic": MESSAGES}],
             "ua": f"claw/{__version__}"}, "a stream", timeout_s)
        endpoint, ticket = (read_text(found, key)
                            for key in ("endpoint", "ticket"))
        if not ticket or not is_own(endpoint, self._bases,
                                    schemes=("wss",)):
            raise UnavailableError(
                "DingTalk opened a stream and gave no address of its own")
        url = f"{endpoint}?ticket={quote_plus(ticket)}"
        self._http.guard(url, {})
        return url

    def _check_secrets(self) -> None:
        check_token("dingtalk", self._client_id, SECRET_HINT,
                    what="client_id")
        check_token("dingtalk", self._secret, SECRET_HINT,
                    what="client_secret")

    # -- files

    async def upload(self, kind: str, name: str, content: bytes) -> str:
        """The media id of a file; `kind` is image, voice, video, file."""
        check_address(self._oapi_url, f"{_TABLE}.oapi_base_url",
                      "https://oapi.dingtalk.com")
        form = httpx.Request("POST", "http://form/", files={
            "media": (name, content)})
        body = form.read()
        headers = {"content-type": form.headers["content-type"]}
        found = await self._with_token(lambda token: self._ask(
            f"{self._oapi_url}/media/upload?access_token={quote_plus(token)}"
            f"&type={kind}", body, "the upload of a file", FILE_S, headers))
        media = read_text(found, "media_id")
        if not media:
            raise UnavailableError("DingTalk took a file and gave no id")
        return media

    async def download(self, code: str) -> bytes:
        """A file that somebody sent, by its code; at most FILE_BYTES."""
        found = await self.call(
            "robot/messageFiles/download",
            {"downloadCode": code, "robotCode": self.robot_code}, "a file")
        url = read_text(found, "downloadUrl")
        if url.startswith("http://") and not is_own(url, self._bases):
            url = "https" + url.removeprefix("http")
        if not is_own(url, self._bases, hosts=STORES):
            raise RequestRefusedError("the file is not at DingTalk")
        answer = await self._http.request("GET", url, check=False,
                                          timeout_s=FILE_S)
        if answer.status >= 300:
            raise status_error(self.peer, answer.status, answer.text,
                               headers=answer.headers)
        if len(answer.content) > FILE_BYTES:
            raise RequestRefusedError("the file is larger than 20 MiB")
        return answer.content

    # -- the wire

    async def _ask(self, url: str, body: Mapping[str, Any] | bytes,
                   what: str, timeout_s: float,
                   headers: Mapping[str, str] | None = None
                   ) -> dict[str, Any]:
        sent: dict[str, Any] = {"content": body} \
            if isinstance(body, bytes) else {"json": dict(body)}
        self._forget_old_secrets()
        answer: Answer = await self._http.request(
            "POST", url, headers=headers, check=False, timeout_s=timeout_s,
            **sent)
        found = read_body(answer)
        if is_fine(answer, found):
            return found
        raise read_refusal(self.peer, what, answer, found)

    def _forget_old_secrets(self) -> None:
        """Tickets, tokens and webhooks are many, and each is soon over."""
        peer = self.peer
        if len(peer.secrets) > _SECRETS:
            self._http.peer = replace(peer, secrets=(
                *self._own_secrets, *peer.secrets[-_SECRETS // 2:]))

    def _checked(self) -> str:
        check_address(self.base_url, f"{_TABLE}.api_base_url",
                      "https://api.dingtalk.com")
        return self.base_url
