"""OpenAI's own client against /v1/responses, over a real socket."""

import json

import openai
import pytest

from claw.testing.fake_openai import FakeOpenAI, Reply, failure, tool_call
from tests.wiring.gateway.test_openai import PNG, client, sent

WEATHER = {"type": "function", "name": "weather", "strict": False,
           "description": "The weather of a place.",
           "parameters": {"type": "object", "properties": {
               "city": {"type": "string"}}}}
ORDER = ["response.created", "response.in_progress",
         "response.output_item.added", "response.content_part.added",
         "response.output_text.delta", "response.output_text.done",
         "response.content_part.done", "response.output_item.done",
         "response.completed"]


def ask(served, asked="6 * 7?", model="fast", **options):
    return client(served).responses.create(model=model, input=asked,
                                           **options)


def test_a_response_is_whole(api):
    with FakeOpenAI(["forty-two"]) as server, api(server) as served:
        found = ask(served, instructions="Be brief.", max_output_tokens=99,
                    metadata={"a": "b"})

    assert found.output_text == "forty-two"
    assert (found.status, found.model) == ("completed", "quick-model")
    assert found.instructions == "Be brief."
    assert found.metadata == {"a": "b"}
    assert found.usage.total_tokens > 0
    assert [m["role"] for m in sent(server)["messages"]] == [
        "system", "user"]


def test_the_events_come_in_their_order_and_are_numbered(api):
    with FakeOpenAI([Reply("a longer answer", chunk_size=4)]) as server, \
            api(server) as served:
        events = list(ask(served, stream=True))

    kinds = [event.type for event in events]
    assert list(dict.fromkeys(kinds)) == ORDER
    assert [event.sequence_number for event in events] == list(
        range(len(events)))
    assert "".join(event.delta for event in events if event.type
                   == "response.output_text.delta") == "a longer answer"
    assert events[-1].response.output_text == "a longer answer"
    assert events[-1].response.usage.total_tokens > 0


@pytest.mark.parametrize("stream", [False, True])
def test_functions_are_called_and_their_results_taken(api, stream):
    with FakeOpenAI([tool_call("weather", city="Oslo"), "rain"]) as server, \
            api(server) as served:
        asked = {"model": "fast", "tools": [WEATHER],
                 "input": [{"role": "user", "content": "Weather?"}]}
        if stream:
            with client(served).responses.stream(**asked) as events:
                first = events.get_final_response()
        else:
            first = client(served).responses.create(**asked)
        call = first.output[-1]
        second = ask(served, [
            *asked["input"], *(item.model_dump(exclude_none=True)
                               for item in first.output),
            {"type": "function_call_output", "call_id": call.call_id,
             "output": "rain"}], tools=[WEATHER])

    assert (call.type, call.name) == ("function_call", "weather")
    assert json.loads(call.arguments) == {"city": "Oslo"}
    assert second.output_text == "rain"
    messages = sent(server)["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "tool"]
    assert messages[1]["tool_calls"][0]["id"] == call.call_id \
        == messages[2]["tool_call_id"]


def test_images_and_schemas_go_to_the_model(api):
    with FakeOpenAI(['{"n": 1}']) as server, api(server) as served:
        ask(served, [{"role": "user", "content": [
            {"type": "input_text", "text": "What is it?"},
            {"type": "input_image", "image_url": PNG, "detail": "auto"}]}],
            text={"format": {"type": "json_schema", "name": "n",
                             "schema": {"type": "object"}}})

    body = sent(server)
    assert body["messages"][0]["content"][1]["image_url"]["url"] == PNG
    assert body["response_format"]["type"] == "json_schema"


def test_an_answer_that_was_cut_off_is_incomplete(api):
    with FakeOpenAI([Reply("too lo", finish_reason="length")]) as server, \
            api(server) as served:
        whole = ask(served)
        last = list(ask(served, stream=True))[-1]

    assert whole.status == "incomplete"
    assert whole.incomplete_details.reason == "max_output_tokens"
    assert last.type == "response.incomplete"


@pytest.mark.each("asked, param", [
    ({"previous_response_id": "resp_1"}, "previous_response_id"),
    ({"background": True}, "background"),
    ({"truncation": "auto"}, "truncation"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"input": []}, "input")])
def test_what_can_not_be_is_a_clear_400(api, asked, param):
    with FakeOpenAI(["no"]) as server, api(server) as served, \
            pytest.raises(openai.BadRequestError) as caught:
        client(served).responses.create(**{
            "model": "fast", "input": "hello", **asked})

    assert caught.value.param == param


def test_an_answer_that_breaks_off_failed(api):
    broken = Reply("a long answer", chunk_size=4, fault="disconnect",
                   after_chunks=2)
    with FakeOpenAI([broken]) as server, api(server) as served:
        events = list(ask(served, stream=True))

    assert [event.type for event in events[-2:]] == ["error",
                                                     "response.failed"]
    assert events[-1].response.status == "failed"
    assert events[-1].response.error.message


def test_an_error_before_the_first_word_has_its_status(api):
    with FakeOpenAI([failure(429, "slow down")]) as server, \
            api(server) as served, pytest.raises(openai.RateLimitError):
        ask(served, stream=True)


def test_claw_answers_here_too(api):
    with FakeOpenAI([tool_call("memory_store", key="a", content="b is c"),
                     "Noted."]) as server, api(server) as served:
        events = list(ask(served, "remember: b is c", "claw", stream=True))

    assert events[-1].response.output_text == "Noted."
    assert events[-1].response.model == "claw"
