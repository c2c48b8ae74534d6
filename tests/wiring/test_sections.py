"""The table of sections: every struct loads, every change is judged."""

from pathlib import Path

import jsonschema
import pytest

from claw.config.edit import set_value
from claw.config.keys import split_key
from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import UsageError
from claw.wiring.config_check import check_settings
from claw.wiring.config_view import row, rows, schema
from claw.wiring.sections import (
    NOTHING,
    SECTIONS,
    all_wrong,
    default_at,
    is_meaningful,
    kind_at,
    sections,
    struct_of,
    validate,
)

REFERENCE = (Path(__file__).parents[1] / "config" / "reference.toml"
             ).read_text("utf-8")


@pytest.fixture
def places(tmp_path):
    return locate(str(tmp_path / "home"), env={})


def written(places, text):
    places.home.mkdir(exist_ok=True)
    places.config_file.write_text(text)
    places.config_file.chmod(0o600)
    return load(places, {})


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_of_a_section_is_optional(section, places):
    tree = load(places, {})

    assert tree.decode("x" if "*" in section else section,
                       struct_of(section)) == struct_of(section)()


def test_a_file_of_the_reference_decodes_everywhere_in_silence(places):
    tree = written(places, REFERENCE)

    for path, struct in sections(tree):
        tree.decode(path, struct)
    assert tree.warnings == []
    assert all_wrong(tree) == []
    assert {f.level for f in check_settings(tree)} <= {"note", "warning"}
    assert not [f for f in check_settings(tree) if "unknown" in f.message]


@pytest.mark.parametrize(("dotted", "kind"), [
    ("memory.backend", str),
    ("memory.policy.max_entries_per_namespace", None),
    ("model_providers.x.base_url", None),
    ("default_temperature", float),
])
def test_kinds(dotted, kind):
    found = kind_at(split_key(dotted))

    assert found is not None
    assert kind is None or found is kind


def test_kind_of_what_no_room_reads():
    assert kind_at(("gateway", "port")) is None
    assert kind_at(("memory", "bakend")) is None


@pytest.mark.parametrize(("dotted", "value"), [
    ("memory.backend", "sqlite"),
    ("memory.qdrant.collection", "zeroclaw_memories"),
    ("model_providers.any.requires_openai_auth", False),
    ("autonomy.level", "supervised"),
    ("agent.thinking.default_level", "medium"),
    ("api_key", None),
    ("gateway.port", NOTHING),
    ("memory.bakend", NOTHING),
])
def test_defaults(dotted, value):
    found = default_at(split_key(dotted))

    assert found is value if value is NOTHING else found == value


@pytest.mark.parametrize(("dotted", "means"), [
    ("memory.backend", True), ("gateway.port", True), ("memroy", False),
    ("channels_config.telegram.bot_token", True),
    ("channels_config.nowhere.bot_token", False),
])
def test_meaning(dotted, means):
    assert is_meaningful(split_key(dotted)) is means


@pytest.mark.parametrize(("text", "dotted", "value", "message"), [
    ("", "memory.bakend", "none",
     'memory.bakend: unknown key (did you mean "backend"?)'),
    ("", "memroy.backend", "none",
     'memroy: unknown key (did you mean "memory"?)'),
    ("", "channels_config.telegrm.bot_token", "t",
     'channels_config.telegrm: unknown key (did you mean "telegram"?)'),
    ("", "model_providers.x.base_ulr", "http://x",
     'model_providers.x.base_ulr: unknown key (did you mean "base_url"?)'),
    ("", "memory.backend", "sqlit",
     "memory.backend: unknown memory backend 'sqlit'"),
    ("", "memory.auto_save", "maybe",
     'memory.auto_save: expected true or false, got "maybe"'),
    ("", "autonomy.level", "ful", 'did you mean "full"?'),
    ("[memory]\nvector_weight = 0", "memory.keyword_weight", "0", "both 0"),
    ("[memory]\nkeyword_weight = 0", "memory.vector_weight", "0", "both 0"),
    ("", "model_providers.x.base_url", "localhost", "http://"),
])
def test_refused_changes(places, text, dotted, value, message):
    written(places, text)

    with pytest.raises(UsageError) as caught:
        set_value(places, split_key(dotted), value, validate)

    assert message in f"{caught.value.message} ({caught.value.hint})"
    assert places.config_file.read_text() == text


@pytest.mark.parametrize(("text", "dotted", "value", "stored"), [
    # a table may be filled key by key
    ("", "model_routes.0.hint", "fast", "fast"),
    # what was wrong before does not stand in the way
    ("[memory]\nauto_save = 'x'\n", "memory.backend", "none", "none"),
    ("[memory]\nauto_save = 'x'\n", "memory.auto_save", "true", True),
    # text that looks like a number
    ("", "default_model", "4", "4"),
    # known, though no room reads it yet
    ("", "skills.allow_scripts", "true", True),
])
def test_accepted_changes(places, text, dotted, value, stored):
    written(places, text)
    set_value(places, split_key(dotted), value, validate)

    assert load(places, {}).get(dotted) == stored


def test_rows_say_who_spoke(places):
    written(places, "[memory]\nbackend = 'none'\n"
                    "[skills]\nallow_scripts = true\n")
    tree = load(places, {"CLAW_MEMORY__AUTO_SAVE": "false"},
                {"default_model": "m"})
    found = {r.key: (r.value, r.source) for r in rows(tree)}

    assert found["memory.backend"] == ("none", "config.toml:2")
    assert found["memory.auto_save"] == (
        False, "environment CLAW_MEMORY__AUTO_SAVE")
    assert found["default_model"] == ("m", "flag")
    assert found["default_temperature"] == (0.7, "default")
    assert found["skills.allow_scripts"] == (True, "config.toml:4")
    assert "api_key" not in found
    assert {r.key for r in rows(tree, ("skills",))} == {
        "skills.allow_scripts"}


def test_rows_mask_secrets(places):
    tree = written(places, "api_key = 'sk-0123456789abcdef'\n"
                   "[proxy]\nhttp_proxy = 'http://u:hunter2@host:1/'\n"
                   "[extra_headers]\nAuthorization = 'short'\n")
    text = repr(rows(tree))

    for secret in ("0123456789", "hunter2", "short"):
        assert secret not in text
    assert "u:" in text
    assert row(tree, ("api_key",)).value.endswith("cdef")


def test_the_schema_takes_the_reference_and_refuses_nonsense(places):
    found = schema()
    jsonschema.Draft202012Validator.check_schema(found)
    validator = jsonschema.Draft202012Validator(found)

    validator.validate(written(places, REFERENCE).raw)
    for wrong in ({"memory": {"auto_save": "yes"}},
                  {"autonomy": {"level": "wild"}},
                  {"security": {"sandbox": {"mode": 3}}},
                  {"model_providers": {"x": {"base_url": 3}}}):
        assert list(validator.iter_errors(wrong))


def check(places, text, env=None):
    written(places, text)
    return [(f.level, f.text) for f in check_settings(
        load(places, env or {}))]


def test_check_finds_everything_at_once(places):
    found = check(places, """\
memroy = 1
[memory]
bakend = "x"
auto_save = 1
min_relevance_score = 3
[autonomy]
levle = "full"
[web_search]
brave_api_key = "open"
[tunnel.ngrok]
auth_token = "enc2:00"
""", {"CLAW_AGENT__PARALLEL_TOOLS": "maybe"})

    errors = {text for level, text in found if level == "error"}
    warnings = {text for level, text in found if level == "warning"}
    notes = {text for level, text in found if level == "note"}
    assert errors >= {
        "config.toml:4: memory.auto_save: expected true or false, got 1",
        "config.toml:5: memory.min_relevance_score: expected a number from "
        "0 to 1, got 3",
        "config.toml:7: autonomy.levle: unknown key",
        "agent.parallel_tools: expected true or false, got \"maybe\" "
        "(environment CLAW_AGENT__PARALLEL_TOOLS)"}
    assert any("tunnel.ngrok.auth_token" in text and ".secret_key" in text
               for text in errors)
    assert warnings == {
        "config.toml:1: memroy: unknown key",
        "config.toml:3: memory.bakend: unknown key",
        "config.toml:9: web_search.brave_api_key: stands in plain text"}
    assert any("web_search.brave_api_key: known, but without effect"
               in text for text in notes)
    levels = [level for level, _ in found]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)


def test_check_of_nothing(places):
    assert check_settings(load(places, {})) == []


def test_check_names_open_files(places):
    written(places, "")
    places.config_file.chmod(0o640)
    places.key_file.write_text("")
    places.key_file.chmod(0o604)

    assert [f.hint for f in check_settings(load(places, {}))] == [
        f"chmod 600 '{places.config_file}'",
        f"chmod 600 '{places.key_file}'"]
