"""The embedder without a server: MiniLM from files of this machine.

The two files lie in <models>/all-minilm-l6-v2; <models> is CLAW_MODELS
where that is set, else <config dir>/models. Nothing is loaded, numpy
included, until the first text. English only.
"""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claw.core.embedding import EmbeddingProvider, Vector
from claw.core.errors import ConfigError, StorageError
from claw.memory.embeddings.connection import Connection
from claw.memory.embeddings.wordpiece import (
    MAX_TOKENS,
    read_vocabulary,
    token_ids,
)

if TYPE_CHECKING:
    from claw.memory.embeddings.minilm import MiniLM

MODEL = "all-MiniLM-L6-v2"
FOLDER = "all-minilm-l6-v2"
WEIGHTS, VOCABULARY = "model.safetensors", "vocab.txt"
DIMENSIONS = 384


def models_folder(home: Path, env: Mapping[str, str]) -> Path:
    """Where downloaded models lie."""
    chosen = env.get("CLAW_MODELS", "").strip()
    return Path(chosen).expanduser().absolute() if chosen \
        else home / "models"


def is_installed(folder: Path) -> bool:
    """Whether both files are in the folder; not whether they are whole."""
    return all((folder / name).is_file() for name in (WEIGHTS, VOCABULARY))


class LocalEmbedder(EmbeddingProvider):
    """MiniLM from a folder. May be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._loaded: tuple[MiniLM, dict[str, int]] | None = None

    @classmethod
    def build(cls, connection: Connection) -> "LocalEmbedder":
        """Raises ConfigError where another model is asked for."""
        wanted = connection.model.rpartition("/")[2].lower()
        if wanted not in ("", FOLDER):
            raise ConfigError(
                f"local: there is no embedding model {connection.model!r}",
                hint="the one local model is all-minilm-l6-v2; leave "
                     "memory.embedding_model out")
        return cls(connection.models / FOLDER)

    @property
    def name(self) -> str:
        return "local"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    @property
    def model(self) -> str:
        return f"local|{FOLDER}|{DIMENSIONS}"

    @property
    def is_multilingual(self) -> bool:
        return False

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Rows of float32 of length one. Raises ConfigError where the
        model is not installed, StorageError where its files are
        damaged."""
        with self._lock:
            if self._loaded is None:
                self._loaded = load(self.folder)
            model, vocabulary = self._loaded
        limit = min(MAX_TOKENS, model.longest)
        rows: Any = model.embed([token_ids(text, vocabulary, limit)
                                 for text in texts])
        return list(rows)


def load(folder: Path) -> "tuple[MiniLM, dict[str, int]]":
    """The model and its vocabulary. Raises as LocalEmbedder.embed."""
    if not is_installed(folder):
        raise ConfigError("the local embedding model is not installed",
                          hint="claw memory model install")
    try:
        from claw.memory.embeddings.minilm import MiniLM
        model = MiniLM.load(folder / WEIGHTS)
        vocabulary = read_vocabulary(folder / VOCABULARY)
    except OSError as error:
        raise StorageError(
            f"{error.filename or folder}: {error.strerror}",
            hint="claw memory model install --force") from error
    if len(vocabulary) > model.vocabulary_size:
        raise StorageError(f"the files in {folder} don't belong together",
                           hint="claw memory model install --force")
    return model, vocabulary
