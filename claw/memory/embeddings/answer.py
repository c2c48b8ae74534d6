"""The answer of an embeddings endpoint, checked. Pure."""

import math
from array import array
from collections.abc import Sequence

import msgspec

from claw.core.errors import UnavailableError
from claw.net.errors import Peer, summarise

Numbers = list[float]


class _Row(msgspec.Struct):
    embedding: Numbers
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Row]


def vectors(content: bytes, expected: int, dimensions: int, peer: Peer
            ) -> list["array[float]"]:
    """`expected` float32 vectors in the order of the texts. Raises
    UnavailableError for any other answer."""
    try:
        rows = msgspec.json.decode(content, type=_Answer).data
    except (msgspec.DecodeError, RecursionError) as error:
        text = summarise(content.decode("utf-8", "replace"), peer.secrets)
        raise UnavailableError(
            f"{peer.title} answered without vectors: {text}",
            hint="does its address belong to an embeddings API?") from error
    if len(rows) != expected:
        raise _wrong(peer, f"{len(rows)} vectors for {expected} texts")
    return [_check(numbers, dimensions, peer)
            for numbers in _order(rows, peer)]


def _order(rows: Sequence[_Row], peer: Peer) -> list[Numbers]:
    """By `index`; as they stand where no row has one."""
    if all(row.index is None for row in rows):
        return [row.embedding for row in rows]
    placed = {row.index: row.embedding for row in rows}
    if placed.keys() != set(range(len(rows))):
        raise _wrong(peer, "vectors whose indexes don't fit the texts")
    return [placed[number] for number in range(len(rows))]


def _check(numbers: Numbers, dimensions: int, peer: Peer
             ) -> "array[float]":
    if len(numbers) != dimensions:
        raise UnavailableError(
            f"{peer.title} sent vectors of {len(numbers)} numbers, "
            f"memory.embedding_dimensions is {dimensions}",
            hint="claw config set memory.embedding_dimensions "
                 f"{len(numbers)}")
    vector = array("f", numbers)
    if not all(map(math.isfinite, vector)):
        raise _wrong(peer, "a vector with infinite or missing numbers")
    return vector


def _wrong(peer: Peer, what: str) -> UnavailableError:
    return UnavailableError(f"{peer.title} sent {what}",
                            hint="try again, or another embedding model")
