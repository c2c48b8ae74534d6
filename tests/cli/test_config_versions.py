"""claw config apply, history, undo; claw doctor --fix."""

import os
import socket
import stat
import subprocess
import sys

import pytest

from claw.config import trial
from claw.config.write import write_file
from claw.net import errors
from claw.testing.fake_openai import FakeOpenAI, failure
from tests.wiring.config.test_apply import hash_tree

OLD = '# mine\n[memory]\nbackend = "sqlite"\n'
NEW = '# mine\n[memory]\nbackend = "none"\n'


@pytest.fixture
def config(home):
    """config.toml with OLD in it; returns its path."""
    home.mkdir(mode=0o700, exist_ok=True)
    path = home / "config.toml"
    path.write_text(OLD, "utf-8")
    path.chmod(0o600)
    (home / ".config.lock").touch(0o600)
    return path


def test_apply_shows_the_difference_and_undo_takes_it_back(claw, config):
    done = claw("config", "apply", "-", stdin=NEW)
    assert done.code == 0
    assert done.out.splitlines() == ['- memory.backend = "sqlite"',
                                     '+ memory.backend = "none"']
    assert "1 setting changed; back: claw config undo" in done.err
    assert config.read_text() == NEW

    assert claw("config", "undo").code == 0
    assert config.read_text() == OLD
    assert claw("config", "undo").code == 0  # takes itself back
    assert config.read_text() == NEW


@pytest.mark.parametrize("words", [
    ["set", "memory.backend", "none"], ["edit"], ["apply", "-"]])
def test_the_first_change_is_taken_back_too(claw, home, words):
    done = claw("config", *words, stdin="[memory]\nbackend = 'none'\n",
                env={"EDITOR": "sed -i '$a memory.backend = \"none\"'"})
    assert done.code == 0, done.err
    [row] = claw("config", "history", "--json").json["versions"]
    assert row["replaced_by"] == f"claw config {words[0]}"
    assert claw("config", "undo").code == 0
    assert (home / "config.toml").read_bytes() == b""
    assert claw("config", "undo").code == 0
    assert claw("config", "get", "memory.backend").out.strip() == "none"


@pytest.mark.parametrize("words", [
    ["set", "memory.backend", "none"], ["unset", "memory.backend"],
    ["edit"], ["apply", "-"]])
def test_every_way_to_change_them_is_journaled_and_kept(claw, config,
                                                        monkeypatch, words):
    tried = []
    monkeypatch.setattr(trial, "write_file", lambda path, data, mode=0o600:
                        tried.append(path.name)
                        or write_file(path, data, mode))
    done = claw("config", *words, stdin=NEW,
                env={"EDITOR": "sed -i s/sqlite/none/"})
    assert done.code == 0, done.err
    assert tried == [".config.apply", "config.toml", "config.toml.bak"]
    assert claw("config", "undo").code == 0
    assert config.read_text() == OLD


def test_what_an_editor_broke_is_as_claw_had_written_it(claw, config):
    for name in ("cron.max_run_history", "agent.max_tool_iterations"):
        assert claw("config", "set", name, "7").code == 0
    written = config.read_text()
    config.write_text(written + "x\n")

    assert claw("config", "undo", "--dry-run").code == 0
    assert claw("config", "undo").code == 0
    assert config.read_text() == written

    again = claw("config", "undo", "--dry-run")  # to what was broken
    assert again.code == 3
    assert "version 1:" in again.err
    assert "claw config undo 2" in again.err
    assert "claw config history" in again.err
    config.write_text(written + "x\n")
    assert claw("config", "undo", "2").code == 0  # a version is that one
    assert "max_tool_iterations" not in config.read_text()


def test_a_secret_in_plain_is_not_kept_in_what_was_written(claw, config,
                                                           home):
    assert claw("config", "set", "api_key", "sk-plain-1234567").code == 0
    kept = home / "config.history" / "written.toml"
    assert b"sk-plain" not in kept.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_an_unknown_key_is_told_once(claw, config):
    for words, told in ((["apply", "-"], 1), (["undo"], 0), (["undo"], 1)):
        done = claw("config", *words, stdin=NEW + "[nosuch]\na = 1\n")
        assert done.code == 0
        assert done.err.count("nosuch") == told, done.err


def test_edit_does_not_write_over_what_came_meanwhile(claw, config,
                                                      tmp_path):
    done = claw("config", "edit", env={
        "EDITOR": f"sed -i -e s/sqlite/none/ -e w{config}",
        "TMPDIR": str(tmp_path)})
    assert done.code == 74
    assert "was changed meanwhile" in done.err
    assert "your copy: " in done.err


def test_apply_reads_a_file_and_a_pipe_in_the_place_of_one(claw, config,
                                                           tmp_path):
    file = tmp_path / "new.toml"
    file.write_text(NEW)
    assert claw("config", "apply", str(file)).code == 0
    assert config.read_text() == NEW
    again = claw("config", "apply", str(file))
    assert (again.code, again.out) == (0, "")
    assert "nothing to change" in again.err


def test_a_dry_run_writes_nothing(claw, config, home):
    before = hash_tree(home)
    done = claw("config", "apply", "-", "--dry-run", "--json", stdin=NEW)
    assert done.code == 0
    assert done.json["changes"] == [{"key": "memory.backend",
                                     "before": "sqlite", "after": "none"}]
    assert done.json["applied"] is False
    assert hash_tree(home) == before


@pytest.mark.parametrize(("text", "said"), [
    ("", "is empty, and would remove every setting"),
    ("[memory\n", "error: standard input:1:8"),
    ('[memory]\nbackend = "sqlight"\n', "unknown memory backend"),
    ("[autonomy]\nlevl = 1\n", "autonomy.levl: unknown key"),
    ("# " + "x" * (1 << 20), "more than 1 MiB"),
])
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_what_is_refused_leaves_everything(claw, config, home, text, said,
                                           more):
    before = hash_tree(home)
    done = claw("config", "apply", "-", *more, stdin=text)
    assert done.code == 3
    assert said in done.err
    assert done.out == ""
    assert hash_tree(home) == before


@pytest.mark.parametrize("name", ["none.toml", "folder"])
def test_what_can_not_be_read_is_refused(claw, config, home, tmp_path, name):
    (tmp_path / "folder").mkdir()
    before = hash_tree(home)
    assert claw("config", "apply", name).code == 3
    assert hash_tree(home) == before


def model_of(server):
    return f'default_provider = "custom:{server.url}"\ndefault_model = "m"\n'


CLOSED = 'default_provider = "custom:http://127.0.0.1:9/v1"\n'
FAR = 'default_provider = "custom:http://no-such-host.example/v1"\n'
CHANNEL = """\
[channels_config.telegram]
bot_token = "1234567:wrong"
allowed_users = ["alice"]
"""


def fail_names(monkeypatch, code):
    """Every look-up of a name but this machine's ends with this code."""
    ours = socket.getaddrinfo

    def getaddrinfo(host, *args, **kwargs):
        if host == "127.0.0.1":
            return ours(host, *args, **kwargs)
        raise socket.gaierror(code, "no")
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(errors, "has_route", lambda: True)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("text", [
    CLOSED, FAR, CHANNEL,
    CHANNEL + 'api_base_url = "http://127.0.0.1:9"\n',
    CHANNEL + 'api_base_url = "no address"\n'])
def test_a_wrong_address_is_refused(claw, config, home, monkeypatch, text):
    fail_names(monkeypatch, socket.EAI_NONAME)
    before = hash_tree(home)
    done = claw("config", "apply", "-", stdin=text)
    assert done.code == 3, done.err
    assert "everything is as before" in done.err
    assert "--no-probe" in done.err
    assert hash_tree(home) == before


@pytest.mark.parametrize("text", [FAR, CHANNEL])
def test_a_network_that_is_away_leaves_them_in_place_and_says_so(
        claw, config, monkeypatch, text):
    fail_names(monkeypatch, socket.EAI_AGAIN)
    done = claw("config", "apply", "-", stdin=text)
    assert done.code == 5, done.err
    assert "could be tried" in done.err
    assert claw("config", "get", text.split(" =")[0] if text == FAR
                else "channels_config.telegram.allowed_users").code == 0


def test_a_server_that_is_busy_leaves_them_in_place_and_says_so(claw, config):
    with FakeOpenAI([failure(503, "busy")] * 9) as server:
        text = model_of(server)
        done = claw("config", "apply", "-", "--deep", stdin=text)
    assert done.code == 5, done.err
    assert "could be tried" in done.err
    assert config.read_text() == text
    assert claw("config", "undo", "--no-probe").code == 0


def test_without_a_probe_no_server_is_asked(claw, config):
    assert claw("config", "apply", "-", "--no-probe", stdin=CLOSED).code == 0


def test_a_refused_key_takes_everything_back(claw, config, home):
    with FakeOpenAI([failure(401, "wrong key")] * 9) as server:
        done = claw("config", "apply", "-", "--deep",
                    stdin=model_of(server) + 'api_key = "sk-wrong"\n')
    assert done.code == 3
    assert "everything is as before" in done.err
    assert config.read_text() == OLD
    assert not (home / "config.history").exists()
    assert not (home / ".secret_key").exists()


def test_history_lists_and_shows_with_secrets_masked(claw, config, home):
    assert claw("config", "history").code == 1
    claw("config", "set", "api_key", "sk-secret-0123456789")
    claw("config", "set", "api_key", "sk-second-0123456789")
    listed = claw("config", "history", "--json").json
    assert listed["total"] == 2
    assert [row["replaced_by"] for row in listed["versions"]] == [
        "claw config set"] * 2
    line, _ = claw("config", "history").out.splitlines()
    assert line.split("\t")[2:] == ["claw config set", "api_key"]
    one = claw("config", "history", "1")
    assert "api_key" in one.out
    assert "sk-se" not in one.out + one.err
    assert claw("config", "history", "7").code == 1
    assert claw("config", "undo", "7").code == 1
    for path in (home / "config.history").iterdir():
        assert "sk-se" not in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_version_that_does_not_hold_comes_back_by_force_alone(claw,
                                                                config):
    broken = "[autonomy]\nlevl = 1\n"
    config.write_text(broken)
    assert claw("config", "apply", "-", stdin=OLD).code == 0
    assert claw("config", "undo").code == 3
    assert config.read_text() == OLD
    done = claw("config", "undo", "--force")
    assert done.code == 0
    assert "autonomy.levl" in done.err
    assert config.read_text() == broken


def test_doctor_fixes_names_and_modes_and_says_the_way_back(claw, config,
                                                            home):
    config.write_text('# mine\n[memory]\nbakend = "none"  # why\n')
    config.chmod(0o644)
    (home / ".config.toml.0011.tmp").write_text("half")
    before = hash_tree(home)
    dry = claw("doctor", "--fix", "--dry-run")
    assert "would rename memory.bakend to memory.backend" in dry.err
    assert hash_tree(home) == before

    done = claw("doctor", "--fix")
    assert config.read_text() == '# mine\n[memory]\nbackend = "none"  # why\n'
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert not (home / ".config.toml.0011.tmp").exists()
    assert f"back: chmod 644 {config}" in done.err
    assert "fixed: config.memory.bakend; back: claw config undo" in done.err
    assert "this can't be taken back" in done.err
    assert claw("config", "undo").code == 0
    assert "bakend" in config.read_text()
    assert claw("doctor", "--dry-run").code == 2


@pytest.mark.parametrize("text", [
    '[memory]\nbakend = "sqlight"\n',  # the value is none
    '[memory]\nbakend = "none"\nbackend = "sqlite"\n',  # both are there
    "[memory]\nqwertyuiop = 1\n"])
def test_doctor_fixes_no_name_that_it_is_not_sure_of(claw, config, text):
    config.write_text(text)
    claw("doctor", "--fix")
    assert config.read_text() == text


def test_doctor_changes_the_mode_of_nothing_behind_a_link(claw, config,
                                                         tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    (config.parent / ".secret_key").symlink_to(outside)

    done = claw("doctor", "--fix")

    assert outside.stat().st_mode & 0o777 == 0o644
    assert "config.key_mode" not in done.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may")
def test_doctor_repairs_nothing_in_the_home_of_another(claw, config):
    config.write_text("x = 1\n")
    config.chmod(0o644)
    os.chown(config.parent, 12345, -1)

    done = claw("doctor", "--fix")

    assert done.code == 2
    assert "belongs to another user (uid 12345)" in done.err
    assert config.stat().st_mode & 0o777 == 0o644


def test_doctor_encrypts_plain_secrets(claw, config):
    config.write_text('api_key = "sk-plain-0123456789"  # mine\n')
    claw("doctor", "--fix")
    assert "sk-plain" not in config.read_text()
    assert config.read_text().endswith("  # mine\n")
    assert claw("config", "get", "--reveal", "api_key").out.strip() == \
        "sk-plain-0123456789"


_KILLED = """
import os, signal, sys
from claw.config.places import locate
from claw.wiring.config.apply import apply_text
places = locate(sys.argv[1], None, {}, command="claw onboard")
apply_text(places, sys.argv[2].encode(), expected=sys.argv[3].encode(),
           probe=lambda tree: os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.fixture
def killed(config, home):
    """NEW stands there, and its writer was killed while trying it."""
    subprocess.run([sys.executable, "-c", _KILLED, str(home), NEW, OLD],
                   env={**os.environ, "CLAW_NO_PROBE": "1"}, check=False)
    assert config.read_text() == NEW
    return config


def test_a_change_that_was_killed_is_said_and_taken_back_by_doctor(claw,
                                                                   killed):
    seen = claw("doctor", "--json").json["checks"]
    [check] = [c for c in seen if c["id"] == "config.unfinished"]
    assert check["detail"].startswith("claw onboard did not end")
    assert killed.read_text() == NEW
    claw("doctor", "--fix")
    assert killed.read_text() == OLD


def test_a_change_that_was_killed_is_taken_back_by_the_next_writer(claw,
                                                                   killed):
    done = claw("config", "set", "cost.enabled", "true")
    assert "claw onboard did not end" in done.err
    assert killed.read_text() == OLD + "\n[cost]\nenabled = true\n"


def test_apply_begins_where_a_killed_change_is_taken_back(claw, killed):
    done = claw("config", "apply", "-", stdin="[cost]\nenabled = true\n")
    assert done.code == 0
    assert "claw onboard did not end" in done.err
    assert '- memory.backend = "sqlite"' in done.out


def test_doctor_names_a_journal_that_says_nothing_and_looks_at_the_rest(
        claw, config, home):
    (home / ".config.apply").write_text("garbage")
    checks = {check["id"]: check
              for check in claw("doctor", "--json").json["checks"]}
    assert checks["config.unfinished"]["status"] == "fail"
    assert "rm '" in checks["config.unfinished"]["hint"]
    assert "memory.skipped" not in checks
    done = claw("config", "set", "memory.backend", "none")
    assert done.code == 3
    assert ".config.apply" in done.err
    assert config.read_text() == OLD
