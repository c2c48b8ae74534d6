"""The answer of /v1/responses: whole, or as numbered events. Pure.

created, in_progress; then each item: added, its pieces, done; then
completed, incomplete (the answer was cut off) or failed.
Source: the openai SDK's types, read 2026-11.
"""

import time
from collections.abc import Iterator
from typing import Any

from claw.core.provider import ChatResponse, TokenUsage, ToolCall
from claw.gateway.openai.call import ModelCall
from claw.gateway.openai.chat import find_reason
from claw.gateway.openai.errors import ApiError

Json = dict[str, Any]


class ResponseWriter:
    """One Response. `model` is how the client called it."""

    def __init__(self, answer_id: str, call: ModelCall) -> None:
        self._id = answer_id
        self._call = call
        self._head: Json = {
            **call.shown, "id": f"resp_{answer_id}", "object": "response",
            "created_at": int(time.time()), "model": call.model,
            "store": False, "background": False,
            "previous_response_id": None}
        self._number = 0
        self._text: list[str] = []

    def whole(self, response: ChatResponse) -> Json:
        items = [self._message(response.text or "")] \
            if response.text or not response.tool_calls else []
        items += [self._function(number, call)
                  for number, call in enumerate(response.tool_calls)]
        return self._response(response, items)

    def begin(self) -> Iterator[Json]:
        begun = self._body("in_progress")
        yield self._event("response.created", response=begun)
        yield self._event("response.in_progress", response=begun)

    def delta(self, text: str) -> Iterator[Json]:
        if not self._text:
            yield from self._open_message()
        self._text.append(text)
        yield self._event("response.output_text.delta", **self._part(),
                          delta=text, logprobs=[])

    def end(self, response: ChatResponse) -> Iterator[Json]:
        text = "".join(self._text)
        items: list[Json] = []
        if text or not response.tool_calls:
            if not text:
                yield from self._open_message()
            items.append(self._message(text))
            yield from self._close_message(items[0], text)
        for call in response.tool_calls:
            item = self._function(len(items), call)
            yield from self._give_call(item, len(items))
            items.append(item)
        whole = self._response(response, items)
        yield self._event(f"response.{whole['status']}", response=whole)

    def fail(self, error: ApiError) -> Iterator[Json]:
        said = error.to_json()
        yield self._event("error", code=said["code"],
                          message=said["message"], param=said["param"])
        yield self._event("response.failed", response={
            **self._body("failed"), "error": {
                "code": "rate_limit_exceeded" if error.status == 429
                else "server_error", "message": said["message"]}})

    # -- events

    def _event(self, kind: str, **fields: Any) -> Json:
        number, self._number = self._number, self._number + 1
        return {"type": kind, "sequence_number": number, **fields}

    def _part(self) -> Json:
        return {"item_id": f"msg_{self._id}", "output_index": 0,
                "content_index": 0}

    def _open_message(self) -> Iterator[Json]:
        yield self._event("response.output_item.added", output_index=0,
                          item={**self._message(""), "content": [],
                                "status": "in_progress"})
        yield self._event("response.content_part.added", **self._part(),
                          part=_text_part(""))

    def _close_message(self, item: Json, text: str) -> Iterator[Json]:
        yield self._event("response.output_text.done", **self._part(),
                          text=text, logprobs=[])
        yield self._event("response.content_part.done", **self._part(),
                          part=_text_part(text))
        yield self._event("response.output_item.done", output_index=0,
                          item=item)

    def _give_call(self, item: Json, index: int) -> Iterator[Json]:
        place = {"item_id": item["id"], "output_index": index}
        yield self._event("response.output_item.added", output_index=index,
                          item={**item, "arguments": "",
                                "status": "in_progress"})
        yield self._event("response.function_call_arguments.delta", **place,
                          delta=item["arguments"])
        yield self._event("response.function_call_arguments.done", **place,
                          name=item["name"], arguments=item["arguments"])
        yield self._event("response.output_item.done", output_index=index,
                          item=item)

    # -- objects

    def _body(self, status: str) -> Json:
        return {**self._head, "status": status, "error": None,
                "incomplete_details": None, "output": [], "usage": None}

    def _response(self, response: ChatResponse, items: list[Json]) -> Json:
        reason = find_reason(response)
        cut = {"length": "max_output_tokens",
               "content_filter": "content_filter"}.get(reason)
        return {**self._body("incomplete" if cut else "completed"),
                "model": response.model or self._call.model,
                "incomplete_details": {"reason": cut} if cut else None,
                "output": items, "usage": usage_json(response.usage)}

    def _message(self, text: str) -> Json:
        return {"type": "message", "id": f"msg_{self._id}",
                "role": "assistant", "status": "completed",
                "content": [_text_part(text)]}

    def _function(self, number: int, call: ToolCall) -> Json:
        return {"type": "function_call", "id": f"fc_{self._id}_{number}",
                "call_id": call.id, "name": call.name,
                "arguments": call.arguments, "status": "completed"}


def _text_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [],
            "logprobs": []}


def usage_json(usage: TokenUsage | None) -> Json | None:
    """Tokens as Responses counts them; None where nobody did."""
    if usage is None or (usage.input_tokens is None
                         and usage.output_tokens is None):
        return None
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    return {"input_tokens": read, "output_tokens": written,
            "total_tokens": read + written,
            "input_tokens_details": {
                "cached_tokens": usage.cached_input_tokens or 0,
                "cache_write_tokens": usage.cache_write_tokens or 0},
            "output_tokens_details": {"reasoning_tokens": 0}}
