"""Who answers a call of OpenAI's API: a provider, the agent, an embedder."""

import asyncio
import json
import uuid
from collections.abc import Callable, Sequence

from claw.agent import dispatchers
from claw.config.tree import Tree
from claw.core.embedding import Vector
from claw.core.images import MARK
from claw.core.log import Log
from claw.core.provider import (
    ChatRequest,
    ChatResponse,
    Provider,
    ToolCall,
    close_stream,
)
from claw.core.turn import TurnContext, current_turn
from claw.core.value import replace
from claw.gateway.endpoint import Key
from claw.gateway.openai.call import ModelCall
from claw.gateway.openai.embeddings import EmbeddingCall
from claw.gateway.openai.endpoints import NO_MODEL
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.options import build_chat_request
from claw.gateway.openai.replays import Replays
from claw.gateway.openai.stream import Pipe, Work
from claw.providers.catalog.vendors import display_name
from claw.providers.wire.reader import new_call_id
from claw.wiring.gateway.agent_turn import AgentTurns
from claw.wiring.gateway.opened import Opened, Opener
from claw.wiring.gateway.target import Place, find_target
from claw.wiring.memory.embedding import build_embedder, choose_embedder
from claw.wiring.models.known_models import list_known_models

AGENT = "claw"
# OpenAI's own, where a request says nothing.
TEMPERATURE = 1.0


class ClawAnswers:
    """See gateway.openai.endpoints.Answers."""

    def __init__(self, tree: Callable[[], Tree], log: Log,
                 note_turn: Callable[[], None]) -> None:
        self._opener = Opener(tree, log)
        self._turns = AgentTurns(log, note_turn)
        self._replays = Replays()

    async def aclose(self) -> None:
        await self._opener.aclose()

    def answer(self, turn_id: str, call: ModelCall, key: Key | None) -> Work:
        async def work(pipe: Pipe) -> ChatResponse:
            async with self._opener.use() as opened:
                opened.check_stop()
                if call.model == AGENT:
                    return await self._turns.run(opened, turn_id, call, key,
                                                 pipe)
                owner = key.id if key else ""
                response = await _ask_provider(
                    opened, turn_id, replace(
                        call, messages=self._replays.restore(
                            owner, call.messages)), key, pipe)
                self._replays.keep(owner, response)
                return response
        return work

    async def list_models(self, key: Key | None) -> Sequence[str]:
        async with self._opener.use() as opened:
            return await asyncio.to_thread(_list_models, opened)

    async def embed(self, call: EmbeddingCall, key: Key | None
                    ) -> Sequence[Vector]:
        async with self._opener.use() as opened:
            opened.check_stop()
            current_turn.set(_build_context(opened, uuid.uuid4().hex, key))
            return await asyncio.to_thread(_embed, opened.tree, call)


def _build_context(opened: Opened, turn_id: str, key: Key | None
                   ) -> TurnContext:
    """What the ledger is told of a call."""
    name = f"gateway:{key.name if key else 'local'}"
    return TurnContext("gateway", turn_id, name, channel=name,
                       day_limit_usd=opened.day_limit_usd)


# -- a model of a provider

async def _ask_provider(opened: Opened, turn_id: str, call: ModelCall,
                        key: Key | None, pipe: Pipe) -> ChatResponse:
    """The model itself: no memory, no tools but the client's."""
    place = await opened.find_place(call.model)
    provider = opened.open_provider(place.vendor.name)
    target = find_target(provider, place)
    _check_images(call, provider, place)
    request = build_chat_request(call, target)
    current_turn.set(_build_context(opened, turn_id, key))
    temperature = TEMPERATURE if call.temperature is None \
        else call.temperature
    # Calls that a model writes as text are no text for the client.
    in_words = bool(request.tools) and not target.native
    if not call.stream or in_words:
        response = await provider.chat(request, place.model, temperature)
    else:
        response = await _stream(provider, request, place.model, temperature,
                                 pipe)
    if in_words:
        response = _read_calls(response, request, provider, place.model)
        if call.stream and response.text:
            pipe.put(response.text)
    return response


async def _stream(provider: Provider, request: ChatRequest, model: str,
                  temperature: float, pipe: Pipe) -> ChatResponse:
    response = None
    async with close_stream(provider.stream_chat(
            request, model, temperature)) as chunks:
        async for chunk in chunks:
            if chunk.delta:
                pipe.put(chunk.delta)
                await pipe.wait_for_room()
            if chunk.is_final:
                response = chunk.response
    return response or ChatResponse()


def _read_calls(response: ChatResponse, request: ChatRequest,
                provider: Provider, model: str) -> ChatResponse:
    known = {tool.name: tool.parameters for tool in request.tools or ()}
    text, calls = dispatchers.select("auto", provider, model, known
                                     ).parse_response(response)
    return replace(response, text=text or None, tool_calls=tuple(
        ToolCall(call.tool_call_id or new_call_id(), call.name,
                 json.dumps(call.arguments, ensure_ascii=False))
        for call in calls))


def _check_images(call: ModelCall, provider: Provider, place: Place) -> None:
    """Raise BadRequest for images that would not arrive: of other servers
    than these it is only guessed what their models see."""
    guessed = place.vendor.plugin in ("compatible", "openai") \
        and not place.vendor.merge_system
    if any(MARK + "data:" in one.content for one in call.messages
           if one.role == "user") and not guessed \
            and not provider.capabilities_for(place.model).vision:
        raise BadRequest(f"{call.model} takes no images", "messages",
                         "unsupported_content")


def _list_models(opened: Opened) -> list[str]:
    """claw, the short names, then everything that is known."""
    return list(dict.fromkeys([
        AGENT, *opened.providers.aliases,
        *(f"{one.provider}/{one.model}"
          for one in list_known_models(opened.tree)),
        *_name_embedder(opened.tree)[:1]]))


# -- embeddings

def _name_embedder(tree: Tree) -> list[str]:
    """What the embedder may be called; nothing where there is none."""
    chosen = choose_embedder(tree, lambda _: None)
    if not chosen.provider:
        return []
    return [f"{display_name(chosen.provider)}/{chosen.model}", chosen.model,
            chosen.provider, AGENT]


def _embed(tree: Tree, call: EmbeddingCall) -> Sequence[Vector]:
    names = _name_embedder(tree)
    embedder = build_embedder(tree) if names else None
    if embedder is None:
        raise BadRequest("no embedder is set up (claw config set "
                         "memory.embedding_provider NAME)", "model",
                         NO_MODEL, 404)
    if call.model not in names:
        raise BadRequest(f"no embedder is called {call.model[:100]!r}; there "
                         f"is {names[0]}", "model", NO_MODEL, 404)
    if call.dimensions not in (None, embedder.dimensions):
        raise BadRequest(f"dimensions: {call.model} has "
                         f"{embedder.dimensions}", "dimensions")
    return embedder.embed(call.texts)
