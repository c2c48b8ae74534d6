"""The way to Gemini: addresses, key or sign-in, and what comes back.

With an API key the public address is asked, the key in the query; with the
sign-in of the Gemini CLI an internal one, where the same request stands in
an envelope and the answer in another.
Source: ai.google.dev/api and gemini-cli's code_assist, read 2026-11.
"""

import json
import re
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from claw.core.errors import (
    AuthError,
    ConfigError,
    RateLimitedError,
    UnavailableError,
)
from claw.core.value import Value, hidden, replace
from claw.net.errors import Peer, status_error
from claw.net.http import HttpClient
from claw.providers.connection import Connection
from claw.providers.gemini.auth import AGAIN, Login
from claw.providers.gemini.request import GeminiRequest
from claw.providers.settings import SLOW_HINT
from claw.providers.wire.answers import (
    json_object,
    no_list,
    read_events,
    read_json,
    read_text,
    refuse_page,
)
from claw.providers.wire.json import Json, parse_json

T = TypeVar("T")

VERSION = "v1beta"
HOST = "generativelanguage.googleapis.com"
GENERATE, STREAM = "generateContent", "streamGenerateContent"
KEY_HINT = ("set GEMINI_API_KEY, or: claw config set "
            "model_providers.gemini.api_key")
_VERSIONS = re.compile(r"/v\d+(?:alpha|beta)?\d*$")

# What to do where a web page answers.
_NO_PAGE = "correct the base URL"


class _Route(Value):
    """Where a request goes and as whom; `token` is that of a sign-in."""

    url: str = hidden()
    headers: Mapping[str, str] = hidden()
    body: Json = hidden()
    token: str | None = hidden(default=None)


class GeminiHttp:
    """Requests to one vendor. `login` stands in for a key; the setting
    `auth` is the header for the key where the query is not the place (a
    gateway)."""

    def __init__(self, connection: Connection, login: Login | None) -> None:
        vendor, auth = connection.vendor, connection.named.auth
        self.title = vendor.title
        self.root, self._query = endpoint(vendor.url, vendor.api_path)
        self._key = connection.key or vendor.default_key
        self._login = None if self._key else login
        self._needs_key = vendor.needs_key
        self._in_query = bool(self._key) and not auth
        self._headers = {**dict(vendor.headers),
                         **key_header(auth, self._key),
                         **connection.extra_headers}
        quoted = (quote(self._key, safe=""),) if self._key else ()
        peer = Peer(
            vendor.title, key_hint=KEY_HINT, start_hint=vendor.start_hint,
            slow_hint=SLOW_HINT,
            secrets=(self._key, *quoted) if self._key else (),
            models_hint=f"claw provider models {vendor.name}")
        self._http = HttpClient(peer, timeout_s=connection.timeout_s,
                                transport=connection.transport)

    @property
    def peer(self) -> Peer:
        """Who is asked, for errors; nothing secret comes through it."""
        return self._http.peer

    @property
    def address(self) -> str:
        """Where the models are; there is no key in it."""
        return self._login.internal_url if self._login else self.root

    @property
    def has_list(self) -> bool:
        """Whether it can be asked for its models; by a sign-in it can't."""
        return self._login is None

    async def whole(self, wire: GeminiRequest) -> Json:
        """The answer in one piece."""
        answer = await self._ask(
            wire, GENERATE, lambda route: self._http.request(
                "POST", route.url, headers=route.headers, json=route.body,
                model=wire.model))
        refuse_page(self.title, answer.headers, _NO_PAGE)
        return self._parse(answer.text, wire.model)

    async def pieces(self, wire: GeminiRequest) -> AsyncGenerator[Json]:
        """The answers of a stream, each as it comes."""
        async with AsyncExitStack() as stack:
            answer = await self._ask(
                wire, STREAM, lambda route: stack.enter_async_context(
                    self._http.open(
                        "POST", route.url, json=route.body, model=wire.model,
                        headers={**route.headers,
                                 "accept-encoding": "identity"})))
            refuse_page(self.title, answer.headers, _NO_PAGE)
            if "json" in answer.headers.get("content-type", ""):
                # a server that does not stream, or one without SSE
                for data in self._parse_rows(await read_text(answer),
                                             wire.model):
                    yield data
                return
            async with aclosing(read_events(
                    self.title, answer, _NO_PAGE)) as events:
                async for event in events:
                    if event.data.strip() not in ("", "[DONE]"):
                        yield self._parse(event.data, wire.model)

    async def models_page(self, page: str) -> Json:
        """A page of the list of models."""
        query = {"pageSize": "1000", **({"pageToken": page} if page else {})}
        answer = await self._http.request(
            "GET", self._url("models", query), headers=self._headers)
        data = read_json(answer)
        if not isinstance(data, dict) or not isinstance(
                data.get("models", []), list):
            raise no_list(self.title)
        return data

    async def warmup(self) -> None:
        self.check_key()
        if self._login is not None:
            await self._login.project()
        else:
            await self.models_page("")

    async def aclose(self) -> None:
        await self._http.aclose()
        if self._login is not None:
            await self._login.aclose()

    def check_key(self) -> None:
        """Raises AuthError without key or sign-in."""
        if self._needs_key and not self._key and not self._login:
            raise AuthError(f"{self.title} API key not set", hint=KEY_HINT)

    def _parse_rows(self, whole: str, model: str) -> list[Json]:
        try:
            rows = parse_json(whole)
        except ValueError:
            rows = None
        return [self._parse(json.dumps(row), model) for row in rows] \
            if isinstance(rows, list) else [self._parse(whole, model)]

    async def _ask(self, wire: GeminiRequest, action: str,
                   send: Callable[[_Route], Awaitable[T]]) -> T:
        """What a request gives, with another token where one is spent."""
        route = await self._route(wire, action)
        try:
            return await send(route)
        except (AuthError, UnavailableError) as error:
            if not await self._again(route, error):
                raise
        return await send(await self._route(wire, action))

    async def _route(self, wire: GeminiRequest, action: str) -> _Route:
        self.check_key()
        query = {"alt": "sse"} if action == STREAM else {}
        if self._login is None:
            return _Route(self._url(
                f"{model_path(wire.model)}:{action}", query),
                self._headers, wire.body)
        project = await self._login.project()  # may change the token
        token = await self._login.token()
        self._http.peer = replace(self.peer, secrets=self._login.secrets,
                                  key_hint=AGAIN)
        body: Json = {"model": bare_name(wire.model),
                      "user_prompt_id": str(uuid.uuid4()),
                      "request": wire.body}
        if project:
            body["project"] = project
        url = f"{self._login.internal_url}:{action}"
        return _Route(f"{url}?{urlencode(query)}" if query else url,
                      {**self._headers, "authorization": f"Bearer {token}"},
                      body, token)

    async def _again(self, route: _Route,
                     error: AuthError | UnavailableError) -> bool:
        """Whether a sign-in has another token for what was refused."""
        if self._login is None or route.token is None:
            return False
        spent = isinstance(error, AuthError | RateLimitedError) \
            or (error.status or 0) >= 500
        return spent and await self._login.rotate(route.token)

    def _url(self, path: str, query: Mapping[str, str]) -> str:
        asked = dict(query)
        if self._in_query and self._key:
            asked["key"] = self._key
        parts = [p for p in (self._query, urlencode(
            asked, quote_via=quote, safe="")) if p]
        return f"{self.root}/{path}" + ("?" + "&".join(parts) if parts
                                        else "")

    def _parse(self, text: str, model: str) -> Json:
        """A JSON object that is no error, out of its envelope."""
        data = json_object(self.title, text)
        error: Any = data.get("error")
        if error:
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and code >= 400 else 502
            raise status_error(self.peer, status, text, model=model)
        inner = data.get("response")
        return inner if isinstance(inner, dict) else data


def key_header(auth: str | None, key: str | None) -> dict[str, str]:
    """The key in a header, where that is wire."""
    if not auth or not key:
        return {}
    bearer = auth.lower() == "bearer"
    return {"authorization": f"Bearer {key}"} if bearer else {auth: key}


def endpoint(base: str, api_path: str | None = None) -> tuple[str, str]:
    """The address below which models stand, and the query that goes with
    every request. A version that the base ends in is kept; `api_path`
    takes its place. Raises ConfigError for what is no address."""
    try:
        scheme, netloc, path, query, _ = urlsplit(
            base.strip() or f"https://{HOST}")
    except ValueError as error:
        raise ConfigError(f"{base!r} is no address",
                          hint="correct the base URL") from error
    path = path.rstrip("/").removesuffix("/models").rstrip("/")
    if api_path:
        path += "/" + api_path.strip().strip("/")
    elif not _VERSIONS.search(path):
        path += "/" + VERSION
    return urlunsplit((scheme, netloc, path, "", "")), query


def bare_name(model: str) -> str:
    """A model's name without "models/"."""
    return model.strip().removeprefix("models/")


def model_path(model: str) -> str:
    """The path of a model; tuned models have a folder of their own."""
    name, folder = bare_name(model), "models"
    if name.startswith("tunedModels/"):
        folder, _, name = name.partition("/")
    return f"{folder}/{quote(name, safe='', errors='replace')}"
