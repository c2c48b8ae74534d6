"""The schemas of /openapi.json beside the parsers."""

import pytest

from claw.gateway.openai.chat import parse_chat
from claw.gateway.openai.embeddings import parse_embeddings
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.responses import parse_responses

CHAT = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
RESPONSE = {"model": "m", "input": "x"}


@pytest.mark.parametrize(("parse", "body"), [
    (parse_chat, CHAT | {"n": True}),
    (parse_chat, CHAT | {"logprobs": 0}),
    (parse_chat, CHAT | {"stop": {}}),
    (parse_chat, CHAT | {"stop": 0}),
    (parse_responses, RESPONSE | {"background": 0}),
    (parse_responses, RESPONSE | {"input": [
        {"type": False, "role": "user", "content": "x"}]}),
])
def test_what_only_looks_like_the_usual_value_is_refused(parse, body):
    with pytest.raises(BadRequest):
        parse(body)


def test_a_whole_number_with_a_point_is_an_integer():
    call = parse_embeddings({"model": "m", "input": "x", "dimensions": 3.0})

    assert call.dimensions == 3
