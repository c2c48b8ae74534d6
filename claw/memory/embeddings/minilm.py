"""all-MiniLM-L6-v2 in numpy: a small BERT and a mean over its tokens.

The weights are mapped, not read: a query touches half of the file, and
processes share its pages. Lengths, width and depth come from the shapes in
the file. Texts of like length are calculated together; the padding of the
shorter ones is masked, so that company does not change a vector.
Source: Devlin et al. 2018 (BERT); Reimers and Gurevych 2019 (mean pooling);
the safetensors format.
"""

import json
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from claw.core.errors import StorageError
from claw.memory.lean_numpy import np, npt

Floats: TypeAlias = npt.NDArray[np.float32]

HEADS = 12
# Tokens calculated at once: more than fit a cache don't go faster.
_BATCH_TOKENS = 1024
_THREADS = 4
_HEADER_BYTES = 100_000_000
_EPSILON = np.float32(1e-12)
_EMBEDDINGS = ("word_embeddings.weight", "position_embeddings.weight",
               "token_type_embeddings.weight", "LayerNorm.weight",
               "LayerNorm.bias")
_LAYER = tuple(f"{part}.{kind}" for part in (
    "attention.self.query", "attention.self.key", "attention.self.value",
    "attention.output.dense", "attention.output.LayerNorm",
    "intermediate.dense", "output.dense", "output.LayerNorm")
    for kind in ("weight", "bias"))


class MiniLM:
    """The model of one weights file."""

    def __init__(self, tensors: Mapping[str, Floats], heads: int = HEADS
                 ) -> None:
        """Raises KeyError or ValueError for tensors of another model."""
        own = {name: tensors[f"embeddings.{name}"] for name in _EMBEDDINGS}
        self._words = own["word_embeddings.weight"]
        self._positions = own["position_embeddings.weight"]
        self._kind = own["token_type_embeddings.weight"][0]
        self._norm = own["LayerNorm.weight"], own["LayerNorm.bias"]
        self._layers = list(_layers(tensors))
        self._heads = heads
        if not self._layers or self.dimensions % heads:
            raise ValueError("no layers, or heads that don't fit")

    @classmethod
    def load(cls, path: Path) -> "MiniLM":
        """Raises StorageError for a file that is damaged, OSError for one
        that can't be read."""
        try:
            return cls(read_tensors(path))
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise StorageError(
                f"{path} is damaged",
                hint="claw memory model install --force") from error

    @property
    def dimensions(self) -> int:
        return int(self._words.shape[1])

    @property
    def vocabulary_size(self) -> int:
        return int(self._words.shape[0])

    @property
    def longest(self) -> int:
        """How many tokens a text may have."""
        return int(self._positions.shape[0])

    def embed(self, texts: Sequence[Sequence[int]]) -> Floats:
        """A unit vector for each list of token ids, in their order:
        (n, dimensions) float32."""
        found = np.empty((len(texts), self.dimensions), np.float32)
        batches = list(_batches([len(ids) for ids in texts]))

        def fill(rows: list[int]) -> None:
            found[rows] = self._embed([texts[row] for row in rows])

        if len(batches) < 2:
            for rows in batches:
                fill(rows)
            return found
        from concurrent.futures import ThreadPoolExecutor
        # numpy lets go of Python's lock while it calculates.
        pool = ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1))
        with pool as running:
            list(running.map(fill, batches))
        return found

    def _embed(self, texts: list[Sequence[int]]) -> Floats:
        """One batch. x is (texts * longest, dimensions) throughout."""
        lengths = np.array([len(ids) for ids in texts])
        longest = int(lengths.max())
        ids = np.zeros((len(texts), longest), np.int64)
        for row, tokens in enumerate(texts):
            ids[row, :len(tokens)] = tokens
        mask = np.arange(longest) < lengths[:, None]
        x: Floats = self._words[ids] + (self._positions[:longest]
                                        + self._kind)
        x = _normalize(x.reshape(-1, self.dimensions), *self._norm)
        for layer in self._layers:
            x = self._through(layer, x, mask)
        x = x.reshape(*mask.shape, -1) * mask[:, :, None]
        mean: Floats = x.sum(1) / lengths[:, None].astype(np.float32)
        mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True),
                           _EPSILON)
        return mean

    def _through(self, layer: Mapping[str, Floats], x: Floats,
                 mask: npt.NDArray[np.bool_]) -> Floats:
        seen = self._attention(layer, x, mask)
        x = _normalize(x + _linear(layer, "attention.output.dense", seen),
                    *_pair(layer, "attention.output.LayerNorm"))
        inner = _gelu(_linear(layer, "intermediate.dense", x))
        return _normalize(x + _linear(layer, "output.dense", inner),
                       *_pair(layer, "output.LayerNorm"))

    def _attention(self, layer: Mapping[str, Floats], x: Floats,
                   mask: npt.NDArray[np.bool_]) -> Floats:
        size = self.dimensions // self._heads
        query, key, value = (
            _linear(layer, f"attention.self.{name}", x)
            .reshape(*mask.shape, self._heads, size).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value"))
        scores: Floats = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32(size ** -0.5)
        if not mask.all():
            scores += np.where(mask, 0, -np.inf).astype(
                np.float32)[:, None, None, :]
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        seen: Floats = scores @ value
        return seen.transpose(0, 2, 1, 3).reshape(x.shape)


def _layers(tensors: Mapping[str, Floats]) -> Iterator[dict[str, Floats]]:
    number = 0
    while f"encoder.layer.{number}.{_LAYER[0]}" in tensors:
        yield {name: tensors[f"encoder.layer.{number}.{name}"]
               for name in _LAYER}
        number += 1


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of the texts in groups of like length."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and lengths[row] * (len(batch) + 1) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _pair(layer: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    return layer[f"{name}.weight"], layer[f"{name}.bias"]


def _linear(layer: Mapping[str, Floats], name: str, x: Floats) -> Floats:
    weight, bias = _pair(layer, name)
    # The same product; a quarter less work for the few tokens of a query.
    found = (weight @ x.T).T if len(x) < 128 else x @ weight.T
    found += bias
    return found


def _normalize(x: Floats, weight: Floats, bias: Floats) -> Floats:
    """Layer normalisation over the last axis."""
    x = x - x.mean(-1, keepdims=True)
    spread = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1])
    x /= np.sqrt(spread + _EPSILON)
    x *= weight
    x += bias
    return x


def _gelu(x: Floats) -> Floats:
    """x * Phi(x), by erf to 1.5e-7: Abramowitz and Stegun 7.1.26."""
    z = np.abs(x)
    z *= np.float32(0.5 ** 0.5)
    t = z * np.float32(0.3275911)
    t += 1
    np.reciprocal(t, out=t)
    erf: Floats = np.full_like(t, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        erf *= t
        erf += np.float32(factor)
    erf *= t
    z *= z
    np.negative(z, out=z)
    np.exp(z, out=z)
    erf *= z
    np.subtract(1, erf, out=erf)
    np.copysign(erf, x, out=erf)
    erf += 1
    erf *= x
    erf *= np.float32(0.5)
    return erf


def read_tensors(path: Path) -> dict[str, Floats]:
    """The float32 tensors of a safetensors file, mapped read-only: eight
    bytes of length, a JSON header, the data. Raises ValueError, KeyError or
    TypeError for anything else, OSError for what can't be read."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 2 <= size <= _HEADER_BYTES:
            raise ValueError("not a safetensors file")
        header = json.loads(file.read(size))
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return {name: _tensor(data, 8 + size, row)
            for name, row in header.items()
            if name != "__metadata__" and row["dtype"] == "F32"}


def _tensor(data: mmap.mmap, start: int, row: Mapping[str, Any]) -> Floats:
    begin, end = row["data_offsets"]
    shape = tuple(row["shape"])
    count = (end - begin) // 4
    if begin < 0 or start + end > len(data):
        raise ValueError("the file is cut off")
    found: Floats = np.frombuffer(data, "<f4", count, start + begin)
    return found.reshape(shape)
