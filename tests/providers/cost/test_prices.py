"""What models cost."""

import re

import pytest

from claw.providers.catalog.vendors import vendors
from claw.providers.cost import prices as module
from claw.providers.cost.prices import FREE, Price, Prices, strip_dates
from claw.providers.settings import PriceSettings

FAMILIES = [name for name in module.read_lists() if ":" not in name]


def rates(price):
    return price and (price.input, price.output)


@pytest.mark.each(("provider", "model", "expected"), [
    ("openai", "gpt-5-mini", (0.25, 2)),
    ("openai", "gpt-5-mini-2025-08-07", (0.25, 2)),
    ("openai", "GPT-5-Mini", (0.25, 2)),
    ("openai", "gpt-4-1106-preview", (10, 30)),
    ("openai", "gpt-4o-2024-05-13", (5, 15)),  # a date with its own price
    ("openai", "gpt-4o-2024-08-06", (2.5, 10)),
    ("azure", "gpt-4.1", (2, 8)),
    ("anthropic", "claude-sonnet-4-5-20250929", (3, 15)),
    ("anthropic", "claude-opus-4-20250514", (15, 75)),
    ("anthropic", "claude-3-5-haiku@20241022", (0.8, 4)),
    ("anthropic", "claude-3-5-haiku-latest", (0.8, 4)),
    ("gemini", "models/gemini-2.5-flash-preview-05-20", (0.3, 2.5)),
    ("xai", "grok-4-0709", (3, 15)),
    ("xai", "grok-4.20-beta-0309-reasoning", (1.25, 2.5)),
    ("mistral", "mistral-small-latest", (0.15, 0.6)),
    ("moonshot-intl", "kimi-k2-0905-preview", (0.6, 2.5)),
    ("glm", "glm-4.6", (0.6, 2.2)),
    ("qwen-intl", "qwen-plus-2025-04-28", (0.4, 1.2)),
    ("cohere", "command-a-03-2025", (2.5, 10)),
    ("minimax", "MiniMax-M2", (0.3, 1.2)),
    ("deepseek", "deepseek-chat", (0.28, 0.42)),
    ("groq", "openai/gpt-oss-120b", (0.15, 0.6)),
    ("openrouter", "anthropic/claude-sonnet-4.5", (3, 15)),
    ("openrouter", "google/gemini-2.5-pro", (1.25, 10)),
    ("openrouter", "x-ai/grok-3", (3, 15)),
    ("openrouter", "moonshotai/kimi-k2", (0.6, 2.5)),
    ("openrouter", "openai/gpt-4o:online", (2.5, 10)),
    ("openrouter", "meta-llama/llama-3.3-70b-instruct:free", (0, 0)),
    ("custom:https://x.example/v1", "claude-haiku-4-5", (1, 5)),
])
def test_a_model_is_found_under_its_many_names(provider, model, expected):
    assert rates(Prices().find(provider, model)) == expected


@pytest.mark.parametrize(("provider", "model"), [
    ("openai", "gpt-99"), ("openai", ""), ("openrouter", "openrouter/auto"),
    # open models: everyone has a price of his own
    ("together", "openai/gpt-oss-120b"), ("deepinfra", "deepseek-chat"),
    ("custom:https://x.example/v1", "qwen-plus"),
    ("openai", "ft:gpt-4o-mini:me::1"), ("openai", "/"), ("", "@"),
    ("openai", "-2025-08-07" * 5_000),
])
def test_what_is_not_known_has_no_price(provider, model):
    assert Prices().find(provider, model) is None


def test_a_local_server_is_free_unless_the_settings_say_more():
    own = Prices({"llama3": PriceSettings(input=1, output=2)})

    assert Prices().find("ollama", "gpt-5", local=True) is FREE
    assert rates(own.find("ollama", "llama3", local=True)) == (1, 2)


@pytest.mark.parametrize(("key", "model"), [
    ("vendor/gpt-5", "vendor/gpt-5"), ("mine/vendor/gpt-5", "vendor/gpt-5"),
    ("gpt-5", "vendor/gpt-5"), ("GPT-5 ", "gpt-5"),
    ("gpt-5", "gpt-5-2025-08-07"), ("mine/gpt-5", "gpt-5-latest"),
])
def test_the_settings_go_before_the_list(key, model):
    own = Prices({key: PriceSettings(input=9, output=7)})

    assert rates(own.find("mine", model)) == (9, 7)


def test_a_price_of_the_settings_fills_in_what_it_leaves_out():
    own = Prices({"m": PriceSettings(input=10, output=20),
                  "n": PriceSettings(input=10, output=20, cached_input=3,
                                     cache_write=12)})

    assert own.find("p", "m") == Price(10, 20, 1, 10)
    assert own.find("p", "n") == Price(10, 20, 3, 12)


def test_the_model_that_answered_has_the_say():
    table = Prices({"mine": PriceSettings(input=1, output=1)})

    assert rates(table.find("openrouter", "openrouter/auto",
                          answered="openai/gpt-5")) == (1.25, 10)
    assert rates(table.find("openai", "gpt-5", answered="gpt-5-nano")) == (
        0.05, 0.4)
    assert rates(table.find("openai", "gpt-5", answered="who?")) == (1.25, 10)
    assert rates(table.find("openai", "mine", answered="gpt-5")) == (1, 1)


def test_a_call_costs_its_parts():
    price = Price(10, 20, 1, 12)

    assert price.cost(1_000_000, 100_000) == pytest.approx(12)
    assert price.cost(1_000_000, 0, 500_000, 250_000) == pytest.approx(
        2.5 + 0.5 + 3)
    assert price.cost(10, 0, 1_000_000) == pytest.approx(1)  # nonsense in


def test_a_long_prompt_costs_more():
    price = Prices().find("gemini", "gemini-2.5-pro")

    assert price.cost(200_000, 1_000) == pytest.approx(0.25 + 0.01)
    assert price.cost(200_001, 1_000) == pytest.approx(0.5 + 0.015, rel=1e-4)


def test_the_table_names_its_date_and_sources():
    head = module._LIST.read_text("utf-8").partition("[")[0]

    assert re.search(r"^# As of: 20\d\d-\d\d$", head, re.M)
    assert "# Sources: " in head


def test_a_provider_called_like_a_kind_has_no_list():
    assert Prices().find("embedding", "text-embedding-3-small") is None


def test_the_table_is_sane():
    for family in FAMILIES:
        rows = module._table(family)
        assert rows, family
        for name, price in rows.items():
            assert re.fullmatch(r"[a-z0-9-]+", name), name
            assert 0 <= price.cached_input <= price.input <= 200, name
            assert price.input <= price.output <= 700, name
            assert price.input <= price.cache_write <= price.input * 2 \
                or price.cache_write == 0, name
            assert price.long_input >= 1
            assert price.long_output >= 1
            if price.long_from is not None:
                assert 16_000 <= price.long_from < 2_000_000


def test_no_row_stands_twice():
    for family, lines in module.read_lists().items():
        names = {line.split()[0].replace(".", "-") for line in lines}
        assert len(names) == len(lines), family


@pytest.mark.each("vendor", [
    v for v in vendors() if (v.model and v.name in FAMILIES)
    or v.name in module._FAMILY], ids=lambda v: v.name)
def test_default_models_have_a_price(vendor):
    if vendor.model:
        assert Prices().find(vendor.name, vendor.model) is not None


def test_undated_takes_one_ending_after_the_other():
    assert list(strip_dates("a-preview-05-20")) == [
        "a-preview-05-20", "a-preview", "a"]
