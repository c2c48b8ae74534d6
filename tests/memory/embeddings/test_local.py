"""The embedder of this machine."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from claw.core.errors import ConfigError, StorageError
from claw.memory.embeddings.connection import Connection
from claw.memory.embeddings.local import (
    FOLDER,
    VOCABULARY,
    WEIGHTS,
    LocalEmbedder,
    models_folder,
)


def test_texts_become_unit_vectors_in_their_order(models):
    embedder = LocalEmbedder(models / FOLDER)
    found = embedder.embed(["the cat sat", "naïve", "the cat sat"])

    assert [len(vector) for vector in found] == [24, 24, 24]
    assert np.linalg.norm(found[1]) == pytest.approx(1, abs=1e-6)
    assert found[0] == pytest.approx(found[2], abs=1e-6)
    assert found[0] != pytest.approx(found[1], abs=1e-2)
    assert found[0] == pytest.approx(embedder.embed_one("The CAT sat"),
                                     abs=1e-6)


@pytest.mark.parametrize("text", [
    "", " ", "\x00", "\ud800", "我的猫" * 1000, "the " * 1_000_000,
    "🙂👨‍👩‍👧", "[SEP] [MASK]"])
def test_any_text_has_a_vector(models, text):
    vector = LocalEmbedder(models / FOLDER).embed_one(text)

    assert np.isfinite(vector).all()


def test_it_says_what_it_is(tmp_path):
    embedder = LocalEmbedder.build(Connection("local", models=tmp_path))

    assert embedder.name == "local"
    assert embedder.dimensions == 384
    assert embedder.model == "local|all-minilm-l6-v2|384"
    assert not embedder.is_multilingual


@pytest.mark.parametrize("there", [[], [WEIGHTS], [VOCABULARY]])
def test_a_missing_model_is_said_when_it_is_used(models, there):
    for name in {WEIGHTS, VOCABULARY} - set(there):
        (models / FOLDER / name).unlink()
    embedder = LocalEmbedder.build(Connection("local", models=models))

    with pytest.raises(ConfigError, match="the local embedding model is not "
                                          "installed") as caught:
        embedder.embed(["a"])
    assert caught.value.hint == "claw memory model install"


def test_a_model_that_is_installed_meanwhile_is_found(models):
    weights = models / FOLDER / WEIGHTS
    weights.rename(models / "away")
    embedder = LocalEmbedder(models / FOLDER)
    with pytest.raises(ConfigError):
        embedder.embed(["a"])
    (models / "away").rename(weights)

    assert len(embedder.embed_one("a")) == 24


def test_files_of_two_models_are_refused(models):
    with open(models / FOLDER / VOCABULARY, "a", encoding="utf-8") as file:
        file.write("one more\n")

    with pytest.raises(StorageError, match="don't belong together"):
        LocalEmbedder(models / FOLDER).embed(["a"])


def test_another_model_is_refused_by_name(models):
    with pytest.raises(ConfigError, match="'bge-small'"):
        LocalEmbedder.build(Connection("local", "bge-small"))
    LocalEmbedder.build(Connection(
        "local", "sentence-transformers/all-MiniLM-L6-v2"))


def test_threads_share_one_model(models, monkeypatch):
    embedder = LocalEmbedder(models / FOLDER)
    loads, found = [], []
    real = LocalEmbedder.embed.__globals__["load"]

    def slow(folder):
        loads.append(folder)
        time.sleep(0.05)
        return real(folder)

    monkeypatch.setitem(LocalEmbedder.embed.__globals__, "load", slow)
    threads = [threading.Thread(target=lambda: found.append(
        embedder.embed_one("the cat"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(loads) == 1
    assert all(v == pytest.approx(found[0], abs=1e-6) for v in found)
    assert len(found) == 8


@pytest.mark.parametrize(("env", "expected"), [
    ({}, "/home/mina/.claw/models"),
    ({"CLAW_MODELS": " "}, "/home/mina/.claw/models"),
    ({"CLAW_MODELS": "/big/disk"}, "/big/disk")])
def test_models_lie_beside_the_settings_or_where_claw_models_says(
        env, expected):
    assert models_folder(Path("/home/mina/.claw"), env) == Path(expected)


LOADS = """
import os, sys
from claw.memory.embeddings.local import LocalEmbedder
from pathlib import Path
embedder = LocalEmbedder(Path(sys.argv[1]))
before = "numpy" in sys.modules
embedder.embed(["the cat"])
threads = len(os.listdir("/proc/self/task"))
print(before, "numpy" in sys.modules, "logging" in sys.modules, threads,
      "OPENBLAS_NUM_THREADS" in os.environ)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc")
def test_numpy_comes_late_and_with_one_thread(models):
    env = {name: value for name, value in os.environ.items()
           if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", LOADS, models / FOLDER],
                          capture_output=True, text=True, check=True,
                          env=env)

    assert done.stdout.split() == ["False", "True", "False", "1", "False"]
