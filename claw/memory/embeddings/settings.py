"""The [[embedding_routes]] of config.toml."""

from typing import Annotated

import msgspec

Length = Annotated[int, msgspec.Meta(ge=0)]


class EmbeddingRouteSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[[embedding_routes]]: what memory.embedding_model = "hint:<name>"
    stands for.

    hint: the name after "hint:"
    provider: local, openai, openrouter or custom:<url>
    model: its model
    dimensions: the length of its vectors; memory.embedding_dimensions where
        it is not given
    api_key: a key of its own; kept encrypted
    """

    hint: str = ""
    provider: str = ""
    model: str = ""
    dimensions: Length | None = None
    api_key: str | None = None
