"""One question, asked through the vendors' own clients and through claw.

A question is a text and, in its second half, the calls that were made and
their results. An answer is what both sides can say of it.
"""

import asyncio
import json
import warnings
from typing import NamedTuple

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.providers.factory import create_provider
from claw.providers.settings import NamedProviderSettings

WIRES = ("chat", "responses", "anthropic", "gemini")
SYSTEM = "Be brief."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}},
          "required": ["city"]}
WEATHER = ToolSpec("get_weather", "The weather in a city.",
                   closed_object(city=string("a city")))


class Call(NamedTuple):
    id: str
    name: str
    arguments: dict


class Usage(NamedTuple):
    """Tokens in and out."""

    prompt: int
    answer: int


class Answer(NamedTuple):
    text: str
    calls: list
    thoughts: str
    usage: Usage
    signature: str = ""


class Refusal(NamedTuple):
    status: int
    wait: str | None


class Question(NamedTuple):
    text: str
    calls: tuple = ()
    results: tuple = ()
    thoughts: str = ""
    signature: str = ""


def by_sdk(wire, base, key, question, *, stream, model):
    """What the vendor's client makes of it: an Answer, or a Refusal."""
    return {"chat": _openai_chat, "responses": _openai_responses,
            "anthropic": _anthropic, "gemini": _gemini}[wire](
                base, key, question, stream, model)


# OpenAI, both APIs.

def _openai(base, key, ask):
    import openai  # tests choose what they need
    with openai.OpenAI(base_url=f"{base}/v1", api_key=key,
                       max_retries=0) as client:
        try:
            return ask(client)
        except openai.APIStatusError as error:
            return Refusal(error.status_code,
                           error.response.headers.get("retry-after"))


def _openai_chat(base, key, question, stream, model):
    messages = [{"role": "system", "content": SYSTEM},
                {"role": "user", "content": question.text}]
    if question.calls:
        messages.append({"role": "assistant", "tool_calls": [
            {"id": c.id, "type": "function", "function": {
                "name": c.name, "arguments": json.dumps(c.arguments)}}
            for c in question.calls]})
    messages += [{"role": "tool", "tool_call_id": c.id, "content": r}
                 for c, r in zip(question.calls, question.results,
                                 strict=True)]
    asked = {"model": model, "messages": messages, "tools": [
        {"type": "function", "function": {
            "name": "get_weather", "parameters": SCHEMA}}]}

    def plain(client):
        found = client.chat.completions.create(**asked)
        message = found.choices[0].message
        return Answer(
            message.content or "", [
                Call(c.id, c.function.name, json.loads(c.function.arguments))
                for c in message.tool_calls or []],
            getattr(message, "reasoning_content", None) or "",
            Usage(found.usage.prompt_tokens, found.usage.completion_tokens))

    def streamed(client):
        text = thoughts = ""
        calls, usage = {}, None
        with client.chat.completions.create(
                **asked, stream=True,
                stream_options={"include_usage": True}) as chunks:
            for chunk in chunks:
                if chunk.usage is not None:
                    usage = Usage(chunk.usage.prompt_tokens,
                                  chunk.usage.completion_tokens)
                for choice in chunk.choices:
                    delta = choice.delta
                    text += delta.content or ""
                    thoughts += getattr(delta, "reasoning_content",
                                        None) or ""
                    for c in delta.tool_calls or []:
                        known = calls.setdefault(c.index, ["", "", ""])
                        known[0] += c.id or ""
                        known[1] += c.function.name or ""
                        known[2] += c.function.arguments or ""
        return Answer(_paired(text), [
            Call(i, n, json.loads(a)) for i, n, a in calls.values()],
            thoughts, usage)
    return _openai(base, key, streamed if stream else plain)


def _openai_responses(base, key, question, stream, model):
    items = [{"role": "user", "content": question.text}]
    items += [{"type": "function_call", "call_id": c.id, "name": c.name,
               "arguments": json.dumps(c.arguments)} for c in question.calls]
    items += [{"type": "function_call_output", "call_id": c.id, "output": r}
              for c, r in zip(question.calls, question.results, strict=True)]
    asked = {"model": model, "instructions": SYSTEM, "input": items,
             "store": False, "tools": [{
                 "type": "function", "name": "get_weather",
                 "parameters": SCHEMA, "strict": False}]}

    def read(response, text):
        return Answer(
            _paired(text), [
                Call(i.call_id, i.name, json.loads(i.arguments))
                for i in response.output if i.type == "function_call"],
            "".join(s.text for i in response.output if i.type == "reasoning"
                    for s in i.content or i.summary),
            Usage(response.usage.input_tokens, response.usage.output_tokens))

    def plain(client):
        found = client.responses.create(**asked)
        return read(found, found.output_text)

    def streamed(client):
        text, response = "", None
        with client.responses.create(**asked, stream=True) as events:
            for event in events:
                if event.type == "response.output_text.delta":
                    text += event.delta
                elif event.type == "response.completed":
                    response = event.response
        return read(response, text)
    return _openai(base, key, streamed if stream else plain)


def _anthropic(base, key, question, stream, model):
    import anthropic
    messages = [{"role": "user", "content": question.text}]
    if question.calls:
        thoughts = [{"type": "thinking", "thinking": question.thoughts,
                     "signature": question.signature}] \
            if question.thoughts else []
        messages += [
            {"role": "assistant", "content": [*thoughts, *(
                {"type": "tool_use", "id": c.id, "name": c.name,
                 "input": c.arguments} for c in question.calls)]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": c.id, "content": r}
                for c, r in zip(question.calls, question.results,
                                strict=True)]}]
    asked = {"model": model, "system": SYSTEM, "max_tokens": 500,
             "messages": messages,
             "tools": [{"name": "get_weather", "input_schema": SCHEMA}]}
    with anthropic.Anthropic(base_url=base, api_key=key,
                             max_retries=0) as client:
        try:
            if not stream:
                return _of_message(client.messages.create(**asked))
            with client.messages.stream(**asked) as events:
                return _of_message(events.get_final_message())
        except anthropic.APIStatusError as error:
            return Refusal(error.status_code,
                           error.response.headers.get("retry-after"))


def _of_message(message):
    def joined(kind):
        return "".join(getattr(b, kind) for b in message.content
                       if b.type == kind)
    usage = message.usage
    return Answer(
        _paired(joined("text")), [
            Call(b.id, b.name, b.input) for b in message.content
            if b.type == "tool_use"], joined("thinking"),
        Usage(usage.input_tokens + (usage.cache_read_input_tokens or 0)
              + (usage.cache_creation_input_tokens or 0),
              usage.output_tokens),
        "".join(b.signature for b in message.content
                if b.type == "thinking"))


def _gemini(base, key, question, stream, model):
    from google import genai
    from google.genai import errors, types
    contents = [types.Content(role="user", parts=[
        types.Part(text=question.text)])]
    if question.calls:
        contents += [
            types.Content(role="model", parts=[
                types.Part(function_call=types.FunctionCall(
                    id=c.id or None, name=c.name, args=c.arguments))
                for c in question.calls]),
            types.Content(role="user", parts=[
                types.Part(function_response=types.FunctionResponse(
                    id=c.id or None, name=c.name, response={"output": r}))
                for c, r in zip(question.calls, question.results,
                                strict=True)])]
    config = types.GenerateContentConfig(
        system_instruction=SYSTEM, tools=[types.Tool(function_declarations=[
            types.FunctionDeclaration(
                name="get_weather", parameters_json_schema=SCHEMA)])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(
            disable=True))
    client = genai.Client(api_key=key, http_options=types.HttpOptions(
        base_url=base, api_version="v1beta"))
    try:
        with warnings.catch_warnings():  # of words that only mocks use
            warnings.simplefilter("ignore")
            answers = list(client.models.generate_content_stream(
                model=model, contents=contents, config=config)) if stream \
                else [client.models.generate_content(
                    model=model, contents=contents, config=config)]
    except errors.APIError as error:
        return Refusal(error.code,
                       error.response.headers.get("retry-after"))
    finally:
        client.close()
    return _of_candidates(answers)


def _of_candidates(answers):
    parts = [p for a in answers for c in a.candidates or []
             if c.content is not None for p in c.content.parts or []]
    usage = next(a.usage_metadata for a in reversed(answers)
                 if a.usage_metadata is not None)
    return Answer(
        _paired("".join(p.text for p in parts
                        if p.text and not p.thought)),
        [Call(p.function_call.id or "", p.function_call.name,
              p.function_call.args) for p in parts if p.function_call],
        "".join(p.text for p in parts if p.text and p.thought),
        Usage(usage.prompt_token_count,
              (usage.candidates_token_count or 0)
              + (usage.thoughts_token_count or 0)))


def _paired(text):
    """The clients hand on two halves of a character as they came; a text
    with both is the text with the character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


# Claw.

def opened(wire, base, key):
    """claw's provider for one wire of a server."""
    if wire == "anthropic":
        return create_provider(f"anthropic-custom:{base}", key)
    if wire == "gemini":  # aimock looks for keys in headers alone
        return create_provider("gemini", key, named={
            "gemini": NamedProviderSettings(base_url=base,
                                            auth="x-goog-api-key")})
    api = "responses" if wire == "responses" else "chat_completions"
    return create_provider("mine", key, named={"mine": NamedProviderSettings(
        base_url=f"{base}/v1", wire_api=api)})


def by_claw(wire, base, key, question, *, stream, model):
    """What claw makes of it: an Answer; its errors rise."""
    async def go():
        provider = opened(wire, base, key)
        try:
            if not stream:
                return await provider.chat(_request(question), model, 0.5)
            chunks = [c async for c in provider.stream_chat(
                _request(question), model, 0.5)]
            response = chunks[-1].response
            assert "".join(c.delta for c in chunks) == (response.text or "")
            return response
        finally:
            await provider.aclose()
    response = asyncio.run(go())
    return Answer(
        response.text or "", [
            Call(c.id, c.name, json.loads(c.arguments))
            for c in response.tool_calls],
        response.reasoning_content or "",
        response.usage and Usage(response.usage.input_tokens,
                                 response.usage.output_tokens),
        "".join(b.get("signature", "") for b in json.loads(
            response.replay or "{}").get("blocks", [])))


def _request(question):
    messages = [ChatMessage.system(SYSTEM), ChatMessage.user(question.text)]
    if question.calls:
        replay = json.dumps({"by": "anthropic", "blocks": [{
            "type": "thinking", "thinking": question.thoughts,
            "signature": question.signature}]}) \
            if question.signature else None
        messages.append(encode_tool_calls(AssistantToolCalls(
            None, tuple(ToolCall(c.id, c.name, json.dumps(c.arguments))
                        for c in question.calls),
            question.thoughts or None, replay)))
    messages += [encode_tool_result(ToolResultMessage(c.id, r))
                 for c, r in zip(question.calls, question.results,
                                 strict=True)]
    return ChatRequest(messages, tools=[WEATHER])
