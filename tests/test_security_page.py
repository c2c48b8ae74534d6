"""docs/security.md says nothing that is not so: its commands are run, one
after the other in one home, and its tests are there."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_command_ends_as_the_page_says(tmp_path):
    run = build_shell(tmp_path)
    wrong = [text for block in BLOCKS for text in find_lies(run, block)]

    assert not wrong, "\n\n".join(wrong)


def build_shell(folder):
    """run(command) in a home of its own, with this claw on the PATH."""
    (folder / "bin").mkdir()
    claw = folder / "bin/claw"
    claw.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m claw "$@"\n')
    claw.chmod(0o755)
    for made in ("home/workspace", "user", "work"):
        (folder / made).mkdir(mode=0o700, parents=True)
    (folder / "home").chmod(0o700)
    env = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
           "HOME": str(folder / "user"), "CLAW_HOME": str(folder / "home"),
           "CLAW_NO_PROBE": "1", "PYTHONPATH": str(ROOT)}

    def run(command):
        return subprocess.run(["sh", "-c", command], env=env, text=True,
                              capture_output=True, cwd=folder / "work",
                              stdin=subprocess.DEVNULL, check=False)
    return run


def find_lies(run, block):
    """What a block says and what is not so."""
    command, *claims = block.strip().split("\n")
    done = run(command)
    assert claims, command
    for claim in claims:
        kind, _, text = claim.removeprefix("# ").partition(": ")
        output = done.stderr if kind == "stderr" else (
            done.stdout + done.stderr)
        is_true = text in output and (
            kind == "stderr" or kind == f"exit {done.returncode}")
        if not is_true:
            yield (f"{command}\n{claim}\nbut: exit {done.returncode}\n"
                   f"{output[-2000:]}")


def test_every_test_that_the_page_names_is_there():
    names = re.findall(r"^- (tests/[^:\s]+)(?:::(\w+))?$", PAGE,
                       re.MULTILINE)

    assert names
    for file, name in names:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {name}" in text, (file, name)
