"""What every wire says of an answer that is none: empty, cut off, a web
page, no JSON. Written once, so that the sentences are the same whoever was
asked. Pure but for noting tokens that were paid for nothing."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from claw.core.errors import IncompleteAnswerError, UnavailableError
from claw.core.ledger import set_aside
from claw.core.provider import ChatResponse, StreamChunk, estimate_tokens
from claw.core.turn import current_turn
from claw.net.http import Answer
from claw.net.sse import Decoder, Event
from claw.providers.wire.json import Json, parse_json

RIGHT_URL = "is the base URL right?"
CORRECT_URL = "correct the base URL"


class Exchange(Protocol):
    """An answer whose body is still to be read; header names in lower
    case."""

    headers: Mapping[str, str]

    def chunks(self) -> AsyncGenerator[bytes]: ...

    async def read(self) -> bytes: ...


def build_chunk(delta: str) -> StreamChunk:
    """A piece of a streamed answer."""
    return StreamChunk(delta, token_count=estimate_tokens(delta))


def check_empty(title: str, response: ChatResponse, attempt: int) -> None:
    """An empty answer is asked for once more, then it is an error. Where
    turns share a budget each call is one reservation, so that the second
    is left to whoever runs them."""
    set_aside(response.usage)  # it was paid for
    if response.finish_reason == "length":
        raise IncompleteAnswerError(
            f"{title} used up its tokens before it said anything",
            hint="allow more with --max-tokens")
    if response.finish_reason == "content_filter":
        raise IncompleteAnswerError(
            f"{title} held its answer back (content filter)",
            hint="ask in other words, or another model with -m")
    turn = current_turn.get()
    if turn is not None and turn.budget is not None:
        raise IncompleteAnswerError(f"{title} gave an empty answer",
                                    hint="try again")
    if attempt > 1:
        raise IncompleteAnswerError(
            f"{title} gave an empty answer, twice",
            hint="try again, or another model with -m")


def cut_off(title: str) -> IncompleteAnswerError:
    """The error for a stream without its end."""
    return IncompleteAnswerError(
        f"the stream of {title} ended before the answer did",
        hint="try again")


def no_message(title: str, missing: str) -> IncompleteAnswerError:
    """The error for a JSON object that holds no answer."""
    return IncompleteAnswerError(
        f"{title} sent an answer without {missing}", hint=RIGHT_URL)


def no_list(title: str) -> UnavailableError:
    """The error for what should be a list of models."""
    return UnavailableError(f"{title} gave no list of models",
                            hint=CORRECT_URL)


def refuse_page(title: str, headers: Mapping[str, str], hint: str) -> None:
    """Raises UnavailableError for an answer that is a web page."""
    if "html" in headers.get("content-type", ""):
        raise web_page(title, hint)


def web_page(title: str, hint: str) -> UnavailableError:
    """The error for a web page in the place of an answer."""
    return UnavailableError(f"{title} answered with a web page (HTML)",
                            hint=hint)


def json_object(title: str, text: str) -> Json:
    """The JSON object in a text. Raises IncompleteAnswerError for anything
    else."""
    try:
        data: Any = parse_json(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise IncompleteAnswerError(
            f"{title} sent something that is no answer", hint=RIGHT_URL)
    return data


def read_json(answer: Answer) -> Any:
    """The JSON of an answer; None for what is none."""
    try:
        return answer.json()
    except (ValueError, RecursionError):
        return None


async def read_text(answer: Exchange) -> str:
    return (await answer.read()).decode("utf-8", "replace")


async def read_events(title: str, answer: Exchange, no_page: str
                      ) -> AsyncGenerator[Event]:
    """The events of a stream, as they come. Raises UnavailableError with
    the hint `no_page` for a web page whose headers do not say so."""
    decoder = Decoder(title)
    begun = b""
    async with aclosing(answer.chunks()) as chunks:
        async for chunk in chunks:
            begun = begun or chunk.strip()
            if begun.startswith(b"<"):
                raise web_page(title, no_page)
            for event in decoder.feed(chunk):
                yield event
    for event in decoder.end():
        yield event
