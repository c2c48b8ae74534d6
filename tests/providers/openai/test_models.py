"""What OpenAI's own models take, by their names."""

import pytest

from claw.providers.openai.models import (
    fixed_temperature,
    needs_responses,
    temperature_for,
)


@pytest.mark.parametrize(("model", "sent"), [
    ("gpt-5", 1.0), ("gpt-5-mini", 1.0), ("gpt-5-nano", 1.0),
    ("gpt-5-2025-08-07", 1.0), ("gpt-5.1-chat-latest", 1.0), ("o1", 1.0),
    ("o3-mini-2025-01-31", 1.0), ("o4-mini", 1.0),
    ("gpt-4o", 0.5), ("gpt-5.1", 0.5), ("gpt-4.1-mini", 0.5),
    ("o1x", 0.5),
])
def test_models_with_a_fixed_temperature(model, sent):
    assert temperature_for(model, 0.5) == sent


@pytest.mark.each(("model", "needed"), [
    ("gpt-5-codex", True), ("gpt-5.1-codex-max", True),
    ("codex-mini-latest", True), ("o1-pro", True), ("o3-pro-2025-06-10", True),
    ("gpt-5-pro", True), ("gpt-5.5-pro-2026-04-23", True),
    ("o4-mini-deep-research", True), ("computer-use-preview", True),
    ("gpt-5.4-mini", True), ("gpt-5.6-terra", True), ("gpt-6.1-terra", True),
    ("gpt-6-luna", True), ("gpt-4o", False), ("gpt-4.1-mini", False),
    ("gpt-5", False), ("gpt-5-mini", False), ("gpt-5.1", False),
    ("gpt-5.3-chat-latest", False), ("o3", False), ("o4-mini", False),
    ("my-production", False),
])
def test_models_that_need_the_responses_api(model, needed):
    assert needs_responses(model) is needed


@pytest.mark.parametrize(("model", "fixed"), [
    ("gpt-5.5", True), ("gpt-5.6-sol", True), ("gpt-6.1-terra", True),
    ("gpt-5-codex", True), ("o3-deep-research", True), ("o3-pro", True),
    ("gpt-5.4", False), ("gpt-5.1", False), ("gpt-4o", False),
])
def test_models_that_think_take_no_temperature(model, fixed):
    assert fixed_temperature(model) is fixed
