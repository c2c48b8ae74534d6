"""What is offered on a Tab, without a shell."""

import json
import os
import subprocess
import sys

import pytest

from claw.cli.complete import entry
from claw.cli.docs import actions
from claw.testing.fake_openai import FakeOpenAI

BREAKS = " \t\n\"'@><=;|&(:"


@pytest.fixture
def offered(claw):
    """offered("memory-key", "no", "-w", ...): the values, as fish has them."""
    def ask(kind, prefix="", *words):
        done = claw("__complete", "fish", kind, prefix, "--", *words)
        assert (done.code, done.err) == (0, "")
        return dict(row.split("\t", 1) for row in done.out.splitlines())
    return ask


KINDS = ["alias", "category", "channel", "config-key", "config-value",
         "document", "entry", "job", "mcp-server", "memory-key", "model",
         "parameter", "provider", "scheduled", "session", "skill", "target",
         "template", "tool", "tools", "zone"]


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_home_nothing_is_made_and_nothing_said(offered, home, kind):
    offered(kind)

    assert not home.exists()


@pytest.mark.parametrize("kind", ["memory-key", "session", "model",
                                  "document", "category"])
def test_nothing_of_a_workspace_from_elsewhere_is_shown(
        claw, offered, tmp_path, home, kind):
    theirs = tmp_path / "theirs"
    claw("-w", str(theirs), "memory", "store", "planted", "x",
         "--category", "planted")
    (theirs / "state").mkdir(exist_ok=True)
    (theirs / "state" / "models_cache.json").write_text(json.dumps(
        {"entries": [{"provider": "groq", "models": ["planted"],
                      "fetched_at": 1}]}))
    (theirs / "memory" / "docs-planted.db").touch()
    (theirs / "sessions").mkdir(exist_ok=True)
    (theirs / "sessions" / "planted.jsonl").write_text("{}\n")
    assert "planted" in offered(kind, "", "-w", str(theirs))

    for record in (home / "workspaces").iterdir():
        record.unlink()

    assert "planted" not in offered(kind, "", "-w", str(theirs))


def test_a_scheduled_job_is_offered_by_its_name_or_its_id(claw, offered):
    claw("cron", "add", "@daily", "--name", "digest", "--prompt", "the news")
    id = claw("cron", "add", "@daily", "--command", "ls").out.strip()

    assert offered("scheduled") == {"digest": "the news", id: "ls"}
    assert offered("scheduled", id[:3]) == {id: "ls"}


def test_time_zones_are_offered_area_by_area(offered):
    assert {"Europe/", "UTC", "local"} <= set(offered("zone"))
    assert "Europe/Berlin" not in offered("zone")
    assert "Europe/Berlin" in offered("zone", "Europe/Be")


def test_an_entry_of_the_log_is_named_by_its_words(claw, offered):
    for question in ("**What** is Rust?", "Wer\tbist du?\x1b[2J"):
        claw("ask", "-p", "offline", question,
             stdin="Rust is a language.\nDu bist ein Bär.\n")
    ids = [row["id"] for row in claw("log", "list", "--json").json["entries"]]

    found = offered("entry")

    assert list(found) == [id[:8] for id in ids]  # the latest first
    assert [text.split("  ", 1)[1] for text in found.values()] == [
        "Wer bist du? [2J", "What is Rust?"]
    assert list(offered("entry", ids[1][:6])) == [ids[1][:8]]
    assert list(offered("entry", ids[1][:9])) == [ids[1]]
    assert offered("entry", "zz") == {}


def test_bash_lists_ids_with_their_words_and_puts_the_id_alone(claw):
    for question in ("2+2", "3+3"):
        claw("ask", question)
    ids = [row["id"] for row in claw("log", "list", "--json").json["entries"]]

    def tab(how, current):
        return claw("__complete", how, "entry", current, BREAKS,
                    "--").out.splitlines()
    listed = tab("bash-list", "--cid=")

    assert [row.split("  -- ")[0] for row in listed] == [
        id[:8] for id in ids]
    assert listed[0].endswith("  3+3")
    assert tab("bash", "") == [id[:8] for id in ids]
    assert tab("bash-list", ids[0][:7]) == [ids[0][:8]]


def test_a_log_from_elsewhere_offers_nothing(claw, offered, tmp_path, home):
    theirs = str(tmp_path / "theirs")
    claw("-w", theirs, "ask", "-p", "offline", "2+2")
    assert len(offered("entry", "", "-w", theirs)) == 1

    for record in (home / "workspaces").iterdir():
        record.unlink()

    assert offered("entry", "", "-w", theirs) == {}


def test_a_log_that_is_damaged_offers_nothing(claw, offered, home):
    claw("ask", "-p", "offline", "2+2")
    (home / "workspace/state/log.db").write_bytes(b"no database" * 99)

    assert offered("entry") == {}


def test_jobs_of_map_can_be_forgotten(claw, offered):
    with FakeOpenAI(["eins", "zwei"]) as server:
        claw("map", "translate", "-p", f"custom:{server.url}", "-m", "m",
             stdin="one\ntwo\n")
    (job,) = claw("map", "--list", "--json").json["jobs"]

    found = offered("job")

    assert list(found) == [job["id"], "all"]
    assert found[job["id"]].endswith("  translate $input")


def test_templates_are_the_owners_and_those_of_claw(claw, offered):
    claw("template", "save", "mine", stdin="Do $this, $that and $more.")
    claw("template", "save", "commit", stdin=(
        '+++\ndescription = "in my words"\n+++\n$input'))

    found = offered("template")

    assert found["mine"] == "template"
    assert found["commit"] == "in my words"
    assert "summarise" in found


@pytest.mark.parametrize(("words", "names"), [
    (("ask", "-T", "mine", "-P"), ["this=", "that="]),
    (("ask", "-T", "mine", "-P", "this=x", "-P"), ["that="]),
    (("ask", "-Tmine", "-Pthat=x", "-P"), ["this="]),
    (("map", "--template=mine", "--parameter=this=1", "-P"), ["that="]),
    (("ask", "-P"), []),
    (("ask", "-T", "nowhere", "-P"), []),
])
def test_parameters_are_those_of_the_template_on_the_line(
        claw, offered, words, names):
    claw("template", "save", "mine", stdin=(
        '+++\n[parameters]\nthis = "one"\n+++\n$this $that $input'))

    found = offered("parameter", "", *words)

    assert list(found) == names
    assert found.get("this=", "default: one") == "default: one"


def test_models_of_config_toml_are_offered_before_any_list(offered, home):
    server = "custom:http://127.0.0.1:9/v1"
    home.mkdir()
    (home / "config.toml").write_text(
        f'default_provider = "{server}"\ndefault_model = "m-1"\n'
        '[model_providers.mine]\nmodel = "m-2"\n'
        '[[model_routes]]\nhint = "fast"\nprovider = "groq"\nmodel = "l"\n')

    assert list(offered("model")) == ["m-1", "m-2", "hint:fast"]
    assert list(offered("model", "", "ask", "-p", server)) == ["m-1"]
    assert list(offered("model", "", "ask", "-p", "mine")) == ["m-2"]
    assert "m-1" not in offered("model", "", "ask", "-p", "groq")


def test_short_names_are_models(claw, offered):
    claw("model", "alias", "fast", "llama-3.3", "-p", "groq")

    assert offered("model")["fast"] == "short for llama-3.3"
    assert list(offered("alias")) == ["fast"]


def test_skills_are_the_folders_that_hold_them(home, offered):
    (home / "skills/word-count").mkdir(parents=True)
    (home / "skills/.draft").mkdir()

    assert offered("skill") == {"word-count": str(home / "skills")}


def test_mcp_servers_are_those_of_the_settings(claw, offered):
    claw("mcp", "add", "time", "--", "uvx", "mcp-server-time")

    assert offered("mcp-server") == {"time": "uvx"}


def test_control_characters_and_options_are_left_out(claw, offered):
    for key in ("a\nb", "a\x1b[2J", "a\u202eb", "--a", "fine"):
        claw("memory", "store", "--category", "core", "--", key, "x")

    assert list(offered("memory-key")) == ["fine"]


def test_places_on_the_line_count(claw, offered, tmp_path):
    other = tmp_path / "an other"
    claw("--config-dir", str(other), "memory", "store", "there", "x")

    assert offered("memory-key", "", "--config-dir", str(other)) == {
        "there": offered("memory-key", "", f"--config-dir={other}")["there"]}
    assert offered("memory-key") == {}


def test_models_are_those_of_the_provider_on_the_line(claw, offered, home):
    claw("memory", "store", "a", "b")  # makes the workspace
    state = home / "workspace" / "state"
    state.mkdir(exist_ok=True)
    (state / "models_cache.json").write_text(json.dumps({"entries": [
        {"provider": name, "models": [f"{name}-model"], "fetched_at": 1}
        for name in ("groq", "openrouter")]}))

    found = offered("model", "", "ask", "-p", "groq", "-m")

    assert "groq-model" in found
    assert "openrouter-model" not in found
    assert "openrouter-model" in offered("model", "", "ask", "-m")


@pytest.mark.parametrize(("kind", "prefix", "words", "value"), [
    ("provider", "groq", (), "groq"),
    ("provider", "--provider=groq", (), "--provider=groq"),
    ("provider", "clau", (), "claude"),
    ("config-key", "", (), "memory."),
    ("config-key", "memory.back", (), "memory.backend"),
    ("config-value", "mark", ("config", "set", "memory.backend"),
     "markdown"),
    ("tools", "shell,file_r", (), "shell,file_read"),
    ("channel", "tele", (), "telegram"),
])
def test_values_of_a_kind(offered, kind, prefix, words, value):
    assert value in offered(kind, prefix, *words)


def test_tools_of_ones_own_were_not_offered(offered, home):
    (home / "tools").mkdir(parents=True)
    (home / "tools" / "school.py").write_text(
        'raise SystemExit("a Tab runs no code")\n'
        'def fetch_notices() -> str:\n    """Read."""\n'
        'def _fetch() -> str:\n    """A helper."""\n'
        'def fetch_plain() -> str:\n    return ""\n')
    (home / "tools" / "broken.py").write_text("def (\n")

    assert offered("tools", "shell,fetch") == {
        "shell,fetch_notices": "tool of school.py"}


def test_targets_have_an_example_and_channels_of_ones_own(offered, home):
    (home / "channels").mkdir(parents=True)
    (home / "channels" / "board.py").write_text("1 / 0\n")
    (home / "config.toml").write_text("[channels_config.telegram]\n")

    assert offered("target", "") == {
        "telegram:": "e.g. telegram:12345",
        "board:": "a channel of your own"}
    assert "board" in offered("channel", "")


def test_a_name_of_ones_own_has_its_settings(claw, offered, home):
    home.mkdir()
    (home / "config.toml").write_text('[model_providers."my.host"]\n'
                                      'base_url = "http://127.0.0.1:1"\n')

    assert 'model_providers."my.host".base_url' in offered(
        "config-key", "model_providers.")
    assert "my.host" in offered("provider")


def test_settings_that_can_not_be_read_offer_nothing(offered, home):
    home.mkdir()
    (home / "config.toml").write_text("[broken\n")

    assert offered("model") == {}


@pytest.mark.parametrize(("current", "line"), [
    ("", r"a\ b:c\'d\$e"),
    ("a", r"a\ b:c\'d\$e"),
    ("'a", r"a b:c'\''d$e"),
    ('"a', r"a b:c'd\$e"),
    (r"a\ b:c", r"c\'d\$e"),  # bash replaces what stands behind the colon
    ("--key=a", r"a\ b:c\'d\$e"),
])
def test_bash_gets_what_goes_behind_the_last_break(claw, current, line):
    claw("memory", "store", "a b:c'd$e", "x")

    done = claw("__complete", "bash", "memory-key", current, BREAKS, "--")

    assert done.out == line + "\n"


@pytest.mark.parametrize("kind", ["provider", "template", "parameter",
                                  "entry", "job", "alias"])
def test_a_tab_loads_neither_typer_nor_sqlite_without_need(tmp_path, kind):
    run = ("import sys; from claw.cli.complete.entry import main;"
           "main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)")
    done = subprocess.run(
        [sys.executable, "-c", run, "fish", kind, "", "--",
         "-T", "translate", "-P"],
        capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})

    assert not {"typer", "sqlite3", "msgspec", "asyncio", "httpx"} \
        & set(done.stderr.split())


def test_every_row_of_the_table_names_a_kind():
    kinds = {*actions._OPTIONS.values(), *actions._ARGUMENTS.values()}

    assert kinds <= set(entry.KINDS)
    assert set(KINDS) == set(entry.KINDS)
