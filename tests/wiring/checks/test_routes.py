"""Names of providers as `config check` sees them."""

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.wiring.checks.config import check_settings

MINE = "[model_providers.mine]\nbase_url = 'http://127.0.0.1:8000/v1'\n"


@pytest.fixture
def findings(tmp_path):
    places = locate(str(tmp_path / "home"), None, {})
    places.home.mkdir()

    def call(text):
        places.config_file.write_text(text)
        places.config_file.chmod(0o600)
        return [(f.level, f.key, f.hint) for f in
                check_settings(load(places, {})) if f.level != "note"]
    return call


def test_a_misspelt_default_provider_is_found_before_the_first_question(
        findings):
    (level, key, hint), = findings("default_provider = 'mien'\n" + MINE)

    assert (level, key) == ("error", "default_provider")
    assert 'did you mean "mine"?' in hint


def test_a_misspelt_fall_back_is_found_before_it_is_needed(findings):
    (level, key, hint), = findings(
        "default_provider = 'mine'\n[reliability]\n"
        "fallback_providers = ['ollama', 'antropic']\n" + MINE)

    assert (level, key) == ("warning", "reliability.fallback_providers")
    assert 'did you mean "anthropic"?' in hint


@pytest.mark.parametrize("name", [
    "mine", "anthropic", "Claude", " ollama ", "",
    "custom:http://127.0.0.1:8000/v1", "anthropic-custom:https://host.test"])
def test_providers_that_are_known_are_not_complained_of(findings, name):
    assert findings(f"default_provider = '{name}'\n[reliability]\n"
                    f"fallback_providers = ['{name}']\n" + MINE) == []


def test_a_route_without_a_model_is_complained_of_once(findings):
    assert findings("[[model_routes]]\nhint = 'fast'\nprovider = 'groq'\n"
                    ) == [("error", "model_routes.0.model", None)]
