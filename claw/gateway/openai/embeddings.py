"""/v1/embeddings: what is asked, and the answer. Pure.

Source: the openai SDK's types, read 2026-11; its client asks for base64,
which is little-endian 32-bit floats.
"""

import base64
import struct
from collections.abc import Sequence
from typing import Any

from claw.core.embedding import Vector
from claw.core.provider import estimate_tokens
from claw.core.value import Value
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.fields import COUNT, Fields

MAX_TEXTS = 2048
SCHEMA = {
    "type": "object", "required": ["model", "input"],
    "additionalProperties": {"type": "null"},
    "properties": {
        "model": {"type": "string"},
        "input": {"type": ["string", "array"], "minLength": 1,
                  "minItems": 1, "maxItems": MAX_TEXTS,
                  "items": {"type": "string", "minLength": 1}},
        "encoding_format": {"enum": ["float", "base64", None]},
        "dimensions": COUNT, "user": {}}}


class EmbeddingCall(Value):
    """Texts to embed; `dimensions` None: as many as there are."""

    model: str
    texts: tuple[str, ...]
    dimensions: int | None
    as_base64: bool


def parse_embeddings(body: Any) -> EmbeddingCall:
    """The request. Raises BadRequest."""
    fields = Fields(body)
    model = fields.need("model", str)
    given = fields.any("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts \
            or not all(isinstance(text, str) and text for text in texts):
        raise BadRequest("input must be a text or a list of texts, none of "
                         "them empty; tokens are not taken", "input")
    if len(texts) > MAX_TEXTS:
        raise BadRequest(f"input holds more than {MAX_TEXTS} texts", "input")
    form = fields.get("encoding_format", str) or "float"
    if form not in ("float", "base64"):
        raise BadRequest("encoding_format must be float or base64",
                         "encoding_format")
    call = EmbeddingCall(model, tuple(texts), fields.count("dimensions"),
                         form == "base64")
    fields.skip(("user",))
    if rest := fields.rest():
        raise BadRequest(f"{next(iter(rest))} is not known",
                         next(iter(rest)), "unknown_parameter")
    return call


def render_embeddings(call: EmbeddingCall, vectors: Sequence[Vector]
                      ) -> dict[str, Any]:
    """The answer. Tokens are a rough count: embedders tell none."""
    tokens = sum(map(estimate_tokens, call.texts))
    return {"object": "list", "model": call.model, "data": [
                {"object": "embedding", "index": number, "embedding":
                 _encode(vector) if call.as_base64
                 else [float(x) for x in vector]}
                for number, vector in enumerate(vectors)],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def _encode(vector: Vector) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)
                            ).decode()
