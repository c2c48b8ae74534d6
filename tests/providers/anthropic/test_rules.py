"""What the fake of the Messages API refuses, so that tests mean something."""

import pytest

from claw.testing.fake_anthropic_rules import complaint


def text(value="hi"):
    return {"type": "text", "text": value}


def use(wire_id="t"):
    return {"type": "tool_use", "id": wire_id, "name": "a", "input": {}}


def outcome(wire_id="t"):
    return {"type": "tool_result", "tool_use_id": wire_id, "content": "x"}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def said(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def body(*messages, **more):
    return {"model": "m", "max_tokens": 2000,
            "messages": list(messages) or [user(text())], **more}


@pytest.mark.parametrize("good", [
    body(), body({"role": "user", "content": "short form"}),
    body(user(text()), said(use()), user(outcome(), text("and"))),
    body(temperature=1, thinking={"type": "enabled", "budget_tokens": 1024}),
])
def test_what_the_api_takes(good):
    assert complaint(good) is None


MARKED = {**text(), "cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "x", "signature": ""}


@pytest.mark.each(("bad", "words"), [
    (None, "no JSON object"), ({}, "model: Field required"),
    ({"model": "m", "messages": []}, "max_tokens: Field required"),
    ({"model": "m", "max_tokens": 1, "messages": []}, "at least one"),
    (body(said(text())), "first message must use"),
    (body(user()), "non-empty content"),
    (body(user(text(" "))), "text content blocks must be non-empty"),
    (body(system=[text("")]), "text content blocks must be non-empty"),
    (body(user(text()), said(use())), "without `tool_result`"),
    (body(user(text()), said(use()), user(text())), "without `tool_result`"),
    (body(user(outcome())), "unexpected `tool_use_id`"),
    (body(user(text()), said(use()), user(text(), outcome())),
     "must stand before"),
    (body(user(text()), said(use()), user(outcome()), said(use()),
          user(outcome())), "ids must be unique"),
    (body(user(text()), said(use("a.b")), user(outcome("a.b"))),
     "should match pattern"),
    (body(user(text()), said(text("a "))), "trailing whitespace"),
    (body(user(text()), said(THOUGHT, text())), "Invalid `signature`"),
    (body(user({**THOUGHT, "signature": "s"})), "are the assistant's"),
    (body(user(*[MARKED] * 5)), "A maximum of 4 blocks"),
    (body(user({"type": "image", "source": {
        "type": "base64", "media_type": "image/bmp", "data": ""}})),
     "media_type: Input should be"),
    (body(temperature=1.5), "range: 0..1"),
    (body(temperature=0.5, thinking={"type": "enabled",
                                     "budget_tokens": 1024}),
     "may only be set to 1"),
    (body(thinking={"type": "enabled", "budget_tokens": 1000}),
     "greater than or equal to 1024"),
    (body(thinking={"type": "enabled", "budget_tokens": 2000}),
     "must be greater than"),
    (body(tools=[{"name": "a.b", "input_schema": {"type": "object"}}]),
     "name: String should match"),
    (body(tools=[{"name": "a", "input_schema": {"type": "object"}}] * 2),
     "must be unique"),
    (body(tools=[{"name": "a", "input_schema": {}}]), "type: Field required"),
    (body(tools=[{"name": "a", "input_schema": {"type": "object",
                                                "anyOf": []}}]),
     "at the top level"),
])
def test_what_the_api_refuses(bad, words):
    assert words in (complaint(bad) or "")
