"""Which models are at hand, and what an answer means for the settings."""

import pytest

from claw.config.places import locate
from claw.core.value import replace
from claw.providers.catalog.local import LocalServer
from claw.wiring.models.providers import build_providers
from claw.wiring.setup.onboard.changes import build_tree
from claw.wiring.setup.onboard.model import (
    build_values,
    complete_address,
    find_key_origin,
    find_price,
    list_models,
    list_offers,
)

SECRET = "sk-very-secret-1"


@pytest.fixture
def tree(tmp_path):
    return build_tree(locate(str(tmp_path), env={"HOME": str(tmp_path)}),
                      b'default_provider = "claude"\ndefault_model = "m"\n')


def build(tree, env):
    return replace(build_providers(tree, env), probe=lambda: [
        LocalServer("ollama", 11434, ("qwen3", "llama3"))])


def test_what_is_set_comes_first_then_keys_then_servers(tree):
    env = {"GROQ_API_KEY": SECRET, "OPENAI_API_KEY": " "}
    found = list_offers(build(tree, env), env)

    assert [(one.name, one.why) for one in found] == [
        ("anthropic", "set in config.toml"), ("groq", "GROQ_API_KEY is set"),
        ("ollama", "answers on port 11434")]
    assert SECRET not in repr(found)


def test_no_server_is_looked_for_where_that_is_forbidden(tree):
    env = {"CLAW_NO_PROBE": "1"}
    assert [one.name for one in list_offers(build(tree, env), env)] == [
        "anthropic"]


def test_models_come_with_prices_and_the_usual_one_first(tree):
    found = list_models(tree, build(tree, {}), "openai",
                        ["text-embedding-3-small", "gpt-5", "mystery"])

    assert [(one.name, one.price) for one in found] == [
        ("gpt-5", "$1.25 in, $10 out a million tokens"), ("mystery", ""),
        ("text-embedding-3-small", found[2].price)]


@pytest.mark.parametrize(("name", "price"), [
    ("ollama", "free"), ("custom:http://127.0.0.1:9/v1", "free"),
    ("custom:http://192.168.1.7:9/v1", "")])
def test_a_server_on_this_machine_is_free(tree, name, price):
    assert find_price(tree, build(tree, {}), name, "toy-1") == price


def test_a_vendor_without_a_list_has_the_models_that_claw_knows(tree):
    assert "gpt-5" in [one.name for one in list_models(
        tree, build(tree, {}), "openai", [])]


@pytest.mark.parametrize(("env", "origin"), [
    ({"GROQ_API_KEY": "gsk_x"}, "GROQ_API_KEY"),
    ({"CLAW_API_KEY": "gsk_x"}, "CLAW_API_KEY"),
    ({}, None)])
def test_where_a_key_is_and_that_one_is_missing(tree, env, origin):
    assert find_key_origin(build(tree, env), "groq") == origin


@pytest.mark.parametrize(("answers", "values"), [
    (("groq", "m", "k", 2.0), {
        ("default_provider",): "groq", ("default_model",): "m",
        ("model_providers", "groq", "api_key"): "k",
        ("cost", "daily_limit_usd"): 2.0}),
    (("custom:http://h/v1", "m", "k", None), {
        ("default_provider",): "custom:http://h/v1",
        ("default_model",): "m", ("api_key",): "k"}),
    (("ollama", "m", None, None), {
        ("default_provider",): "ollama", ("default_model",): "m"}),
])
def test_answers_as_settings(answers, values):
    assert build_values(*answers) == values


@pytest.mark.parametrize(("text", "address"), [
    ("localhost:8000/v1", "http://localhost:8000/v1"),
    ("10.0.0.7:8000", "http://10.0.0.7:8000"), ("[::1]:80", "http://[::1]:80"),
    ("nas", "http://nas"), ("models.example/v1", "https://models.example/v1"),
    ("custom:http://h/v1", "custom:http://h/v1"), ("ftp://h", "ftp://h"),
    ("[", "http://[")])
def test_an_address_gets_its_scheme(text, address):
    assert complete_address(text) == address
