"""The files of the service, held against the service manager's own check."""

import os
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from claw.core.errors import ExitCode, UnavailableError, UsageError
from claw.wiring.setup.service.manager import find_manager
from claw.wiring.setup.service.units import render_plist, render_unit

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(not ANALYZE,
                                   reason="systemd-analyze is not here")
ODD = 'a "b" %h $HOME \\ ü'


def analyze(tmp_path, text, *command):
    unit = tmp_path / "claw.service"
    unit.write_text(text)
    return subprocess.run(
        [ANALYZE, *command, str(unit)], text=True, capture_output=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}, check=False)


@needs_systemd
@pytest.mark.parametrize("folder", ["home", ODD])
def test_systemd_has_nothing_to_say_of_the_unit(tmp_path, folder):
    home = tmp_path / folder
    home.mkdir()
    text = render_unit([shutil.which("true"), ODD], {"CLAW_HOME": str(home)},
                       home)

    done = analyze(tmp_path, text, "--user", "verify", "--man=no")

    assert (done.returncode, done.stderr) == (0, "")


@needs_systemd
def test_the_unit_is_hardened(tmp_path):
    """7.4 of 10 (lower is better); what would lower it takes namespaces and
    system calls from claw's own sandbox and its tools."""
    text = render_unit(["/bin/true"], {}, tmp_path)

    done = analyze(tmp_path, text, "security", "--offline=true",
                   "--threshold=74")

    assert done.returncode == 0, done.stdout


def test_exits_that_a_restart_can_not_mend_are_not_restarted(tmp_path):
    text = render_unit(["/bin/true"], {}, tmp_path)
    line = next(line for line in text.splitlines()
                if line.startswith("RestartPreventExitStatus="))
    codes = {int(code) for code in line.partition("=")[2].split()}

    assert ExitCode.CONFIG in codes
    assert ExitCode.AUTH in codes
    assert ExitCode.UNAVAILABLE not in codes
    assert ExitCode.STORAGE not in codes


def test_a_name_with_a_line_end_can_not_add_a_setting(tmp_path):
    with pytest.raises(UsageError, match="a unit can't hold"):
        render_unit(["/bin/true"], {"CLAW_HOME": "x\nExecStartPre=/evil"},
                    tmp_path)
    with pytest.raises(UsageError, match="a unit can't hold"):
        render_unit(["/bin/true"], {}, tmp_path / "home\\")


def test_the_plist_names_the_command_and_its_folders(tmp_path):
    found = plistlib.loads(render_plist(
        ["python", "-m", "claw", "listen"], {"CLAW_HOME": ODD}, tmp_path,
        tmp_path / "log").encode())

    assert found["ProgramArguments"][-1] == "listen"
    assert found["EnvironmentVariables"] == {"CLAW_HOME": ODD}


def test_a_system_without_a_known_manager_says_what_to_run():
    with pytest.raises(UnavailableError) as caught:
        find_manager(None, {}, "freebsd14")

    assert "claw listen" in caught.value.hint


FAKE = """#!/bin/sh
echo "$@" >> {log}
case "$2" in
show) printf 'ActiveState=active\\nSubState=running\\nResult=success\\n'
      printf 'UnitFileState=enabled\\nNRestarts=2\\nStatusText=2 channels\\n';;
esac
"""


@pytest.fixture
def systemctl(tmp_path):
    """A systemctl that notes what it was told."""
    folder, log = tmp_path / "bin", tmp_path / "told"
    folder.mkdir()
    program = folder / "systemctl"
    program.write_text(FAKE.format(log=log))
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}",
            "XDG_CONFIG_HOME": str(tmp_path / "config")}, log


def test_install_writes_the_unit_enables_and_starts_it(claw, systemctl):
    env, log = systemctl

    done = claw("service", "install", env=env)

    unit = Path(done.out.strip())
    assert done.code == 0
    assert "Type=notify" in unit.read_text()
    assert log.read_text().splitlines()[-3:] == [
        "--user daemon-reload", "--user enable claw.service",
        "--user restart claw.service"]


def test_status_says_what_the_manager_says(claw, systemctl):
    env, _ = systemctl
    claw("service", "install", env=env)

    done = claw("service", "status", env=env)

    assert done.code == 0
    assert "active (running), restarted 2 times: 2 channels; starts at " \
        "login" in done.out


def test_uninstall_removes_the_file(claw, systemctl):
    env, log = systemctl
    unit = Path(claw("service", "install", env=env).out.strip())

    done = claw("service", "uninstall", env=env)

    assert done.code == 0
    assert not unit.exists()
    assert "--user disable --now claw.service" in log.read_text()


NO_BUS = ("#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\n"
          "exit 1\n")


@pytest.mark.parametrize(("booted", "program", "words"), [
    (True, NO_BUS, "No medium found; log in to this account itself (not"),
    (False, NO_BUS, "there is no systemd here; run claw listen itself, in a"),
    (False, None, "there is no systemd here; run claw listen itself, in a"),
])
def test_without_a_manager_that_answers_nothing_is_left_behind(
        claw, tmp_path, systemctl, monkeypatch, booted, program, words):
    monkeypatch.setattr("claw.wiring.setup.service.manager._BOOTED",
                        tmp_path if booted else tmp_path / "none")
    path = tmp_path / "bin" / "systemctl"
    if program:
        path.write_text(program)
    else:
        path.unlink()
        monkeypatch.setenv("PATH", str(path.parent))

    done = claw("service", "install", env=systemctl[0])

    assert done.code == 5
    assert words in done.err
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize("verb", ["start", "stop", "uninstall", "logs"])
def test_what_is_not_installed_is_said_to_be_so(claw, systemctl, verb):
    done = claw("service", verb, env=systemctl[0])

    assert done.code == 1
    assert "no service is installed" in done.err
    assert "claw service install" in done.err


def test_print_changes_nothing(claw, systemctl, tmp_path):
    env, log = systemctl

    done = claw("service", "install", "--print", env=env)

    assert "ExecStart=" in done.out
    assert not log.exists()
    assert not (tmp_path / "config").exists()
