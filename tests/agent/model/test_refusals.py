"""What the words of a refusal tell."""

import pytest

from claw.agent.model.refusals import (
    is_context_overflow,
    is_overflow,
    is_vision_error,
)
from claw.core.errors import (
    ContextOverflowError,
    RateLimitedError,
    UnavailableError,
)


@pytest.mark.parametrize("text", [
    "This model's maximum context length is 8192 tokens",
    "HTTP 400: context_length_exceeded",
    "Your input exceeds the context window of this model",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "Input is too long for requested model.",
    "Too many tokens in request", "Token limit exceeded",
    "the request exceeds the available context size"])
def test_an_overflow_is_known_by_its_words(text):
    assert is_context_overflow(text)
    assert not is_vision_error(text)


@pytest.mark.parametrize("text", [
    "image_url is only supported by certain models",
    "This model does not support image input",
    "No endpoints found that support image input",
    "unknown variant `image_url`, expected `text`",
    "image input is not supported - hint: provide the mmproj",
    "Image input modality is not enabled for models/x"])
def test_blindness_is_known_by_its_words(text):
    assert is_vision_error(text)
    assert not is_context_overflow(text)


@pytest.mark.parametrize("text", [
    "rate limit exceeded", "invalid api key", "", "the image is too large",
    "tools are not supported", "disk full"])
def test_other_errors_are_neither(text):
    assert not is_context_overflow(text)
    assert not is_vision_error(text)


@pytest.mark.parametrize(("error", "is_one"), [
    (ContextOverflowError("no"), True),
    (UnavailableError("prompt is too long"), True),
    (RateLimitedError("too many tokens in a minute"), False),
    (UnavailableError("disk full"), False)])
def test_a_rate_limit_that_speaks_of_tokens_is_no_overflow(error, is_one):
    assert is_overflow(error) is is_one
