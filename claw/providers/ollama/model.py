"""What is known of a model on an Ollama server, and how much context to ask
for. Pure.

Ollama gives a model a context of its own choice, by default 4,096 tokens on
most machines, whatever the model could take, and what is longer loses its
beginning (the system prompt first) without a word. So a request that may be
longer names the context it needs. One that is not leaves it out: another
size than before makes the server load the model anew.
Source: docs.ollama.com (context length, /api/show, /api/ps), read 2026-11.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from claw.core.value import Value
from claw.providers.wire.json import object_at, objects_in

SMALLEST = 4096   # the least that a server gives without being asked
UNKNOWN = 131072  # the most to ask of a model that tells no limit
ANSWER = 1024     # room for an answer where no --max-tokens is given
IMAGE = 1536      # what an image takes, about
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)\s*$", re.M)
_TOO_LONG = (
    "exceeds the available context size", "exceed_context_size",
    "exceeds the context length", "longer than the context length",
    "exceeds maximum context length", "exceeded max context length",
    "context window exceeds",
)
_PROMPT = re.compile(r"request \((\d+) tokens\)|n_prompt_tokens\D{1,6}(\d+)")


class Model(Value):
    """What /api/show says. `capabilities` is None where the server is too
    old to tell; `thinking` are the values that `think` may have. `num_ctx`
    is the context that its Modelfile sets."""

    capabilities: frozenset[str] | None = None
    context_length: int | None = None
    num_ctx: int | None = None
    thinking: tuple[bool | str, ...] = ()

    def can(self, what: str) -> bool | None:
        """Whether it can do "tools", "vision" or "thinking"; None where the
        server did not tell."""
        return None if self.capabilities is None \
            else what in self.capabilities


def read_model(data: Any) -> Model:
    """The answer to /api/show; what it leaves out is unknown."""
    if not isinstance(data, dict):
        return Model()
    found = data.get("capabilities")
    values = object_at(data, "thinking").get("values")
    parameters = data.get("parameters")
    own = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    return Model(
        frozenset(c for c in found if isinstance(c, str))
        if isinstance(found, list) else None,
        _context_length(data.get("model_info")),
        int(own[1][:12]) if own else None,
        tuple(v for v in values if isinstance(v, bool | str))
        if isinstance(values, list) else ())


def _context_length(info: Any) -> int | None:
    """`<architecture>.context_length`."""
    if not isinstance(info, dict):
        return None
    name = f"{info.get('general.architecture')}.context_length"
    value = info.get(name)
    if value is None:
        value = next((v for k, v in info.items() if isinstance(k, str)
                      and k.endswith(".context_length")), None)
    return value if isinstance(value, int) and value > 0 else None


def loaded_context(data: Any, model: str) -> int:
    """The context that /api/ps says a model is loaded with; 0 for none."""
    name = model if ":" in model.rpartition("/")[2] else f"{model}:latest"
    rows = data.get("models") if isinstance(data, dict) else None
    row = next((row for row in objects_in(rows)
                if name in (row.get("name"), row.get("model"))), {})
    size = row.get("context_length")
    return size if isinstance(size, int) else 0


def guess_tokens(body: Mapping[str, Any], max_tokens: int | None) -> int:
    """An upper guess of what a request and its answer take: a token for
    three bytes (a letter in English, or one Chinese character)."""
    images = 0
    texts: list[Any] = [body.get("tools"), body.get("format")]
    for message in body["messages"]:
        images += len(message.get("images", ()))
        texts.append({k: v for k, v in message.items() if k != "images"})
    size = len(json.dumps(texts, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"))
    return (size // 3 + IMAGE * images
            + (ANSWER if max_tokens is None else max_tokens))


def context_for(need: int, model: Model, *, loaded: int = 0,
                default: int = 0) -> int | None:
    """The `num_ctx` to send; None leaves the choice to the server.

    `loaded` is the context that the model runs with now, `default` what the
    server gives where nothing is asked (as far as is known). Never less
    than these, so that nobody else's conversation is cut, and never more
    than the model can take.
    """
    if need <= max(SMALLEST, default, model.num_ctx or 0) and not loaded:
        return None
    limit = model.context_length or UNKNOWN
    if loaded >= need:
        return loaded
    wanted = max(power_of_two(need), default, model.num_ctx or 0)
    return min(wanted, limit)


def power_of_two(number: int) -> int:
    """The first that is not smaller."""
    return 1 << max(0, number - 1).bit_length()


def overflow(message: str) -> bool:
    """Whether an error says that the prompt is longer than the context."""
    text = message.lower()
    return any(words in text for words in _TOO_LONG)


def prompt_tokens(message: str) -> int | None:
    """How long the prompt was, where such an error tells."""
    found = _PROMPT.search(message)
    return int((found[1] or found[2])[:9]) if found else None
