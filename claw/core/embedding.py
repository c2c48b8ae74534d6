"""Embeddings: the contract of what turns texts into vectors.

Plain and synchronous, like the memory that it is handed to. Vectors are any
sequences of floats (a numpy row is one), so that no caller needs numpy.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from claw.core.errors import UnavailableError

Vector = Sequence[float]


class EmbeddingProvider(ABC):
    """Turns texts into vectors of one length.

    Raises ProviderError (and its kin) when the endpoint refuses,
    UnavailableError when it can't be reached, ConfigError when something
    is not installed or set.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """How the provider is chosen in the configuration."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """Length of every vector."""

    @property
    @abstractmethod
    def model(self) -> str:
        """What the vectors were made by, as one word that changes whenever
        vectors stop being comparable: endpoint, model and dimensions."""

    @property
    @abstractmethod
    def is_multilingual(self) -> bool:
        """Whether it understands more than English. Where it does not,
        text in Chinese, Japanese or Korean is judged by its words."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector a text, in the order of the texts."""

    def embed_one(self, text: str) -> Vector:
        """The vector of one text. Raises UnavailableError where the
        embedder gives none back."""
        made = self.embed([text])
        if not len(made):
            raise UnavailableError(
                f"empty embedding result from {self.name}",
                hint="try again, or another embedding model")
        return made[-1]
