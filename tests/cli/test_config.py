"""claw config: show, get, set, unset, check, path, edit, schema."""

import os
import shlex
import stat
import sys
from pathlib import Path

import jsonschema
import pytest


@pytest.fixture
def config(home):
    """Write config.toml; returns its path."""

    def put(text: str):
        home.mkdir(exist_ok=True)
        path = home / "config.toml"
        path.write_text(text, "utf-8")
        path.chmod(0o600)
        return path

    return put


def test_show_is_toml_of_everything_in_force(claw, config):
    config("[memory]\nbackend = 'none'\n[cost]\nenabled = true\n")
    done = claw("config", "show")

    lines = done.out.splitlines()
    assert done.code == 0
    assert 'memory.backend = "none"' in lines
    assert "memory.auto_save = true" in lines
    assert "cost.enabled = true" in lines
    assert not any(line.startswith("api_key") for line in lines)


def test_show_origin_says_who_spoke(claw, config):
    config("# one\n[memory]\nbackend = 'none'\n")
    done = claw("config", "show", "--origin", "memory",
                env={"CLAW_MEMORY__AUTO_SAVE": "off"})

    lines = done.out.splitlines()
    assert 'memory.backend = "none"  # config.toml:3' in lines
    assert any(line.endswith("# environment CLAW_MEMORY__AUTO_SAVE")
               for line in lines)
    assert "memory.min_relevance_score = 0.4  # default" in lines
    assert all(line.startswith("memory.") for line in lines)


def test_show_json(claw, config):
    config("[memory]\nbackend = 'none'\n")
    found = claw("config", "show", "--json").json

    assert found["total"] == len(found["settings"])
    assert {"key": "memory.backend", "value": "none", "origin": "config",
            "line": 2, "variable": None} in found["settings"]


def test_show_survives_a_broken_value_and_a_lost_key(claw, config):
    config("api_key = 'enc2:00'\n[memory]\nauto_save = 5\n")
    done = claw("config", "show")

    assert done.code == 0
    assert "memory.auto_save = 5" in done.out


@pytest.mark.parametrize(("key", "out"), [
    ("memory.backend", "none\n"),
    ("memory.auto_save", "true\n"),  # the default
    ("default_temperature", "0.7\n"),
    ("autonomy.allowed_commands", '["ls"]\n'),
    ("model", "m\n"),
    ('model_providers."my.host".base_url', "http://h\n"),
])
def test_get(claw, config, key, out):
    config("model = 'm'\n[memory]\nbackend = 'none'\n[autonomy]\n"
           "allowed_commands = ['ls']\n"
           "[model_providers.'my.host']\nbase_url = 'http://h'\n")
    done = claw("config", "get", key)

    assert (done.code, done.out, done.err) == (0, out, "")


def test_get_of_a_table_prints_its_settings(claw):
    done = claw("config", "get", "security.sandbox")

    assert 'security.sandbox.mode = "auto"' in done.out.splitlines()


def test_get_of_what_has_no_value_exits_1(claw):
    done = claw("config", "get", "api_url")

    assert (done.code, done.out) == (1, "")
    assert "api_url is not set" in done.err


def test_a_negative_value_is_refused_as_a_value_not_as_an_option(claw):
    done = claw("config", "set", "cost.daily_limit_usd", "-5")

    assert done.code != 0
    assert "no such option" not in done.err
    assert "cost.daily_limit_usd" in done.err


def test_get_of_nonsense_exits_2_with_the_nearest(claw):
    done = claw("config", "get", "memory.bakend", "--json")

    assert done.code == 2
    assert done.json["error"]["hint"] == 'did you mean "backend"?'


def test_set_then_get(claw, config):
    path = config("# mine\n[memory]\nbackend = 'sqlite' # here\n")
    done = claw("config", "set", "memory.backend", "none")

    assert done.code == 0
    assert done.out == 'memory.backend = "none"  # config.toml:3\n'
    assert claw("config", "get", "memory.backend").out == "none\n"
    assert path.read_text() == ('# mine\n[memory]\nbackend = "none" # here'
                                "\n")
    assert (path.parent / "config.toml.bak").read_text() == (
        "# mine\n[memory]\nbackend = 'sqlite' # here\n")


def test_set_on_a_fresh_machine_makes_private_files(claw, home):
    assert claw("config", "set", "api_key", "sk-0123456789abcdef").code == 0

    for path in home.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (
            0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_secrets_are_stored_encrypted_and_shown_masked(claw, home):
    secret = "sk-0123456789abcdef"
    done = claw("config", "set", "api_key", stdin=secret + "\n")

    assert done.code == 0
    text = (home / "config.toml").read_text()
    assert text.startswith('api_key = "enc2:')
    shown = claw("config", "show").out + claw("config", "get", "api_key").out
    assert secret not in done.out + done.err + shown
    assert claw("config", "get", "api_key").out == "********cdef\n"
    assert claw("config", "get", "--reveal", "api_key").out == secret + "\n"


def test_a_key_in_an_address_is_masked(claw):
    address = "custom:https://host.test/v1?api-version=2&key=canary"
    done = claw("config", "set", "default_provider", address)
    fallbacks = claw("config", "set", "reliability.fallback_providers",
                     f'["{address}"]')

    shown = [done, fallbacks, claw("config", "show"),
             claw("config", "show", "--json"),
             claw("config", "get", "default_provider"),
             claw("config", "get", "--json", "default_provider"),
             claw("config", "get", "reliability.fallback_providers"),
             claw("config", "check")]
    assert [s for s in shown if "canary" in s.out + s.err] == []
    assert shown[4].out == address.replace("canary", "********") + "\n"
    assert claw("config", "get", "--reveal",
                "default_provider").out == address + "\n"


def test_a_token_of_digits_is_kept_as_text(claw):
    claw("config", "set", "channels_config.telegram.bot_token", "12345")

    assert claw("config", "get", "--reveal",
                "channels_config.telegram.bot_token").out == "12345\n"


@pytest.mark.parametrize(("key", "value", "said"), [
    ("memory.bakend", "none", 'did you mean "backend"?'),
    ("memory.backend", "sqlit", "one of: sqlite"),
    ("memory.min_relevance_score", "2", "from 0 to 1"),
    ("autonomy.level", "ful", 'did you mean "full"?'),
    ("memory", "x", "is a table"),
    ("a..b", "x", "not a setting's name"),
])
def test_set_refuses_before_anything_is_written(claw, home, key, value,
                                                said):
    done = claw("config", "set", key, value)

    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not (home / "config.toml").exists()


def test_set_without_a_value_and_without_a_pipe(claw):
    done = claw("config", "set", "memory.backend")

    assert done.code == 2
    assert "no value for memory.backend" in done.err


def test_set_says_when_the_environment_wins(claw):
    done = claw("config", "set", "memory.backend", "none",
                env={"CLAW_MEMORY__BACKEND": "ephemeral"})

    assert done.code == 0
    assert "CLAW_MEMORY__BACKEND is set and wins" in done.err
    assert done.out.startswith('memory.backend = "ephemeral"')


def test_unset_gives_the_default_back(claw, config):
    path = config("[memory]\nbackend = 'none' # x\nauto_save = false\n")
    done = claw("config", "unset", "memory.backend")

    assert done.out == 'memory.backend = "sqlite"  # default\n'
    assert path.read_text() == "[memory]\nauto_save = false\n"
    assert claw("config", "unset", "memory.backend").code == 1
    assert claw("config", "unset", "memory.bakend").code == 2


def test_unset_says_what_a_table_held(claw, config):
    config("[channels_config.telegram]\nbot_token = '1:abcdef'\n"
           "allowed_users = [1]\n")

    done = claw("config", "unset", "channels_config.telegram")

    assert "removed: channels_config.telegram.bot_token = \"********\"" \
        in done.err
    assert "removed: channels_config.telegram.allowed_users = [1]" in done.err
    assert done.err.count("removed:") == 2
    assert "abcdef" not in done.err


def test_path_prints_all_places_and_makes_none(claw, home, tmp_path):
    done = claw("config", "path", env={"CLAW_WORKSPACE": "w"})

    assert done.out == (f'home = "{home}"  # CLAW_HOME\n'
                        f'workspace = "{tmp_path}/w"  # CLAW_WORKSPACE\n'
                        f'file = "{home}/config.toml"\n')
    assert claw("config", "path", "file").out == f"{home}/config.toml\n"
    assert claw("config", "path", "--json").json == {
        "home": str(home), "workspace": f"{home}/workspace",
        "config_file": f"{home}/config.toml", "home_origin": "CLAW_HOME",
        "workspace_origin": "default"}
    assert claw("config", "path", "hom").code == 2
    assert not home.exists()


def test_check_of_a_good_file(claw, config):
    path = config("[memory]\nbackend = 'none'\n")
    done = claw("config", "check")

    assert (done.code, done.out, done.err) == (0, f"{path}: ok\n", "")


def test_check_warnings_stand_on_stderr_and_exit_0(claw, config):
    config("[memory]\nbakend = 'none'\n")
    done = claw("config", "check")

    assert done.code == 0
    assert 'config.toml:2: memory.bakend: unknown key (did you mean ' \
        '"backend"?)' in done.err
    assert done.err.count("bakend") == 1


def test_check_with_a_warning_does_not_say_ok(claw, config):
    path = config("[memory]\nbakend = 'none'\nbakcend = 1\n")
    done = claw("config", "check")

    assert (done.code, done.out) == (0, f"{path}: 2 warnings, no error\n")
    assert claw("config", "check", "--json").json["ok"] is True


@pytest.mark.parametrize("key", [
    "default_provider", "reliability.fallback_providers",
    "multimodal.vision_provider", "tts.default_provider",
    "memory.embedding_provider"])
def test_set_refuses_a_provider_that_is_misspelt(claw, config, key):
    path = config("# mine\n")
    value = "opnai" if "fallback" not in key else '["opnai"]'
    done = claw("config", "set", key, value)

    assert (done.code, done.out) == (2, "")
    assert f"{key}: unknown" in done.err
    assert 'did you mean "openai"?' in done.err
    assert path.read_text() == "# mine\n"


def test_set_of_a_provider_that_may_come_later_warns(claw, config):
    path = config("")
    done = claw("config", "set", "reliability.fallback_providers",
                '["zzzqqq"]')

    assert done.code == 0
    assert "unknown provider: 'zzzqqq'" in done.err
    assert "zzzqqq" in path.read_text()


ROUTE = "[[model_routes]]\nhint = 'fast'\nmodel = 'm'\n"


@pytest.mark.each(("before", "key", "value", "said"), [
    ("", "default_provider", "zzzqqq", "unknown provider: 'zzzqqq'"),
    ("", "default_model", "hint:fast", "has the hint 'fast'"),
    ("default_model = 'hint:fast'\n" + ROUTE, "model_routes.0.hint", "slow",
     "default_model: no [[model_routes]] has the hint 'fast'"),
    ("", "agent.auto_classify.simple_hint", "fast", "has the hint 'fast'"),
    ("", "model_routes", '[{hint = "fast"}]', "is missing or blank"),
    ("", "security.sandbox", "{mod = 'off'}", 'did you mean "mode"?'),
    ("[memory]\nbackend = 'sqlit'\n", "memory.backend", "sqlit",
     "one of: sqlite"),
])
def test_set_refuses_what_check_calls_an_error(claw, config, before, key,
                                               value, said):
    path = config(before)
    done = claw("config", "set", key, value)

    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert path.read_text() == before


def test_set_fills_a_route_key_by_key(claw, config):
    config("default_model = 'hint:gone'\n")

    assert claw("config", "set", "model_routes.0.hint", "fast").code == 0
    assert claw("config", "set", "model_routes.0.model", "m").code == 0
    assert claw("config", "set", "default_model", "hint:fast").code == 0
    assert claw("config", "check").code == 0


@pytest.mark.parametrize(("key", "value"), [
    ("default_provider", "grok"), ("transcription.default_provider",
                                   "command"),
    ("tts.default_provider", "piper"), ("memory.embedding_provider", "none"),
    ("memory.embedding_provider", "custom:http://127.0.0.1:9/v1")])
def test_set_takes_a_known_name_without_a_word(claw, config, key, value):
    config("")
    done = claw("config", "set", key, value)

    assert (done.code, done.err) == (0, "")


def test_check_errors_exit_3(claw, config):
    config("[memory]\nauto_save = 1\n[gateway]\nprot = 1\n")
    done = claw("config", "check")

    assert (done.code, done.out) == (3, "")
    assert "config.toml:2: memory.auto_save: expected true or false" \
        in done.err
    assert 'config.toml:4: gateway.prot: unknown key (did you mean "port"?)' \
        in done.err

    found = claw("config", "check", "--json")
    assert found.code == 3
    assert found.json["ok"] is False
    assert {f["key"] for f in found.json["findings"]} == {
        "memory.auto_save", "gateway.prot"}


def test_a_broken_file_names_file_line_and_fix(claw, config):
    path = config("[memory]\nbackend = sqlite\n")

    for arguments in (["config", "check"], ["config", "show"],
                      ["config", "set", "memory.backend", "none"]):
        done = claw(*arguments)

        assert (done.code, done.out) == (3, ""), arguments
        assert f"{path}:2:11:" in done.err
        assert "text needs quotes" in done.err


def editor(code: str) -> dict[str, str]:
    """An editor that runs a line of Python with `path` set."""
    program = ("import pathlib, sys; path = pathlib.Path(sys.argv[1]); "
               + code)
    return {"VISUAL": shlex.join([sys.executable, "-c", program])}


def test_edit_replaces_the_file_with_a_good_copy(claw, config):
    path = config("[memory] # mine\nbackend = 'none'\n")
    done = claw("config", "edit", env=editor(
        "path.write_text(path.read_text() + 'auto_save = false\\n')"))

    assert done.code == 0, done.err
    assert path.read_text() == ("[memory] # mine\nbackend = 'none'\n"
                                "auto_save = false\n")


def test_edit_of_a_fresh_machine_encrypts_secrets(claw, home):
    done = claw("config", "edit", env=editor(
        "path.write_text('api_key = \"sk-1\" # mine\\n')"))

    assert done.code == 0, done.err
    assert "api_key is stored encrypted" in done.err
    text = (home / "config.toml").read_text()
    assert text.startswith('api_key = "enc2:')
    assert text.endswith("# mine\n")


@pytest.mark.parametrize(("text", "said"), [
    ("[memory\\n", ":1:8:"),
    ("[memory]\\nauto_save = 1\\n", "memory.auto_save: expected true"),
])
def test_edit_keeps_a_bad_copy_apart(claw, config, text, said, tmp_path):
    path = config("# good\n")
    done = claw("config", "edit", env={
        **editor(f"path.write_text('{text}')"), "TMPDIR": str(tmp_path)})

    assert (done.code, done.out) == (3, "")
    assert said in done.err
    assert path.read_text() == "# good\n"
    copy = done.err.partition("your copy: ")[2].strip().rstrip(")")
    assert Path(copy).read_text() == text.replace("\\n", "\n")


def test_edit_without_a_change(claw, config):
    path = config("# good\n")
    done = claw("config", "edit", env=editor("pass"))

    assert done.code == 0
    assert "nothing was changed" in done.err
    assert os.listdir(path.parent) == ["config.toml"]


@pytest.mark.parametrize(("env", "said"), [
    (editor("sys.exit(3)"), "ended with code 3"),
    ({"VISUAL": "/no/such/editor"}, "does not start"),
    ({}, "no editor is set"),
])
def test_edit_with_an_editor_that_fails(claw, config, env, said, tmp_path):
    path = config("# good\n")
    done = claw("config", "edit", env={**env, "TMPDIR": str(tmp_path)})

    assert done.code == 2
    assert said in done.err
    assert path.read_text() == "# good\n"
    assert list(tmp_path.glob("claw-*")) == []


def test_schema_is_one_json_schema(claw):
    found = claw("config", "schema").json

    jsonschema.Draft202012Validator.check_schema(found)
    assert "memory" in found["properties"]
    backend = found["$defs"]["MemorySettings"]["properties"]["backend"]
    assert backend["description"].startswith("where memories are kept")


def test_warnings_of_the_settings_reach_the_user_once(claw, config):
    config("[memroy]\nbackend = 'none'\n")
    done = claw("config", "show")

    assert done.err.count("memroy") == 1
    assert 'did you mean "memory"?' in done.err


def test_any_language_on_any_locale(claw_process):
    env = {"LC_ALL": "C"}
    claw_process("config", "set", "default_model", "모델 🦀", env=env)
    kept = claw_process("config", "get", "default_model", env=env)

    assert kept.out == "모델 🦀\n"


def test_a_variable_that_is_no_text_does_not_crash(claw, environment):
    done = claw("config", "show", "--origin",
                env={"CLAW_DEFAULT_MODEL": os.fsdecode(b"a\xffb")})

    assert done.code == 0
    assert "CLAW_DEFAULT_MODEL" in done.out


@pytest.mark.parametrize(("before", "key", "after"), [
    ("[log]\nkeep_days = 3\n", "log.keep_days", ""),
    ("[log]\n# mine\nkeep_days = 3\n", "log.keep_days",
     "[log]\n# mine\n"),
    ('[channels_config.telegram]\nbot_token = "x"\n[log]\nenabled = true\n',
     "channels_config.telegram.bot_token", "[log]\nenabled = true\n"),
    ("[log]\nkeep_days = 3\nenabled = true\n", "log.keep_days",
     "[log]\nenabled = true\n"),
])
def test_unset_left_an_empty_table(claw, home, before, key, after):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(before)

    assert claw("config", "unset", key).code == 0
    assert (home / "config.toml").read_text().strip() == after.strip()


def test_a_misspelt_key_of_a_channel_is_refused(claw):
    done = claw("config", "set", "channels_config.telegram.bot_tokn", "x")

    assert done.code == 2
    assert 'did you mean "bot_token"?' in done.err
