"""Wires that stream server-sent events, and answer one JSON object else.

A server that does not stream is read whole, whatever was asked. A
connection that breaks off or falls silent behind the end of the answer took
nothing with it; one that ends before it is an error.
"""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from typing import TypeVar

from claw.core.errors import UnavailableError
from claw.net.http import HttpClient
from claw.net.sse import Event
from claw.providers.wire.answers import (
    Exchange,
    cut_off,
    no_message,
    read_events,
    read_text,
    refuse_page,
    web_page,
)
from claw.providers.wire.json import Json
from claw.providers.wire.loop import RequestState, WireProvider, WireRequest
from claw.providers.wire.reader import EventReader

S = TypeVar("S", bound=RequestState)
W = TypeVar("W", bound=WireRequest)
R = TypeVar("R", bound=EventReader)


class EventProvider(WireProvider[S, W, R]):
    """`no_page` is the hint where a web page answers, `missing` what an
    answer without content lacks."""

    no_page: str
    missing: str
    chat_url: str
    _http: HttpClient
    _headers: Mapping[str, str]

    @abstractmethod
    def _parse(self, text: str, wire: W) -> Json:
        """A JSON object that is no error."""

    def _is_over(self, wire: W, reader: R) -> bool:
        """Whether nothing that could still come counts."""
        return reader.finished

    def _ends_at_done(self, wire: W) -> bool:
        """Whether "[DONE]" is an end without another word."""
        return False

    def _url(self, wire: W) -> str:
        return self.chat_url

    def _open(self, wire: W, headers: Mapping[str, str]
              ) -> AbstractAsyncContextManager[Exchange]:
        """The answer to one body; raises for a status of 300 or more."""
        return self._http.open("POST", self._url(wire), json=wire.body,
                               headers={**self._headers, **headers},
                               model=wire.body["model"])

    def translate(self, error: BaseException) -> UnavailableError:
        """The error of a connection that failed."""
        return self._http.broken(self.chat_url, error,
                                 self._connection.timeout_s)

    async def _read_whole(self, wire: W, reader: R) -> None:
        try:
            async with (asyncio.timeout(self._connection.timeout_s),
                        self._open(wire, {}) as answer):
                refuse_page(self.vendor.title, answer.headers, self.no_page)
                text = await read_text(answer)
        except TimeoutError as error:
            raise self.translate(error) from error
        if text.lstrip().startswith("<"):
            raise web_page(self.vendor.title, self.no_page)
        self._take_whole(text, wire, reader)

    async def _deltas(self, wire: W, reader: R) -> AsyncGenerator[str]:
        async with self._open(
                wire, {"accept-encoding": "identity"}) as answer:
            refuse_page(self.vendor.title, answer.headers, self.no_page)
            if "json" in answer.headers.get("content-type", ""):
                whole = await read_text(answer)
                if delta := self._take_whole(whole, wire, reader):
                    yield delta
                return
            async with aclosing(self._events(answer, reader)) as events:
                async for event in events:
                    if event.data.strip() == "[DONE]":
                        if self._ends_at_done(wire):
                            return
                        break
                    if delta := reader.take(self._parse(event.data, wire)):
                        yield delta
                    if self._is_over(wire, reader):
                        return
            if not reader.finished:
                raise cut_off(self.vendor.title)

    async def _events(self, answer: Exchange, reader: R
                      ) -> AsyncGenerator[Event]:
        try:
            async with aclosing(read_events(
                    self.vendor.title, answer, self.no_page)) as events:
                async for event in events:
                    yield event
        except UnavailableError:
            if not reader.finished:
                raise

    def _take_whole(self, text: str, wire: W, reader: R) -> str:
        """The visible text of an answer in one piece."""
        data = self._parse(text, wire)
        try:
            return reader.take_whole(data)
        except ValueError as error:
            raise no_message(self.vendor.title, self.missing) from error
