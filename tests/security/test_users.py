"""Every denial of test_sandbox.py as an ordinary user, where this is root.

The tests run again in a process of another user: with a Python that he may
run, in folders of his own.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY = 65_534


def find_python():
    """A Python of this version that anybody may run."""
    for path in (sys.executable, "/usr/bin/python3",
                 "/usr/local/bin/python3"):
        with contextlib.suppress(PermissionError, FileNotFoundError):
            if subprocess.run(
                    [path, "-c", "import sys, ctypes; raise SystemExit("
                     f"sys.version_info[:2] != {sys.version_info[:2]!r})"],
                    user=NOBODY, group=NOBODY, extra_groups=[], check=False,
                    capture_output=True).returncode == 0:
                return path
    return None


@pytest.mark.skipif(os.getuid() != 0, reason="the tests of the sandbox "
                    "run as an ordinary user already")
def test_an_ordinary_users_commands_are_as_confined_as_roots():
    python = find_python()
    source = Path(__file__).parents[2]
    packages = Path(pytest.__file__).parents[1]
    if python is None or not all(
            os.stat(folder).st_mode & 0o005 == 0o005
            for path in (source, packages)
            for folder in (path, *path.parents)):
        pytest.skip("no Python or no source that an ordinary user may read")
    home = Path("/var/tmp") / f"claw-{os.getpid()}"
    home.mkdir(mode=0o700)
    os.chown(home, NOBODY, NOBODY)
    try:
        done = subprocess.run(
            [python, "-m", "pytest", "-q", "-n", "0", "-x", "-p",
             "no:cacheprovider", "-k", "not every_default_command",
             f"--basetemp={home}/t", f"--rootdir={source}",
             str(Path(__file__).with_name("sandbox")
                 / "test_sandbox.py")],
            cwd=source, user=NOBODY, group=NOBODY, extra_groups=[],
            env={"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8",
                 "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1",
                 "PYTHONPATH": f"{source}:{packages}"},
            capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(home, ignore_errors=True)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
