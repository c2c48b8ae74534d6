"""Embedders over HTTP: openai, openrouter, custom:URL.

POST {"model", "input": [texts]} in OpenAI's shape, a batch a request, in
turn. Busy servers are asked again; texts that are too long are cut.
Source: OpenAI's API reference, "Create embeddings", read 2026-11.
"""

import asyncio
import random
import re
from array import array
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from claw.core.embedding import EmbeddingProvider, Vector
from claw.core.errors import (
    ClawError,
    IncompleteAnswerError,
    QuotaError,
    RequestRefusedError,
    UnavailableError,
)
from claw.memory.embeddings.answer import vectors
from claw.memory.embeddings.connection import Connection
from claw.memory.embeddings.known import is_multilingual, takes_dimensions
from claw.net.errors import Peer, class_names, status_error, summarise
from claw.net.http import Answer, HttpClient

T = TypeVar("T")
Floats = list["array[float]"]

TIMEOUT_S = 30.0
ONE_TIMEOUT_S = 6.0  # somebody waits for the answer to a question
ANSWER_BYTES = 32 * 1024 * 1024
BATCH_TEXTS = 100
# A token is a byte at least, and OpenAI takes 8,192 of a text and 300,000
# of a request.
BATCH_BYTES = 256 * 1024
TEXT_BYTES = 24 * 1024
_SHORTEST = 32
_TRIES = 4
_LONGEST_WAIT_S = 20.0
_TOO_LONG = re.compile("token|context|length|too (long|large|many)|batch",
                       re.IGNORECASE)
_KEY_HINT = "set it with: claw config set memory.embedding_api_key"
_SLOW_HINT = "is it busy? claw memory reindex fills in what is missing"


class HttpEmbedder(EmbeddingProvider):
    """An endpoint and one model of it. May be called from any thread;
    holds nothing open between calls."""

    def __init__(self, connection: Connection, *,
                 sleep: Callable[[float], Coroutine[Any, Any, None]]
                 = asyncio.sleep,
                 rng: Callable[[], float] = random.random) -> None:
        self._to = connection
        self._url = endpoint(connection.url)
        self._peer = Peer("the embedding API", key_hint=_KEY_HINT,
                          slow_hint=_SLOW_HINT,
                          secrets=(connection.key,) if connection.key else ())
        self._sleep = sleep
        self._rng = rng

    @classmethod
    def build(cls, connection: Connection) -> "HttpEmbedder":
        return cls(connection)

    @property
    def name(self) -> str:
        return self._to.name.partition("?")[0]

    @property
    def dimensions(self) -> int:
        return self._to.dimensions

    @property
    def model(self) -> str:
        """The endpoint without its query, which may hold a key."""
        where = self._url.partition("?")[0]
        return f"{where}|{self._to.model}|{self._to.dimensions}"

    @property
    def is_multilingual(self) -> bool:
        return is_multilingual(self._to.model)

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Raises AuthError where the key is missing or refused, and
        UnavailableError (and its kin) where no good answer comes."""
        if not texts:
            return []
        if self._to.no_key is not None:
            # Raised again and again, it would gather tracebacks.
            raise self._to.no_key.with_traceback(None)
        sent = [cut(text) for text in texts]
        return _run(lambda: self._all(sent))

    async def _all(self, texts: Sequence[str]) -> Floats:
        client = HttpClient(self._peer, timeout_s=ONE_TIMEOUT_S
                            if len(texts) == 1 else TIMEOUT_S,
                            max_bytes=ANSWER_BYTES,
                            transport=self._to.transport)
        try:
            return [vector for batch in batches(texts)
                    for vector in await self._batch(client, batch)]
        finally:
            await client.aclose()

    async def _batch(self, client: HttpClient, texts: Sequence[str]
                     ) -> Floats:
        """One batch; one that is too long goes in halves, a text that is
        too long by itself is cut in half."""
        try:
            return await self._retry(client, texts)
        except UnavailableError as error:
            half = len(texts) // 2
            if not is_too_long(error):
                raise
            if half:
                return [*await self._batch(client, texts[:half]),
                        *await self._batch(client, texts[half:])]
            shorter = cut(texts[0], len(texts[0].encode()) // 2)
            if len(shorter) < _SHORTEST:
                raise
            return await self._batch(client, [shorter])

    async def _retry(self, client: HttpClient, texts: Sequence[str]
                         ) -> Floats:
        """The answer, in a few tries; all waits together are bounded."""
        left = _LONGEST_WAIT_S
        for attempt in range(_TRIES):
            try:
                return await self._ask(client, texts)
            except UnavailableError as error:
                # What the server asks for, or full jitter.
                wait = self._rng() * 0.5 * float(2 ** attempt) \
                    if error.retry_after_s is None \
                    else error.retry_after_s + self._rng() / 10
                left -= wait
                if attempt == _TRIES - 1 or left < 0 \
                        or not is_passing(error):
                    raise
            await self._sleep(wait)
        raise AssertionError("the last try raises")

    async def _ask(self, client: HttpClient, texts: Sequence[str]
                   ) -> Floats:
        body: dict[str, Any] = {"model": self._to.model,
                                "input": list(texts)}
        if takes_dimensions(self._to.model):
            body["dimensions"] = self._to.dimensions
        headers = dict(self._to.headers)
        if self._to.key:
            headers["authorization"] = f"Bearer {self._to.key}"
        answer = await client.request("POST", self._url, json=body,
                                      headers=headers, check=False)
        if answer.status >= 300:
            raise self._build_error(answer)
        return vectors(answer.content, len(texts), self._to.dimensions,
                       self._peer)

    def _build_error(self, answer: Answer) -> ClawError:
        found = status_error(self._peer, answer.status, answer.text,
                             headers=answer.headers, model=self._to.model)
        found.message = (f"Embedding API error {answer.status}: "
                         f"{summarise(answer.text, self._peer.secrets)}")
        found.args = (found.message,)
        return found


def endpoint(base: str) -> str:
    """Where the requests go: a base that ends in /embeddings as it is, one
    with a path and /embeddings, a bare host and /v1/embeddings."""
    parts = urlsplit(base.strip())
    path = parts.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path = (path or "/v1") + "/embeddings"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """At most BATCH_TEXTS and about BATCH_BYTES each."""
    batch: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if batch and (len(batch) == BATCH_TEXTS
                      or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def cut(text: str, size: int = TEXT_BYTES) -> str:
    """The beginning of a text: valid UTF-8, never blank (servers refuse
    that)."""
    raw = text.lstrip()[:size].encode("utf-8", "replace")[:size]
    return raw.decode("utf-8", "ignore") or " "


def is_passing(error: UnavailableError) -> bool:
    """Whether asking again may help."""
    if isinstance(error, RequestRefusedError | QuotaError) \
            or is_too_long(error):
        return False
    if isinstance(error, IncompleteAnswerError) \
            or "ConnectionResetError" in class_names(error):
        return True
    return error.status in (408, 429) or (error.status or 0) >= 500


def is_too_long(error: UnavailableError) -> bool:
    """Whether a server refused because there was too much. llama.cpp says
    so with a 500."""
    if error.status in (400, 422):
        return _TOO_LONG.search(error.message) is not None
    return error.status == 413 or (
        error.status == 500 and "too large to process" in error.message)


def _run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What a coroutine gives, from plain code; where a loop already runs
    in this thread, with the help of another one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as helper:
        return helper.submit(lambda: asyncio.run(work())).result()
