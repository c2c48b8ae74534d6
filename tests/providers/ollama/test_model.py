"""What a server tells of a model, and how much context is asked for."""

import pytest

from claw.providers.ollama.model import (
    UNKNOWN,
    Model,
    context_for,
    guess_tokens,
    loaded_context,
    overflow,
    power_of_two,
    prompt_tokens,
    read_model,
)

NESTED = ('Ollama API error (400): {"error":{"code":400,"message":"request '
          "(8889 tokens) exceeds the available context size (4096 tokens), "
          'try increasing it","type":"exceed_context_size_error",'
          '"n_prompt_tokens":8889,"n_ctx":4096}}')


def test_what_show_says_is_read():
    model = read_model({
        "capabilities": ["completion", "tools"],
        "model_info": {"general.architecture": "qwen3",
                       "qwen3.context_length": 40960},
        "parameters": 'stop    "x"\nnum_ctx                        8192',
        "thinking": {"values": ["low", "high"], "default": "low"}})

    assert model == Model(frozenset(["completion", "tools"]), 40960, 8192,
                          ("low", "high"))
    assert model.can("tools") is True
    assert model.can("vision") is False


@pytest.mark.parametrize("data", [
    None, [], "x", {}, {"capabilities": "tools", "model_info": 3,
                        "parameters": 7, "thinking": {"values": "low"}},
    {"model_info": {"general.architecture": "x", "x.context_length": "9"}},
    {"parameters": "num_ctx many"}, {"thinking": []},
])
def test_what_is_left_out_is_unknown(data):
    model = read_model(data)

    assert model == Model()
    assert model.can("tools") is None


def test_a_context_length_counts_under_any_architecture():
    assert read_model({"model_info": {"odd.context_length": 5}}
                      ).context_length == 5


@pytest.mark.parametrize(("name", "expected"), [
    ("qwen3", 8192), ("qwen3:latest", 8192), ("hub:5/me/qwen", 512),
    ("qwen3:8b", 0)])
def test_the_loaded_context_is_found_by_name_and_tag(name, expected):
    data = {"models": [
        {"name": "qwen3:latest", "context_length": 8192},
        {"model": "hub:5/me/qwen:latest", "context_length": 512}, None]}

    assert loaded_context(data, name) == expected


@pytest.mark.parametrize("data", [
    None, {}, {"models": 3}, {"models": [{"name": "m:latest"}]},
    {"models": [{"name": "m:latest", "context_length": "8"}]}])
def test_an_old_server_says_nothing_of_contexts(data):
    assert loaded_context(data, "m") == 0


def need(*texts, max_tokens=0, **more):
    return guess_tokens({"messages": [
        {"role": "user", "content": t} for t in texts], **more}, max_tokens)


def test_the_guess_is_above_what_tokenizers_count():
    english = "The quick brown fox jumps over the lazy dog. " * 100
    chinese = "敏捷的棕色狐狸跳过懒狗。" * 100

    assert need(english) > 1000      # 10 tokens a sentence
    assert need(chinese) > 1200      # a token a character
    assert need(english, max_tokens=500) == need(english) + 500
    assert guess_tokens({"messages": []}, None) > 1000  # room to answer


def test_tools_and_images_count_but_not_the_bytes_of_images():
    plain = need("look")
    image = guess_tokens({"messages": [
        {"role": "user", "content": "look", "images": ["A" * 900_000]}]}, 0)

    assert need("look", tools=[{"x": "y" * 3000}]) > plain + 1000
    assert plain + 1000 < image < plain + 2000


def test_lone_surrogates_are_counted_too():
    assert need("\ud800" * 300) >= 300


@pytest.mark.parametrize(("needed", "model", "more", "expected"), [
    (100, Model(), {}, None),
    (4096, Model(), {}, None),
    (4097, Model(), {}, 8192),
    (9000, Model(context_length=131072), {}, 16384),
    (9000, Model(context_length=10000), {}, 10000),
    (90000, Model(context_length=32768), {}, 32768),
    (900_000, Model(), {}, UNKNOWN),
    (9000, Model(num_ctx=16384), {}, None),
    (9000, Model(num_ctx=8192), {}, 16384),
    (9000, Model(), {"default": 65536}, None),
    (90_000, Model(), {"default": 65536}, 131072),
    (9000, Model(), {"loaded": 40960}, 40960),
    (100, Model(), {"loaded": 40960}, 40960),
    (50_000, Model(context_length=32768), {"loaded": 32768}, 32768),
    (50_000, Model(), {"loaded": 32768}, 65536),
])
def test_the_context_asked_for(needed, model, more, expected):
    assert context_for(needed, model, **more) == expected


@pytest.mark.parametrize(("number", "expected"), [
    (0, 1), (1, 1), (2, 2), (3, 4), (4096, 4096), (4097, 8192)])
def test_powers_of_two(number, expected):
    assert power_of_two(number) == expected


@pytest.mark.parametrize(("text", "too_long", "tokens"), [
    (NESTED, True, 8889),
    ("the input length exceeds the context length", True, None),
    ("the prompt is longer than the context length currently available",
     True, None),
    ("model 'x' not found", False, None),
    ("an error was encountered while running the model", False, None),
])
def test_a_prompt_that_is_too_long_is_recognised(text, too_long, tokens):
    assert overflow(text) is too_long
    assert prompt_tokens(text) == tokens
