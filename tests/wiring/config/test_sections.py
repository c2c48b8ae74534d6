"""The table of sections: every struct loads, every change is judged."""

from pathlib import Path

import jsonschema
import pytest

from claw.config.edit import set_value
from claw.config.keys import split_key
from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import UsageError
from claw.memory import REGISTRY as MEMORY
from claw.wiring.checks.config import check_settings
from claw.wiring.config.sections import (
    NOTHING,
    SECTIONS,
    default_at,
    find_problems,
    is_meaningful,
    kind_at,
    load_struct,
    sections,
    validate,
)
from claw.wiring.config.view import row, rows, schema

REFERENCE = (Path(__file__).parents[2] / "config" / "reference.toml"
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
                       load_struct(section)) == load_struct(section)()


def test_a_file_of_the_reference_decodes_everywhere_in_silence(places):
    tree = written(places, REFERENCE)

    for path, struct in sections(tree):
        tree.decode(path, struct)
    assert tree.warnings == []
    assert find_problems(tree) == []
    assert {f.level for f in check_settings(tree)} <= {"note", "warning"}
    assert {f.message for f in check_settings(tree)
            if "unknown" in f.message} == {"unknown provider: 'p'"}


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
    assert kind_at(("tunnel", "provider")) is None
    assert kind_at(("memory", "bakend")) is None


@pytest.mark.parametrize(("dotted", "value"), [
    ("memory.backend", "sqlite"),
    ("memory.qdrant.collection", "zeroclaw_memories"),
    ("model_providers.any.requires_openai_auth", False),
    ("autonomy.level", "supervised"),
    ("agent.thinking.default_level", "medium"),
    ("api_key", None),
    ("scheduler.max_tasks", 64),
    ("tunnel.provider", NOTHING),
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


MIXED = """
default_provider = "ollama"
[memory]
auto_save = "x"
keyword_weight = 0
[storage.provider.config]
provider = "sqlite"
[security.sandbox]
mode = "auto"
[[model_routes]]
hint = "fast"
model = "m"
[model_providers.x]
base_url = "http://x"
[channels_config]
cli = true
[channels_config.telegram]
bot_token = "t"
[gateway]
port = 99999
"""


@pytest.mark.parametrize(("dotted", "value"), [
    ("default_temperature", 9), ("default_temperature", "warm"),
    ("default_model", "m:cloud"), ("api_url", 3),
    ("extra_headers", {"a": 1}),
    ("memory.vector_weight", 0), ("memory.backend", "sqlit"),
    ("memory.auto_save", True), ("memory", {"auto_save": 3}),
    ("memory.policy.max_entries_per_namespace", "many"),
    ("storage.provider.config.provider", "postgre"),
    ("agent.parallel_tools", 3), ("agent", {"parallel_tools": 3}),
    ("security.sandbox.mode", "odd"), ("security", {"sandbox": {"mode": 1}}),
    ("security.otp.cache_valid_secs", 1), ("security.sandbox", 3),
    ("model_routes.0.provider", 3), ("model_routes.1.hint", "deep"),
    ("model_routes", [{"hint": 3}]), ("model_providers.x.base_url", "x"),
    ("model_providers.y.wire_api", "odd"), ("model_providers", {"z": 3}),
    ("channels_config.telegram.allowed_users", 3),
    ("channels_config.cli", "yes"), ("channels_config.webhook.port", "x"),
    ("channels_config", {"telegram": {"bot_token": 3}}),
    ("gateway.port", 8080), ("gateway.host", " "),
    ("mcp.servers", [{"transport": "http"}]), ("agents.a.timeout_secs", 0),
    ("transcription.default_provider", "odd"),
    ("autonomy.shell_env_passthrough", ["a b"]),
    ("embedding_routes.0.hint", " "), ("skills.allow_scripts", 3),
])
def test_a_change_is_judged_by_its_section_as_by_all(places, dotted, value):
    """What a change breaks and mends is the same, whether all sections are
    read or only the one that it touches."""
    path = split_key(dotted)
    before = written(places, MIXED)
    after = written(places, MIXED)
    after.override(path, value, "flag", dotted)

    def moved(near):
        old, new = ({(e.path, e.problem, e.hint)
                     for e in find_problems(tree, near)}
                    for tree in (before, after))
        return new - old, old - new
    assert moved(path) == moved(None)


def test_a_change_looks_for_other_packages_only_for_a_name_of_theirs(
        places, monkeypatch):
    looked = []
    monkeypatch.setattr(MEMORY, "foreign_names",
                        lambda: looked.append(True) or ["theirs"])
    for backend in ("none", "sqlite", ""):
        assert find_problems(
            written(places, f'[memory]\nbackend = "{backend}"'),
            ("memory", "backend")) == []
    assert looked == []
    tree = written(places, '[memory]\nbackend = "theirs"')
    assert find_problems(tree, ("memory", "backend")) == []
    assert looked == [True]


@pytest.mark.parametrize(("dotted", "touched"), [
    ("agent.parallel_tools", [("agent",)]),
    ("default_model", [()]),
    ("memory.policy.x", [("memory",)]),
    ("model_routes.0.hint", [("model_routes", "0")]),
    ("security", [(), ("security", "sandbox"), ("security", "resources"),
                  ("security", "prompt_guard")]),
    ("channels_config.telegram.bot_token",
     [("channels_config", "telegram")]),
])
def test_the_sections_that_a_change_touches(places, dotted, touched):
    tree = written(places, MIXED)

    assert [path for path, _ in sections(tree, split_key(dotted))] == touched


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
[notion]
api_key = "open"
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
        "config.toml:9: notion.api_key: stands in plain text"}
    assert any("notion.api_key: known, but without effect"
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


@pytest.mark.parametrize(("name", "problems"), [
    ("anthropic", 0), ("claude", 0), ("mine", 1)])
def test_a_table_of_a_known_vendor_may_hold_its_key_alone(
        places, name, problems):
    tree = written(places, f'[model_providers.{name}]\napi_key = "x"\n')

    assert len(find_problems(tree)) == problems
