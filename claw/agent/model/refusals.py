"""What a model's refusal means: too long a conversation, or no eyes.

Providers say it in words of their own; the phrases are theirs.
"""

from claw.core.errors import ContextOverflowError, RateLimitedError, describe

_OVERFLOW = ("exceeds the context window", "context window of this model",
             "exceeds the available context size",
             "maximum context length", "context length exceeded",
             "too many tokens", "token limit exceeded",
             "prompt is too long", "input is too long",
             "prompt exceeds max length")


def is_context_overflow(error_text: str) -> bool:
    """Whether a model refused because the conversation is too long."""
    lowered = error_text.lower().replace("_", " ")
    return any(words in lowered for words in _OVERFLOW)


def is_overflow(error: Exception) -> bool:
    """Whether a call failed because the conversation is too long. A rate
    limit may speak of tokens too."""
    return isinstance(error, ContextOverflowError) or (
        not isinstance(error, RateLimitedError)
        and is_context_overflow(describe(error)))


_SIGHT = ("image", "vision", "multimodal", "multi-modal")
_UNABLE = ("not support", "n't support", "unsupported", "only supported",
           "support image input", "unknown variant", "capability=vision",
           "cannot process", "can't process", "not enabled",
           "missing data required", "not a vision", "not multimodal",
           "not a multimodal")


def is_vision_error(error_text: str) -> bool:
    """Whether a model refused because it sees no images."""
    lowered = error_text.lower()
    return (any(word in lowered for word in _SIGHT)
            and any(words in lowered for words in _UNABLE))
