"""Embeddings against servers and weights of other people."""

import math
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from claw.core.errors import UnavailableError
from claw.memory.embeddings.connection import Connection
from claw.memory.embeddings.http import HttpEmbedder
from claw.memory.embeddings.install import check
from claw.memory.embeddings.local import FOLDER, LocalEmbedder, is_installed
from claw.memory.embeddings.package import find_problem

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
MODELS = Path(os.environ.get("CLAW_MODELS", PEERS / "models"))
TEXTS = ["The cat sits on the mat.", "我的猫", "The cat sits on the mat.",
         "\U0001f63a"]
# llama.cpp with pooled embeddings, 64 tokens at once.
SERVE = """
import sys, time, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = 64
parameters.n_parallel = 1
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[2])
parameters.cpuparams.n_threads = 1
parameters.embedding = True
parameters.pooling_type = (
    xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN)
server = xllamacpp.Server(parameters)
time.sleep(3600)
"""


def embedder(url, dimensions, model="text-embedding-ada-002"):
    return HttpEmbedder(Connection(f"custom:{url}", model, dimensions, url,
                                   key="any-key"))


@pytest.fixture
def mock_url(aimock, tmp_path):
    with aimock(tmp_path, []) as url:
        yield url


def test_aimock_gives_a_vector_a_text_in_order(mock_url):
    found = embedder(mock_url, 1536).embed(TEXTS)

    assert [len(vector) for vector in found] == [1536] * 4
    assert found[0] == found[2]
    assert found[0] != found[1]


def test_aimock_is_asked_in_batches(mock_url):
    found = embedder(mock_url, 1536).embed(
        [f"text {number % 90}" for number in range(230)])

    assert len(found) == 230
    assert found[0] == found[90] == found[180]


def test_another_length_is_told_with_both_numbers(mock_url):
    with pytest.raises(UnavailableError, match=r"of 1536 numbers.* is 768"):
        embedder(mock_url, 768).embed(["a"])


@pytest.fixture
def llama_url(tmp_path):
    """llama.cpp with a random model and embeddings."""
    packages = PEERS / "python"
    if not (packages / "xllamacpp").is_dir():
        pytest.skip(f"xllamacpp is not installed (run {HERE}/install.sh)")
    env = {**os.environ, "PYTHONPATH": str(packages)}
    model = tmp_path / "tiny.gguf"
    subprocess.run([sys.executable, str(HERE / "tiny_gguf.py"), str(model)],
                   env=env, capture_output=True, check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(tmp_path / "log", "wb") as log, subprocess.Popen(
            [sys.executable, "-c", SERVE, str(model), str(port)],
            stdout=log, stderr=log, env=env) as process:
        try:
            wait_for(process, port)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def wait_for(process, port):
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health",
                                        timeout=5):
                return
        except OSError:  # not there yet, or 503 while it loads
            time.sleep(0.05)
    pytest.fail("llama.cpp did not start")


def test_llama_cpp_gives_a_vector_a_text_in_order(llama_url):
    texts = ["The cat.", "我的猫", "The cat.", "", "\U0001f63a"]
    found = embedder(llama_url, 64).embed(texts)

    assert [len(vector) for vector in found] == [64] * 5
    assert found[0] == pytest.approx(found[2], abs=1e-5)
    assert found[0] != pytest.approx(found[1], abs=1e-2)


def test_a_text_too_long_for_llama_cpp_is_cut(llama_url):
    long = "The cat sits on the mat. " * 200
    vector, other = embedder(llama_url, 64).embed([long, "The cat"])

    assert all(map(math.isfinite, vector))
    assert vector != pytest.approx(other, abs=1e-3)


@pytest.fixture
def minilm():
    folder = MODELS / FOLDER
    if not is_installed(folder):
        pytest.skip(f"CLAW_MODELS={MODELS} claw memory model install")
    return LocalEmbedder(folder)


def test_the_real_weights_are_whole_and_work(minilm):
    assert find_problem(minilm.folder) is None
    check(minilm.folder)


def test_the_real_model_knows_what_is_alike(minilm):
    cat, kitten, money = np.array(minilm.embed([
        "The cat sits on the mat.", "A kitten rests on a rug.",
        "Quarterly revenue fell by 3 percent."]))

    assert cat @ kitten > 0.6
    assert abs(cat @ money) < 0.1


def test_company_changes_no_vector_of_the_real_model(minilm):
    texts = ["short", "a much longer text about cats " * 20, "", "我的猫",
             "The cat sits on the mat."] * 8
    together = np.array(minilm.embed(texts))
    alone = np.array([minilm.embed_one(text) for text in texts[:5]])

    for begun in range(0, 40, 5):
        assert together[begun:begun + 5] == pytest.approx(alone, abs=1e-5)
