"""Which part of a request an error refuses."""

import pytest

from claw.providers.refusals import refused_feature

FULL = {"tools": [], "stream_options": {}, "response_format": {},
        "max_tokens": 5, "temperature": 0.7}


@pytest.mark.parametrize(("status", "text", "feature"), [
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
    (400, "temperature must be between 0 and 1", None),
    (400, "the model does not exist", None),
    (401, "unknown parameter: tools", None),
    (500, "response_format", None),
    (None, "unknown parameter: tools", None),
])
def test_refusals(status, text, feature):
    found = refused_feature(status, text, FULL)

    assert (found.feature if found else None) == feature


@pytest.mark.parametrize("text", [
    "unknown parameter: tools", "stream_options", "json_schema",
    "max_completion_tokens", "unsupported temperature",
])
def test_only_what_was_sent_can_be_refused(text):
    assert refused_feature(400, text, {"model": "m"}) is None


def test_a_failed_call_does_not_switch_tools_off_for_good():
    assert not refused_feature(400, "tool call validation failed",
                               FULL).lasting
    assert refused_feature(400, "unknown parameter: tools", FULL).lasting
