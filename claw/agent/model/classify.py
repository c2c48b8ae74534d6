"""Which model a message is for: rules, then an estimate of difficulty."""

from collections.abc import Collection

from claw.agent.settings import (
    AutoClassifySettings,
    ClassificationRule,
    QueryClassificationSettings,
)

_LONG_BYTES = 200
_SHORT_BYTES = 50
_REASONING_WORDS = ("why", "explain", "analyze", "analyse", "compare",
                    "design", "implement", "refactor", "debug", "optimize",
                    "prove", "trade-off", "step by step", "architecture")


def classify(settings: QueryClassificationSettings,
             message: str) -> str | None:
    """The hint of the first rule that matches, highest priority first."""
    if not settings.enabled:
        return None
    rules = sorted(settings.rules, key=lambda rule: -rule.priority)
    return next((rule.hint for rule in rules if _matches(rule, message)),
                None)


def _matches(rule: ClassificationRule, message: str) -> bool:
    size = _size(message)
    if rule.min_length is not None and size < rule.min_length:
        return False
    if rule.max_length is not None and size > rule.max_length:
        return False
    lowered = message.lower()
    return (any(word.lower() in lowered for word in rule.keywords)
            or any(pattern in message for pattern in rule.patterns))


def _size(message: str) -> int:
    return len(message.encode("utf-8", "surrogatepass"))


def auto_hint(settings: AutoClassifySettings | None,
              message: str) -> str | None:
    """The hint for the estimated difficulty, None where none is set."""
    if settings is None:
        return None
    lowered = message.lower()
    words = sum(word in lowered for word in _REASONING_WORDS)
    if _size(message) > _LONG_BYTES or "```" in message or words >= 2:
        return settings.complex_hint
    if _size(message) < _SHORT_BYTES and words == 0:
        return settings.simple_hint
    return settings.standard_hint


def effective_model(rules: QueryClassificationSettings,
                    auto: AutoClassifySettings | None,
                    hints: Collection[str], message: str,
                    model: str) -> str:
    """`hint:NAME` for the router, or the model itself.

    A hint counts only where a route (`hints`) exists for it.
    """
    for hint in (classify(rules, message), auto_hint(auto, message)):
        if hint and hint in hints:
            return f"hint:{hint}"
    return model
