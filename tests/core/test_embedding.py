"""The contract of embedders."""

import pytest

from claw.core.embedding import EmbeddingProvider
from claw.core.errors import UnavailableError


class Fixed(EmbeddingProvider):
    """Gives the same answer to everything."""

    name = "fixed"
    dimensions = 2
    model = "fixed:2"
    is_multilingual = True

    def __init__(self, vectors):
        self.vectors = vectors

    def embed(self, texts):
        return self.vectors


def test_one_text_gives_its_vector():
    assert Fixed([[1.0, 0.0]]).embed_one("a") == [1.0, 0.0]


def test_an_empty_result_is_a_named_error():
    with pytest.raises(UnavailableError, match="empty embedding result"):
        Fixed([]).embed_one("a")
