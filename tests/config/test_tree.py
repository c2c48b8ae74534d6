"""Flags over environment over file, and who spoke."""

import subprocess
import sys

import pytest

from claw.config.secrets import create_key, seal
from claw.config.tree import load
from claw.core.errors import ConfigError

FILE = """
default_model = "file"

[memory]
backend = "sqlite"

[model_providers.my-host]
base_url = "http://a"

[[model_routes]]
hint = "fast"
"""


def test_order_flag_environment_file_default(tree_of):
    env = {"CLAW_DEFAULT_MODEL": "env", "CLAW_MEMORY__BACKEND": "none"}
    tree = tree_of(FILE, env, {"default_model": "flag",
                               "default_provider": None})

    assert tree.get("default_model") == "flag"
    assert tree.get("memory.backend") == "none"
    assert tree.get("model_providers.my-host.base_url") == "http://a"
    assert tree.get("default_provider") is None
    assert tree.get("default_provider", "x") == "x"
    assert [tree.origin(key) for key in (
        "default_model", "memory.backend", "model_providers.my-host.base_url",
        "default_provider")] == ["flag", "environment", "config", "default"]
    assert tree.variable("memory.backend") == "CLAW_MEMORY__BACKEND"
    assert tree.variable("default_model") is None
    assert tree.line("memory.backend") == 5
    assert tree.line("model_routes.0.hint") == 11
    assert tree.line("nothing.here") is None


def test_tables_and_names(tree_of):
    tree = tree_of(FILE)

    assert tree.table("memory") == {"backend": "sqlite"}
    assert tree.table("nothing") == {}
    assert tree.names("model_providers") == ["my-host"]
    assert tree.names("") == ["memory", "model_providers"]
    assert tree.names("default_model") == []
    assert tree.has("memory")
    assert not tree.has("memory.auto_save")
    assert tree.table("")["default_model"] == "file"
    with pytest.raises(ConfigError, match="default_model: expected a table"):
        tree.table("default_model")


def test_a_table_given_away_cannot_change_the_tree(tree_of):
    tree = tree_of(FILE)
    tree.table("memory")["backend"] = "none"

    assert tree.get("memory.backend") == "sqlite"


@pytest.mark.parametrize(("name", "text", "key", "value"), [
    ("CLAW_MEMORY__AUTO_SAVE", "false", "memory.auto_save", False),
    ("claw_memory__Auto_Save", "false", "memory.auto_save", False),
    ("CLAW_MEMORY__EMBEDDING_DIMENSIONS", "768",
     "memory.embedding_dimensions", 768),
    ("CLAW_MEMORY__VECTOR_WEIGHT", "0.25", "memory.vector_weight", 0.25),
    ("CLAW_MEMORY__BACKEND", '"none"', "memory.backend", "none"),
    ("CLAW_MEMORY__BACKEND", "false alarm", "memory.backend", "false alarm"),
    ("CLAW_MEMORY__BACKEND", "a\nb = 1", "memory.backend", "a\nb = 1"),
    ("CLAW_MEMORY__BACKEND", "2024-01-01", "memory.backend", "2024-01-01"),
    ("CLAW_AUTONOMY__ALLOWED_COMMANDS", '["git", "ls"]',
     "autonomy.allowed_commands", ["git", "ls"]),
    ("CLAW_MODEL_PROVIDERS__MY_HOST__BASE_URL", "http://b",
     "model_providers.my-host.base_url", "http://b"),
    ("CLAW_MODEL_PROVIDERS__NEW__BASE_URL", "http://b",
     "model_providers.new.base_url", "http://b"),
    ("CLAW_MODEL_ROUTES__0__HINT", "deep", "model_routes.0.hint", "deep"),
    ("CLAW__LOCALE", "ko", "locale", None),
    ("CLAW___LOCALE", "ko", "locale", "ko"),
    ("CLAW_LOCALE", "ko", "locale", "ko"),
    ("CLAW_MODEL", "m", "default_model", "m"),
    ("CLAW_DEFAULT_MODEL", "m", "default_model", "m"),
    ("ZEROCLAW_MODEL", "m", "default_model", "m"),
    ("ZEROCLAW_MODEL_PROVIDER", "p", "default_provider", "p"),
    ("ZEROCLAW_TEMPERATURE", "1.5", "default_temperature", 1.5),
    ("ZEROCLAW_EXTRA_HEADERS", "A:b, C: d:e ", "extra_headers",
     {"A": "b", "C": "d:e"}),
    ("ZEROCLAW_ALLOW_PUBLIC_BIND", "1", "gateway.allow_public_bind", True),
    ("ZEROCLAW_NO_PROXY", "a, b", "proxy.no_proxy", ["a", "b"]),
    ("BRAVE_API_KEY", "k", "web_search.brave_api_key", "k"),
    ("CLAW_MODEL", "", "default_model", "file"),
    ("MODEL", "m", "default_model", "file"),
    ("PROVIDER", "p", "default_provider", None),
    ("CLAW_API_KEY", "k", "api_key", None),
])
def test_environment(tree_of, name, text, key, value):
    assert tree_of(FILE, {name: text}).get(key) == value


def test_stronger_variables_win(tree_of):
    env = {"ZEROCLAW_PROVIDER": "z", "ZEROCLAW_MODEL_PROVIDER": "y",
           "ZEROCLAW_GATEWAY_PORT": "1", "CLAW_GATEWAY_PORT": "2",
           "CLAW_GATEWAY__PORT": "3"}
    tree = tree_of("", env)

    assert tree.get("default_provider") == "z"
    assert tree.get("gateway.port") == 3
    assert tree.variable("gateway.port") == "CLAW_GATEWAY__PORT"


@pytest.mark.parametrize(("name", "text"), [
    ("ZEROCLAW_TEMPERATURE", "3"), ("ZEROCLAW_TEMPERATURE", "warm"),
    ("ZEROCLAW_TEMPERATURE", "nan"), ("CLAW_GATEWAY_PORT", "70000"),
    ("ZEROCLAW_WEB_SEARCH_ENABLED", "maybe"),
])
def test_a_senseless_short_variable_is_ignored_with_a_warning(
        tree_of, name, text):
    tree = tree_of("", {name: text})

    assert tree.raw == {}
    assert len(tree.warnings) == 1
    assert f"environment {name}: ignored" in tree.warnings[0]


def test_a_variable_through_a_value_is_an_error(tree_of):
    with pytest.raises(ConfigError,
                       match="CLAW_DEFAULT_MODEL__X: default_model is a"):
        tree_of(FILE, {"CLAW_DEFAULT_MODEL__X": "1"})


@pytest.mark.parametrize(("text", "key", "value"), [
    ('model = "m"', "default_model", "m"),
    ('model_provider = "p"', "default_provider", "p"),
    ('[storage.provider.config]\ndbURL = "u"',
     "storage.provider.config.db_url", "u"),
    ('[[mcp.mcpServers]]\nname = "x"', "mcp.servers.0.name", "x"),
    ('[heartbeat]\nrecipient = "x"', "heartbeat.to", "x"),
])
def test_other_spellings_of_the_reference(tree_of, text, key, value):
    tree = tree_of(text)

    assert tree.get(key) == value
    assert tree.warnings == []
    assert tree.line(key) in (1, 2)


def test_both_spellings_keep_the_real_one_and_warn(tree_of):
    tree = tree_of('default_model = "a"\nmodel = "b"')

    assert tree.get("default_model") == "a"
    assert tree.warnings == ["config.toml:2: model is ignored: "
                             "default_model is set too"]


def test_override_by_another_spelling(tree_of):
    assert tree_of('model = "a"', {}, {"model": "b"}
                   ).get("default_model") == "b"


def test_misspelt_table_is_reported_without_decoding(tree_of):
    assert tree_of("\n[memroy]\n").warnings == [
        'config.toml:2: memroy: unknown key, did you mean "memory"?']


@pytest.fixture
def sealed(places):
    places.home.mkdir()
    key = create_key(places.key_file)
    return lambda text: seal(text, key)


def test_secrets_are_decrypted_on_access(tree_of, sealed):
    tree = tree_of(f'api_key = "{sealed("sk-열쇠")}"\n[reliability]\n'
                   f'api_keys = ["{sealed("a")}", "plain"]\n')

    assert tree.get("api_key") == "sk-열쇠"
    assert tree.table("reliability") == {"api_keys": ["a", "plain"]}
    assert tree.raw["api_key"].startswith("enc2:")


@pytest.mark.parametrize(("value", "reason"), [
    ("enc2:zz", "corrupt hex"),
    ("enc2:é", "corrupt hex"),
    ("enc2:abc", "corrupt hex"),
    ("enc2:00 00", "corrupt hex"),
    ("enc2:" + "00" * 12, "too short"),
    ("enc2:" + "00" * 28, "wrong key or tampered data"),
    ("enc:xy", "corrupt hex"),
])
def test_a_secret_that_cannot_be_read_names_key_file_and_field(
        tree_of, sealed, places, value, reason):
    tree = tree_of(f'[channels_config.telegram]\nbot_token = "{value}"')

    with pytest.raises(ConfigError) as caught:
        tree.get("channels_config.telegram.bot_token")

    assert reason in caught.value.message
    assert str(places.key_file) in caught.value.message
    assert "config.toml:2: channels_config.telegram.bot_token" \
        in caught.value.message
    assert value not in caught.value.message


def test_a_missing_key_file_is_named_and_not_made(tree_of, places):
    tree = tree_of('api_key = "enc2:' + "00" * 40 + '"')

    with pytest.raises(ConfigError, match=r"api_key: .*key is missing"):
        tree.get("api_key")
    assert not places.key_file.exists()


def test_one_bad_secret_leaves_the_others_readable(tree_of, sealed):
    tree = tree_of(f'api_key = "{sealed("good")}"\n[tunnel.pinggy]\n'
                   'token = "enc2:00"')

    assert tree.get("api_key") == "good"


def test_prose_that_starts_like_a_secret_stays_prose(tree_of):
    tree = tree_of('[agents.a]\nsystem_prompt = "enc: is a prefix"')

    assert tree.get("agents.a.system_prompt") == "enc: is a prefix"


@pytest.mark.parametrize(("mode", "text", "warned"), [
    (0o600, 'api_key = "sk-1"', False),
    (0o644, 'api_key = "sk-1"', True),
    (0o644, 'api_key = "enc2:00"', False),
    (0o644, 'default_model = "m"', False),
    (0o604, '[reliability]\napi_keys = ["a"]', True),
    (0o644, '[agent]\nmax_context_tokens = 3', False),
])
def test_a_readable_file_with_open_secrets_warns(write, mode, text, warned):
    places = write(text)
    places.config_file.chmod(mode)

    warnings = load(places, {}).warnings

    assert bool(warnings) is warned
    if warned:
        assert f"chmod 600 '{places.config_file}'" in warnings[0]


def test_without_a_file_next_to_nothing_is_imported(tmp_path):
    heavy = ("tomllib", "tomlkit", "msgspec", "cryptography", "json")
    code = (
        "import sys\n"
        "from claw.config.places import locate\n"
        "from claw.config.tree import load\n"
        f"load(locate({str(tmp_path)!r}, env={{}}), {{'CLAW_HOME': 'x'}})\n"
        f"print([m for m in {heavy!r} if m in sys.modules])")

    done = subprocess.run([sys.executable, "-c", code], check=True,
                          capture_output=True, text=True)

    assert done.stdout == "[]\n"


def test_a_plain_file_imports_neither_tomlkit_nor_cryptography(write):
    places = write(FILE)
    code = (
        "import sys\n"
        "from claw.config.places import locate\n"
        "from claw.config.tree import load\n"
        f"load(locate({str(places.home)!r}, env={{}}), {{}})\n"
        "print([m for m in ('tomlkit', 'cryptography') "
        "if m in sys.modules])")

    done = subprocess.run([sys.executable, "-c", code], check=True,
                          capture_output=True, text=True)

    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("text", "value"), [
    ("TRUE", True), ("Yes", True), ("on", True), ("1", True),
    ("False", False), ("NO", False), ("off", False), ("0", False)])
def test_truth_in_a_short_variable_has_any_case(places, text, value):
    tree = load(places, {"CLAW_PROXY_ENABLED": text})

    assert tree.get("proxy.enabled") is value
    assert tree.warnings == []
