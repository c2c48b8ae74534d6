"""The forward pass against a slow one that follows the papers."""

import math
import struct

import numpy as np
import pytest

from claw.core.errors import StorageError
from claw.memory.embeddings import minilm
from claw.memory.embeddings.minilm import MiniLM, read_tensors

TEXTS = [[2, 4, 5, 6, 3], [2, 3], [2, 19, 20, 8, 9, 10, 4, 11, 12, 3],
         [2, 1, 1, 3], list(range(20)) * 2]


def slow(tensors, ids, heads=12):
    """One text, a number at a time, in double precision."""
    def get(name):
        return tensors[name].astype(float)

    def dense(x, name):
        weight, bias = get(name + ".weight"), get(name + ".bias")
        return [[sum(w * v for w, v in zip(row, token, strict=True)) + b
                 for row, b in zip(weight, bias, strict=True)]
                for token in x]

    def norm(x, name):
        weight, bias = get(name + ".weight"), get(name + ".bias")
        found = []
        for token in x:
            mean = sum(token) / len(token)
            spread = sum((v - mean) ** 2 for v in token) / len(token)
            found.append([
                (v - mean) / math.sqrt(spread + 1e-12) * w + b
                for v, w, b in zip(token, weight, bias, strict=True)])
        return found

    def add(x, y):
        return [[a + b for a, b in zip(p, q, strict=True)]
                for p, q in zip(x, y, strict=True)]

    def attend(x, layer):
        query, key, value = (dense(x, f"{layer}attention.self.{name}")
                             for name in ("query", "key", "value"))
        size = len(query[0]) // heads
        found = [[] for _ in x]
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            for at, token in enumerate(query):
                scores = [math.exp(sum(
                    a * b for a, b in zip(token[part], other[part],
                                          strict=True)) / math.sqrt(size))
                    for other in key]
                found[at] += [
                    sum(s * v for s, v in zip(scores, column, strict=True))
                    / sum(scores)
                    for column in zip(*(v[part] for v in value),
                                      strict=True)]
        return dense(found, f"{layer}attention.output.dense")

    x = [list(get("embeddings.word_embeddings.weight")[token]
              + get("embeddings.position_embeddings.weight")[at]
              + get("embeddings.token_type_embeddings.weight")[0])
         for at, token in enumerate(ids)]
    x = norm(x, "embeddings.LayerNorm")
    number = 0
    while f"encoder.layer.{number}.output.dense.bias" in tensors:
        layer = f"encoder.layer.{number}."
        x = norm(add(x, attend(x, layer)),
                 layer + "attention.output.LayerNorm")
        inner = [[v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in token]
                 for token in dense(x, layer + "intermediate.dense")]
        x = norm(add(x, dense(inner, layer + "output.dense")),
                 layer + "output.LayerNorm")
        number += 1
    mean = [sum(column) / len(x) for column in zip(*x, strict=True)]
    length = math.sqrt(sum(v * v for v in mean))
    return [v / length for v in mean]


@pytest.mark.parametrize("ids", TEXTS)
def test_a_vector_is_what_the_papers_say(tensors, ids):
    found = MiniLM(tensors).embed([ids])

    assert found.dtype == np.float32
    assert found[0] == pytest.approx(slow(tensors, ids), abs=2e-6)


def test_company_changes_no_vector(tensors):
    model = MiniLM(tensors)
    alone = np.concatenate([model.embed([ids]) for ids in TEXTS])

    assert model.embed(TEXTS) == pytest.approx(alone, abs=1e-6)
    assert model.embed(TEXTS[::-1]) == pytest.approx(alone[::-1], abs=1e-6)


def test_many_texts_come_in_their_order(tensors, monkeypatch):
    monkeypatch.setattr(minilm, "_BATCH_TOKENS", 24)
    model = MiniLM(tensors)
    many = [TEXTS[number * 7 % 5] for number in range(60)]

    found = model.embed(many)
    for number, ids in enumerate(many):
        assert found[number] == pytest.approx(model.embed([ids])[0],
                                              abs=1e-6)


def test_vectors_have_the_length_one(tensors):
    lengths = np.linalg.norm(MiniLM(tensors).embed(TEXTS), axis=1)

    assert lengths == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)


def test_no_text_gives_no_vector(tensors):
    assert MiniLM(tensors).embed([]).shape == (0, 24)


def test_gelu_is_exact_to_float32():
    x = np.linspace(-6, 6, 4001, dtype=np.float32)
    exact = [v * 0.5 * (1 + math.erf(v / math.sqrt(2)))
             for v in x.astype(float)]

    assert minilm._gelu(x) == pytest.approx(exact, abs=1e-6)


def test_a_file_of_tensors_is_mapped(tmp_path, tensors, tiny):
    path = tmp_path / "model.safetensors"
    path.write_bytes(tiny.safetensors(tensors))
    found = read_tensors(path)

    assert found.keys() == tensors.keys()
    assert all(np.array_equal(found[name], tensors[name])
               for name in tensors)
    with pytest.raises(ValueError, match="read-only"):
        found["embeddings.LayerNorm.bias"][0] = 1


def damage(raw, kind):
    if kind == "header":
        return raw[:8] + b"{" * 40 + raw[48:]
    return {"empty": b"", "short": raw[:5], "cut": raw[:-1000],
            "huge header": struct.pack("<Q", 2**62) + raw[8:],
            "text": b"<html>404 not found, and some more</html>"}[kind]


@pytest.mark.parametrize("kind", ["empty", "short", "cut", "huge header",
                                  "text", "header"])
def test_a_damaged_file_is_refused(tmp_path, files, kind):
    path = tmp_path / "model.safetensors"
    path.write_bytes(damage(files["model.safetensors"], kind))

    with pytest.raises(StorageError, match="damaged"):
        MiniLM.load(path)


@pytest.mark.parametrize("lost", [
    "embeddings.word_embeddings.weight", "embeddings.LayerNorm.bias",
    "encoder.layer.1.output.dense.bias"])
def test_a_file_that_lacks_a_tensor_is_refused(tmp_path, tensors, tiny,
                                               lost):
    del tensors[lost]
    path = tmp_path / "model.safetensors"
    path.write_bytes(tiny.safetensors(tensors))

    with pytest.raises(StorageError, match="damaged"):
        MiniLM.load(path)
