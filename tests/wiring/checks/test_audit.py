"""`claw security audit`: what does not hold is found, by its id, with the
way to mend it."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.wiring.checks.audit.files import FILES
from claw.wiring.checks.audit.run import GROUPS, run_audit
from claw.wiring.checks.check import run_groups

TELEGRAM = '[channels_config.telegram]\nbot_token = "123456:0000"\n'
WEBHOOK = "[channels_config.webhook]\n"
KEY = "sk-live-0123456789abcdef0123456789"
SECRET = f'secret = "{"0123456789abcdef" * 2}"\n'


@pytest.fixture
def look(tmp_path, monkeypatch):
    """look(toml) audits this home, look(toml, "keys") a group of it;
    nothing of the caller's environment."""
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.startswith("CLAW_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    home = tmp_path / "home"

    def look(text="", *names):
        home.mkdir(mode=0o700, exist_ok=True)
        if text:
            (home / "config.toml").write_text(text)
            (home / "config.toml").chmod(0o600)
        places = locate(str(home), env={})
        found = run_groups([g for g in GROUPS if g.name in names], places,
                           load(places, {})) if names else run_audit(places)
        return {check.id: check for check in found}
    look.home = home
    look.workspace = home / "workspace"
    look.user = tmp_path / "user"
    return look


def failures(found):
    return sorted(name for name, check in found.items()
                  if check.status == "fail")


# -- the sandbox


def test_every_layer_is_tried_and_holds(look):
    found = look("", "sandbox")

    assert len(found) == 15
    assert {check.status for check in found.values()} == {"ok"}


@pytest.mark.parametrize(("settings", "open_"), [
    ('mode = "off"', {"layers", "network", "services", "outside", "own",
                      "links", "processes", "namespaces", "kernel"}),
    ('network = "on"', {"network"}),
])
def test_a_layer_that_is_gone_is_found_by_trying(look, settings, open_):
    found = look(f"[security.sandbox]\n{settings}\n", "sandbox")

    assert open_ <= {n.partition(".")[2] for n in failures(found)}
    assert all(found[name].hint for name in failures(found))


def test_what_the_owner_keeps_is_among_what_is_tried(look):
    """A root that lays the settings open is found by opening them."""
    (look.user / ".ssh").mkdir(parents=True)
    found = look(f'[autonomy]\nallowed_roots = ["{look.user}"]\n',
                 "sandbox")

    assert found["sandbox.outside"].status == "fail"
    assert str(look.user / ".ssh") in found["sandbox.outside"].detail


def test_a_sandbox_that_can_not_run_the_tries_is_a_finding(look, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    found = look("", "sandbox")
    assert failures(found)


def test_looking_leaves_everything_as_it_was(look, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    look.workspace.mkdir(mode=0o700, parents=True)
    look.home.chmod(0o700)
    look()

    assert list(look.workspace.iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []


# -- files


@pytest.fixture
def open_home():
    """A home that everybody can walk to, unlike pytest's own folders."""
    folder = Path(tempfile.mkdtemp(prefix="claw-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder / "home"
    shutil.rmtree(folder)


def keep(home, name, mode):
    """A file of claw's, in folders that are the owner's alone or, in an
    open home, everybody's."""
    path = home / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch()
    path.chmod(mode)
    return path


def audit_files(home):
    return [check for check in FILES.run(locate(str(home), env={}))
            if check.status != "ok"]


@pytest.mark.parametrize(("name", "mode"), [
    ("config.toml", 0o640),
    ("config.toml.bak", 0o644),
    (".secret_key", 0o604),
    ("workspace/memory/brain.db", 0o644),
    ("workspace/state/queue.db", 0o660),
    ("workspace/sessions/a.jsonl", 0o644),
])
def test_a_file_that_others_may_read_fails_with_the_mend(
        open_home, name, mode):
    path = keep(open_home, name, mode)
    for folder in path.relative_to(open_home.parent).parents:
        (open_home.parent / folder).chmod(0o755)

    found = [c for c in audit_files(open_home) if str(path) in c.detail]
    assert [(c.status, c.hint) for c in found] == [
        ("fail", f"chmod {mode & 0o700:o} {path}")]
    subprocess.run(found[0].hint, shell=True, check=True)
    assert not [c for c in audit_files(open_home) if str(path) in c.detail]


@pytest.mark.parametrize(("name", "mode", "status"), [
    ("", 0o755, "warn"), ("", 0o777, "fail"), ("workspace", 0o755, "fail"),
    ("workspace/memory", 0o711, "fail")])
def test_a_folder_that_others_may_enter(open_home, name, mode, status):
    keep(open_home, "workspace/memory/brain.db", 0o600)
    for folder in ("", "workspace", "workspace/memory"):
        (open_home / folder).chmod(0o755)
    (open_home / name).chmod(mode)

    said = f"others may use {open_home / name} (mode {mode:04o})"
    assert [c.status for c in audit_files(open_home)
            if c.detail == said] == [status]


def test_what_a_closed_folder_keeps_is_a_warning(open_home):
    keep(open_home, "workspace/memory/brain.db", 0o644)
    open_home.chmod(0o700)

    assert {c.status for c in audit_files(open_home)} == {"warn"}


def test_the_owners_own_files_are_no_matter_of_claws(open_home):
    keep(open_home, "workspace/notes.txt", 0o666)
    (open_home / "workspace").chmod(0o700)
    open_home.chmod(0o700)

    assert audit_files(open_home) == []


@pytest.mark.parametrize("name", [
    "workspace/USER.md", "workspace/AGENTS.md", "workspace/MEMORY.md",
    "workspace/MEMORY_SNAPSHOT.md", "workspace/memory",
    "workspace/memory/brain.db", "workspace/state/queue.db"])
def test_a_link_in_place_of_claws_file_fails(open_home, name):
    path = open_home / name
    path.parent.mkdir(mode=0o700, parents=True)
    path.symlink_to(open_home / "config.toml")
    open_home.chmod(0o700)
    (open_home / "workspace").chmod(0o700)

    found = audit_files(open_home)
    assert [(c.id, c.status, c.hint) for c in found] == [
        ("files.link", "fail", f"rm {path}")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_somebody_else_fails(open_home):
    path = keep(open_home, "config.toml", 0o600)
    open_home.chmod(0o700)
    os.chown(path, 65534, 65534)

    found = audit_files(open_home)
    assert [(c.id, c.hint) for c in found] == [
        ("files.owner", f"chown 0 {path}")]


@pytest.mark.parametrize(("workspace", "statuses"), [
    ("user", ["warn"]), (".", ["warn"]), ("user/.claw/workspace", []),
    ("user/work", [])])
def test_a_workspace_that_is_the_users_home_is_a_warning(
        tmp_path, monkeypatch, workspace, statuses):
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    places = locate(None, str(tmp_path / workspace), {
        "HOME": str(tmp_path / "user")})

    assert [check.status for check in FILES.run(places)
            if check.id == "files.width"] == statuses


# -- settings


@pytest.mark.parametrize(("text", "wrong"), [
    ("", {}),
    ('[autonomy]\nlevel = "full"\n', {"autonomy.level": "fail"}),
    ('[autonomy]\nworkspace_only = false\n',
     {"autonomy.workspace_only": "fail"}),
    ('[autonomy]\nauto_approve = ["*"]\n',
     {"autonomy.auto_approve": "fail"}),
    ('[autonomy]\nallowed_commands = ["*"]\n',
     {"autonomy.allowed_commands": "fail"}),
    ('[autonomy]\nallowed_commands = ["ls", "bash"]\n',
     {"autonomy.allowed_commands": "fail"}),
    ('[autonomy]\nallowed_commands = ["ls", "rm", "curl"]\n',
     {"autonomy.allowed_commands": "fail"}),
    ('[autonomy]\nallowed_commands = ["ls", "python3", "make"]\n', {}),
    ('[autonomy]\nrequire_approval_for_medium_risk = false\n',
     {"autonomy.require_approval_for_medium_risk": "warn"}),
    ('[autonomy]\nblock_high_risk_commands = false\n',
     {"autonomy.block_high_risk_commands": "warn"}),
    ('[autonomy.channels.telegram]\nlevel = "readonly"\n', {}),
    ('[autonomy.channels.telegram]\nlevel = "full"\n',
     {"autonomy.channels.telegram.level": "warn"}),
    ('[autonomy.channels.telegram]\nauto_approve = ["file_write"]\n',
     {"autonomy.channels.telegram.auto_approve": "warn"}),
    ('[autonomy.channels.telegram]\nauto_approve = ["*"]\n',
     {"autonomy.channels.telegram.auto_approve": "fail"}),
    (TELEGRAM, {"people.telegram": "warn"}),
    (TELEGRAM + 'allowed_users = ["1001"]\n', {}),
    (TELEGRAM + 'allowed_users = ["1001", "alice"]\n',
     {"people.telegram-names": "fail"}),
    (TELEGRAM + 'allowed_users = ["*"]\n', {"people.telegram": "fail"}),
    (TELEGRAM + 'allowed_users = ["*", "1001"]\n',
     {"people.telegram": "warn"}),
    (WEBHOOK + SECRET, {}),
    (WEBHOOK, {"ports.webhook-secret": "fail"}),
    (WEBHOOK + 'secret = "hunter2"\n', {"ports.webhook-secret": "fail"}),
    (WEBHOOK + SECRET + 'host = "0.0.0.0"\n', {"ports.webhook": "fail"}),
    (WEBHOOK + SECRET + 'host = "::"\n', {"ports.webhook": "fail"}),
    (WEBHOOK + SECRET + 'host = "localhost"\n', {}),
    ('[hooks]\nuse = ["spy"]\n', {"hooks.use": "warn"}),
    ('[hooks.builtin.webhook_audit]\nenabled = true\ninclude_args = true\n'
     'url = "https://log.example/"\n', {"hooks.webhook_audit": "warn"}),
])
def test_what_the_settings_take_away_is_named(look, text, wrong):
    found = look(text, "autonomy", "people", "ports", "hooks")

    seen = {name: check.status for name, check in found.items()
            if check.status != "ok"}
    assert seen == wrong
    assert all(found[name].hint for name in wrong)


def test_settings_that_can_not_be_read_hide_no_other_finding(look):
    look.home.mkdir(mode=0o755)
    found = look("[autonomy\n")

    assert found["config.config"].status == "fail"
    assert found["sandbox.skipped"].status == "skip"
    assert "files.mode" in found


# -- keys


@pytest.mark.parametrize(("name", "text", "mode", "status"), [
    ("home/config.toml", f'api_key = "{KEY}"', 0o600, "fail"),
    ("home/config.toml.bak", f'api_key = "{KEY}"', 0o600, "fail"),
    ("home/config.toml", "[secrets]\nencrypt = false", 0o600, "fail"),
    ("home/config.toml", 'api_key = "enc2:00"', 0o600, "ok"),
    ("home/workspace/.env", f"OPENAI_API_KEY={KEY}", 0o600, "fail"),
    ("home/.env", f"export OPENAI_API_KEY='{KEY}'", 0o600, "warn"),
    ("home/.env", f"# OPENAI_API_KEY={KEY}", 0o600, None),
    ("home/.env", "OPENAI_API_KEY=$OTHER_API_KEY", 0o600, None),
    ("user/.config/environment.d/c.conf", f"A_TOKEN={KEY}", 0o644, "fail"),
    ("user/.config/systemd/user/claw.service",
     f'[Service]\nEnvironment="A_SECRET={KEY}"', 0o600, "warn"),
    ("user/.bash_history", f"export A_TOKEN={KEY}", 0o644, None),
])
def test_keys_in_plain_text_are_named_and_not_shown(
        look, name, text, mode, status):
    path = look.home.parent / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text + "\n")
    path.chmod(mode)

    found = list(look("", "keys").values())
    assert KEY not in str([check.to_json() for check in found])
    about = [c.status for c in found
             if str(path) in c.detail or c.id == "keys.encrypt"]
    assert about[:1] == ([] if status is None else [status])


@pytest.mark.parametrize("plant", [
    os.mkfifo, lambda path: path.symlink_to("/proc/self/environ")])
def test_what_a_command_planted_for_a_file_of_keys_is_not_read(look, plant):
    look.workspace.mkdir(parents=True)
    plant(look.workspace / ".env")

    assert failures(look("", "keys")) == []


# -- plug-ins


@pytest.fixture
def install(tmp_path, monkeypatch):
    """install(code) puts a package with a tool for claw on the path."""
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(str(site))

    def install(code=b"raise SystemExit('imported')\n"):
        info = site / "spytool-1.2.dist-info"
        info.mkdir(parents=True)
        (site / "spytool.py").write_bytes(code)
        (info / "METADATA").write_text("Name: spytool\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(
            "[claw.hooks]\nspy = spytool:Spy\n")
        digest = base64.urlsafe_b64encode(hashlib.sha256(code).digest())
        (info / "RECORD").write_text(
            f"spytool.py,sha256={digest.decode().rstrip('=')},\n")
        return site / "spytool.py"
    return install


def test_a_plug_in_is_told_with_its_hash_and_not_imported(look, install):
    code = install().read_bytes()
    found = look('[hooks]\nuse = ["spy"]\n', "plugins")

    check = found["plugins.hooks.spy"]
    assert check.status == "ok"
    assert check.detail == (
        "spytool 1.2, named in the settings, 1 file, sha256 "
        + hashlib.sha256(code).hexdigest())


@pytest.mark.parametrize(("change", "said"), [
    (lambda path: path.write_text("evil"), "not as it was installed"),
    (lambda path: path.unlink(), "not as it was installed"),
    (lambda path: path.chmod(0o666), "others may write"),
])
def test_a_plug_in_that_changed_after_its_installation_fails(
        look, install, change, said):
    change(install())

    check = look("", "plugins")["plugins.hooks.spy"]
    assert (check.status, said in check.detail) == ("fail", True)
    assert check.hint


# -- the command


def test_the_command_exits_with_1_and_the_mend_where_something_is_open(
        claw, home):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('[autonomy]\nlevel = "full"\n')
    (home / "config.toml").chmod(0o600)

    ended = claw("security", "audit")
    assert ended.code == 1
    assert "FAIL autonomy.level: every tool runs unasked" in ended.out
    assert "-> claw config set autonomy.level supervised" in ended.out

    found = claw("security", "audit", "--json")
    assert (found.code, found.json["ok"]) == (1, False)
    assert set(found.json["checks"][0]) == {
        "id", "group", "status", "detail", "hint"}


def test_the_command_exits_with_0_where_all_holds(claw, home):
    ended = claw("security", "audit", "--json")

    assert [c for c in ended.json["checks"] if c["status"] == "fail"] == []
    assert (ended.code, ended.json["ok"]) == (0, True)
    assert not home.exists()


def test_code_of_claw_among_the_agents_files_fails(look, monkeypatch):
    """An editable install of it, or of a plug-in, in the workspace."""
    source = look.workspace / "plugin/src"
    source.mkdir(parents=True)
    monkeypatch.syspath_prepend(source)

    check = look("", "plugins")["plugins.own"]
    assert (check.status, str(source) in check.detail) == ("fail", True)
