"""docs/security.md, docs/ask.md and docs/skills.md say nothing that is not so:
the commands of a page are run, one after the other in one home, and the tests
that it names are there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECURITY, ASK, HOOKS, SKILLS = (
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("security.md", "ask.md", "hooks.md", "skills.md"))
CLAIM = re.compile(r"# (exit \d+|stderr)")


@pytest.mark.parametrize("page", [SECURITY, ASK, SKILLS],
                         ids=["security", "ask", "skills"])
def test_every_command_ends_as_the_page_says(tmp_path, page):
    blocks = re.findall(r"^```sh\n(.+?)^```", page, re.MULTILINE | re.DOTALL)
    run = build_shell(tmp_path)
    wrong = [text for block in blocks for text in find_lies(run, block)]

    assert blocks
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
    (folder / "user/.claw").symlink_to(folder / "home")
    env = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
           "HOME": str(folder / "user"), "CLAW_HOME": str(folder / "home"),
           "CLAW_NO_PROBE": "1", "PYTHONPATH": str(ROOT)}

    def run(command):
        return subprocess.run(["sh", "-c", command], env=env, text=True,
                              capture_output=True, cwd=folder / "work",
                              stdin=subprocess.DEVNULL, check=False)
    return run


@pytest.mark.parametrize(("weekday", "answer"), [
    (5, "no git push on Fridays"), (1, "continued")])
def test_the_hooks_of_the_page_do_what_it_says(tmp_path, weekday, answer):
    """On a Friday and on a Monday, with a desktop that keeps what it is
    shown."""
    run = build_shell(tmp_path)
    for name, text in (("date", f"echo {weekday}"), (
            "notify-send", f'echo "$@" >> {tmp_path}/shown')):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    page = HOOKS.replace("# exit 0: no git push on Fridays",
                         f"# exit 0: {answer}")
    blocks = re.findall(r"^```sh\n(.+?)^```", page, re.MULTILINE | re.DOTALL)
    wrong = [text for block in blocks for text in find_lies(run, block)]

    assert len(blocks) == 4
    assert not wrong, "\n\n".join(wrong)
    assert (tmp_path / "shown").read_text() == \
        "claw to 1001 Dinner is at seven.\n"


def find_lies(run, block):
    """What a block says and what is not so."""
    lines = block.strip().split("\n")
    claims = [line for line in lines if CLAIM.match(line)]
    command = "\n".join(line for line in lines if not CLAIM.match(line))
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
    names = re.findall(r"^- (tests/[^:\s]+)(?:::(\w+))?$", SECURITY,
                       re.MULTILINE)

    assert names
    for file, name in names:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {name}" in text, (file, name)


TABLES = (ROOT / "docs" / "coming-from-llm.md").read_text(encoding="utf-8")
NOBODY = "--dry-run -m m -p custom:http://127.0.0.1:9/v1"
ON_A_TERMINAL = ("claw agent", "claw template edit")
ASKS_A_MODEL = {"claw do": 3, "claw provider models": 5}


def test_every_command_for_newcomers_does_what_the_page_says(tmp_path):
    rows = re.findall(r"^\| .+? \| `(claw .+)` \|$", TABLES, re.MULTILINE)
    run = build_shell(tmp_path)
    work = tmp_path / "work"
    (work / "src").mkdir()
    for name in ("report.txt", "key.txt", "src/house.md"):
        (work / name).write_text("The rent is due on Monday.\n")
    (work / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(20))
    assert run("claw memory index src --name notes && claw ask 'rent 2+2'"
               " < report.txt").returncode == 0
    wrong = []
    for command in rows:
        if command.startswith(ON_A_TERMINAL):
            continue
        is_question = command.startswith("claw ask") \
            and "--save" not in command
        done = run(command.replace("claw ask", f"claw ask {NOBODY}")
                   if is_question else command)
        expected = next((code for start, code in ASKS_A_MODEL.items()
                         if command.startswith(start)), 0)
        if done.returncode != expected:
            wrong.append((command, done.returncode, done.stderr))

    assert len(rows) > 40
    assert not wrong
