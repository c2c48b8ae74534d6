"""Which part of a request an error refuses."""

import pytest

from claw.providers.wire.refusals import find_refusal

FULL = {"tools": [], "stream_options": {}, "response_format": {},
        "max_tokens": 5, "temperature": 0.7, "tool_stream": True,
        "reasoning_effort": "low", "thinking": {}, "include": [],
        "messages": [{"role": "assistant", "reasoning_content": "hm"}]}


@pytest.mark.each(("status", "text", "feature"), [
    (400, "unknown parameter: tools", "tools"),
    (400, "Unknown parameter: 'tools'.", "tools"),
    (422, "unsupported parameter: tools", "tools"),
    (400, "unrecognized field `tools`", "tools"),
    (400, "model x does not support tools", "tools"),
    (400, "Function calling is not supported", "tools"),
    (400, "invalid tool_choice", "tools"),
    (404, "No endpoints found that support tool use", "tools"),
    (500, "tools param requires --jinja flag", "tools"),
    (400, "tool call validation failed: f was not in request", "tools"),
    (400, "extra field stream_options", "stream_options"),
    (400, "response_format json_schema is not available", "response_format"),
    (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'",
     "max_tokens"),
    (400, "'temperature' does not support 0.7 with this model",
     "temperature"),
    (400, '{"loc":["body","tools"],"msg":"Extra inputs are not permitted"}',
     "tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice', "tools"),
    (400, "tools[0].function.parameters: keyword not supported", None),
    (400, "Function tools with reasoning_effort are not supported for x in "
          "/v1/chat/completions. To use function tools, use /v1/responses or "
          "set reasoning_effort to 'none'.", "chat"),
    (404, "This model is only supported in v1/responses and not in "
          "v1/chat/completions.", "chat"),
    (404, "This is not a chat model and thus not supported in the "
          "v1/chat/completions endpoint.", "chat"),
    (400, "model x is not accessible via the /chat/completions endpoint",
     "chat"),
    (400, "property 'reasoning_content' is unsupported", "thoughts"),
    (400, "Missing `reasoning_content` field in the assistant message at "
          "message index 2", "no_thoughts"),
    (400, "thinking is enabled but reasoning_content is missing",
     "no_thoughts"),
    (400, "Unsupported parameter: 'reasoning_effort'", "reasoning_effort"),
    (422, "unknown field tool_stream", "tool_stream"),
    (400, "Encrypted content is not supported with this model.", "include"),
    (400, "invalid temperature: only 1 is allowed for this model",
     "temperature"),
    (400, "temperature must be between 0 and 1", None),
    (400, "the model does not exist", None),
    (401, "unknown parameter: tools", None),
    (500, "response_format", None),
    (None, "unknown parameter: tools", None),
])
def test_refusals(status, text, feature):
    found = find_refusal(status, text, FULL)

    assert (found.feature if found else None) == feature


@pytest.mark.parametrize("text", [
    "unknown parameter: tools", "stream_options", "json_schema",
    "max_completion_tokens", "unsupported temperature",
])
def test_only_what_was_sent_can_be_refused(text):
    assert find_refusal(400, text, {"model": "m"}) is None


def test_a_failed_call_does_not_switch_tools_off_for_good():
    assert not find_refusal(400, "tool call validation failed",
                               FULL).lasting
    assert find_refusal(400, "unknown parameter: tools", FULL).lasting
