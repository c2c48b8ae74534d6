"""The rows of OpenAI's API in the route table.

Who answers (a model, the agent, an embedder) comes in as `Answers`.
"""

import time
import uuid
from collections.abc import Sequence
from typing import Any, Protocol

from starlette.responses import Response

from claw.core.embedding import Vector
from claw.core.errors import ClawError
from claw.core.log import Log
from claw.gateway.endpoint import Call, Endpoint, Handler, Key, Schema, reply
from claw.gateway.openai import chat, embeddings, responses
from claw.gateway.openai.call import ModelCall
from claw.gateway.openai.chat import ChatWriter, parse_chat
from claw.gateway.openai.embeddings import (
    EmbeddingCall,
    parse_embeddings,
    render_embeddings,
)
from claw.gateway.openai.errors import (
    BadRequest,
    render_error,
    reply_error,
    translate,
)
from claw.gateway.openai.events import ResponseWriter
from claw.gateway.openai.responses import parse_responses
from claw.gateway.openai.stream import (
    DONE,
    Encode,
    Work,
    collect,
    encode_data,
    encode_event,
    open_stream,
    run,
)

# Images come inside of the body.
BODY_BYTES = 32 << 20
NO_MODEL = "model_not_found"


class Answers(Protocol):
    """Who answers. Members raise BadRequest and ClawError."""

    def answer(self, turn_id: str, call: ModelCall, key: Key | None
               ) -> Work:
        """What makes the answer."""

    async def list_models(self, key: Key | None) -> Sequence[str]:
        """The names that may be asked for."""

    async def embed(self, call: EmbeddingCall, key: Key | None
                    ) -> Sequence[Vector]:
        """A vector for each text."""


class OpenAIApi:
    """The handlers."""

    def __init__(self, answers: Answers, log: Log) -> None:
        self._answers = answers
        self._log = log
        self._since = int(time.time())

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        def row(path: str, handle: Handler, body: Schema | None = None
                ) -> Endpoint:
            return Endpoint(path, self._guard(handle),
                            methods=("POST" if body else "GET",),
                            body_bytes=BODY_BYTES if body else 0,
                            timeout_s=None, keeps_answers=body is not None,
                            render_error=render_error, body=body)
        return (row("/v1/chat/completions", self.complete, chat.SCHEMA),
                row("/v1/responses", self.respond, responses.SCHEMA),
                row("/v1/embeddings", self.embed, embeddings.SCHEMA),
                row("/v1/models", self.list_models),
                row("/v1/models/{name:path}", self.show_model))

    async def complete(self, call: Call) -> Response:
        asked = parse_chat(await call.json())
        turn_id = uuid.uuid4().hex
        return await self._answer(call, asked, turn_id, ChatWriter(
            turn_id, asked), encode_data, DONE)

    async def respond(self, call: Call) -> Response:
        asked = parse_responses(await call.json())
        turn_id = uuid.uuid4().hex
        return await self._answer(call, asked, turn_id, ResponseWriter(
            turn_id, asked), encode_event)

    async def _answer(self, call: Call, asked: ModelCall, turn_id: str,
                      writer: ChatWriter | ResponseWriter, encode: Encode,
                      last: bytes = b"") -> Response:
        pieces = run(self._answers.answer(turn_id, asked, call.key))
        if asked.stream:
            return await open_stream(pieces, writer, encode, self._note,
                                     last)
        return reply(writer.whole(await collect(pieces, call.request)))

    async def embed(self, call: Call) -> Response:
        asked = parse_embeddings(await call.json())
        return reply(render_embeddings(
            asked, await self._answers.embed(asked, call.key)))

    async def list_models(self, call: Call) -> Response:
        return reply({"object": "list", "data": [
            self._describe(name)
            for name in await self._answers.list_models(call.key)]})

    async def show_model(self, call: Call) -> Response:
        name = call.request.path_params["name"]
        if name not in await self._answers.list_models(call.key):
            raise BadRequest(f"no model is called {name[:100]!r}", "model",
                             NO_MODEL, 404)
        return reply(self._describe(name))

    def _describe(self, name: str) -> dict[str, Any]:
        owner, slash, _ = name.partition("/")
        return {"id": name, "object": "model", "created": self._since,
                "owned_by": owner.partition(":")[0] if slash else "claw"}

    def _guard(self, handle: Handler) -> Handler:
        """The handler, with its errors in OpenAI's shape."""
        async def guarded(call: Call) -> Response:
            try:
                return await handle(call)
            except (ClawError, BadRequest) as error:
                return reply_error(translate(error))
        return guarded

    def _note(self, error: Exception) -> None:
        self._log("gateway.broken_answer", error=translate(error).message
                  if isinstance(error, ClawError)
                  else f"{type(error).__name__}: {error}")
