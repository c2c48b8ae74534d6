"""A machine whose kernel gives claw no namespaces: what claw does there."""

import os
import shutil
import subprocess
import sys

import pytest

# In a user namespace that may have none of its own.
_WITHOUT = ("echo 0 > /proc/sys/user/max_user_namespaces && "
            'exec "$0" -m claw "$@"')


@pytest.fixture
def claw_there(home, tmp_path):
    """Runs claw with the fallback sandbox only."""
    if not shutil.which("unshare") or subprocess.run(
            ["unshare", "-Ur", "sh", "-c", _WITHOUT, "true"], check=False,
            capture_output=True).returncode or shutil.which("bwrap"):
        pytest.skip("this machine can't be made one without namespaces")

    def run(*args, stdin=""):
        return subprocess.run(
            ["unshare", "-Ur", "sh", "-c", _WITHOUT, sys.executable, *args],
            input=stdin, text=True, capture_output=True, check=False,
            env={"HOME": str(tmp_path), "CLAW_HOME": str(home),
                 "PATH": os.environ["PATH"]}, timeout=60)
    return run


def test_listen_runs_without_command_tools_and_says_so(claw_there):
    done = claw_there("listen", "--channel", "cli", stdin="hello\n")

    assert done.returncode == 0
    assert "no command tools: this machine has only the fallback" \
        in done.stderr
    checked = claw_there("listen", "--channel", "cli", "--check")
    assert "no command tools" in checked.stdout


def test_a_job_runs_no_command_whoever_starts_it(claw_there):
    id = claw_there("cron", "add", "@daily", "--command",
                    "ls").stdout.strip()

    for words in (("cron", "run", id), ("tool", "run", "cron_run", "--yes",
                                        f'{{"job_id": "{id}"}}')):
        done = claw_there(*words)
        assert "no commands run here" in done.stdout + done.stderr


def test_the_doctor_prints_the_steps(claw_there):
    done = claw_there("doctor")

    assert "claw listen runs without command tools here" in done.stdout
    assert "sandbox.step_1" in done.stdout
    assert "user.max_user_namespaces=10000" in done.stdout


def test_commands_of_the_owner_run_and_reach_none_of_claws_data(claw_there):
    assert claw_there("memory", "store", "k", "S3CRET").returncode == 0

    done = claw_there("tool", "run", "shell", "--yes",
                      '{"command": "ls; cat memory/brain.db"}')

    assert "memory" in done.stdout
    assert "S3CRET" not in done.stdout + done.stderr
    assert "Permission denied" in done.stderr
