"""What the name of a model says."""

import pytest

from claw.memory.embeddings.known import is_multilingual, takes_dimensions


@pytest.mark.parametrize("model", [
    "text-embedding-3-small", "openai/text-embedding-3-large", "BAAI/bge-m3",
    "bge-m3:latest", "intfloat/multilingual-e5-large",
    "e5-multilingual-base", "Qwen/Qwen3-Embedding-0.6B",
    "qwen3-embedding:0.6b", "embeddinggemma:300m",
    "nomic-embed-text-v2-moe", "embed-multilingual-v3.0",
    "paraphrase-multilingual-MiniLM-L12-v2", "bge-large-zh-v1.5",
    "gemini-embedding-001", "snowflake-arctic-embed2",
    "jina-embeddings-v3"])
def test_models_of_many_languages_are_known(model):
    assert is_multilingual(model)


@pytest.mark.parametrize("model", [
    "all-minilm", "all-MiniLM-L6-v2", "bge-small-en-v1.5",
    "BAAI/bge-large-en", "nomic-embed-text", "nomic-embed-text-v1.5",
    "mxbai-embed-large", "gte-base-en-v1.5", "embed-english-v3.0",
    "jina-embeddings-v2-base-en", "my-own-model", "", "text-embedding-ada-002"
])
def test_english_and_unknown_models_are_not_trusted_with_others(model):
    assert not is_multilingual(model)


def test_only_some_models_take_a_length():
    assert takes_dimensions("text-embedding-3-large")
    assert not takes_dimensions("text-embedding-ada-002")
    assert not takes_dimensions("bge-m3")
