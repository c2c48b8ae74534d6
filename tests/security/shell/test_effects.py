"""What runs unasked is judged by its effect: a day's work does, and no
one-liner that writes or runs something does."""

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings
from tests.security.gate_corpus import BENIGN, attacks


def policy(*allowed, **settings):
    return SecurityPolicy(
        AutonomySettings(**({"allowed_commands": list(allowed)}
                            if allowed else {}), **settings),
        Path("/ws"), home=Path("/home/u"))


@pytest.mark.each(("command", "effect"), BENIGN)
def test_a_days_commands_run_unasked(command, effect):
    found = policy("*").check_command(command)

    assert (found.refusal, found.risk) == (None, "low"), found.detail
    assert found.reads is (effect == "reads")


@pytest.mark.each("command", [
    c for c, _ in BENIGN if not c.startswith("egrep")])
def test_a_days_commands_are_allowed_as_claw_comes(command):
    assert policy().check_command(command).refusal is None


@pytest.mark.each("command", attacks())
def test_no_one_liner_runs_unasked_and_each_says_why(command):
    found = policy("*").check_command(command)

    assert found.refusal is not None
    assert found.detail or found.risk == "high" \
        or found.refusal.startswith("Path blocked")


def test_the_tables_are_as_long_as_they_should_be():
    assert len(BENIGN) >= 120
    assert len(attacks()) >= 150


PROGRAMS = {name: shlex.split(words) for name, words in {
    "awk": """-F , -v n=1 -f -i -W exec {print} 1 made '{print > "made"}'
        '{print | "canary"}' 'BEGIN{system("canary")}'
        '{ "canary" | getline }' '/a/ {c++} END {print c}'""",
    "sed": """-n -e p -i -ni -s -f -E -z '1e canary' 'w made' s/a/canary/e
        's/a/b/w made' 's/a/b/g;p' '$!N;P;D' --in-place --expression=p
        '--expression=w made'""",
    "sort": """-o made -omade -k 1 -u -k1,1 -r -t , -m -c -T . -S1
        --output=made --outp=made --compress-program=canary""",
    "find": """. -name '*' -exec canary {} ; + -delete -print -fprint made
        -type f -o -ok -not -execdir -fls -maxdepth 1 -H""",
    "tar": """t tf -t -f x -x c tvf rf arc.tar -I canary -C sub -c -tf -F
        --to-command=canary --checkpoint=1 --checkpoint-action=exec=canary
        --use-compress-program=canary --list --file=arc.tar --delete""",
    "git": """log diff branch tag stash list show -l -p -v -m -d -n new HEAD
        --output=made config --get user.name -c core.pager=canary archive
        -o --ext-diff remote add notes grep -O canary status worktree
        reflog expire --all --list -a""",
    "uniq": "a made -c -f 1 -d -s -- -",
    "cut": "-d , -f 1 -f1 a made --complement",
    "date": "+%F -u -d now --date=now -r a",
    "diff": "a b -u -l --to-file made -r --brief",
    "cp": """a b made ../made -r -t .. -s AGENTS.md sub -T -n -- -v
        --target-directory=..""",
    "mv": "a b made ../made -t .. AGENTS.md sub -n"}.items()}


@pytest.fixture
def scratch(tmp_path):
    """A repository with small files, a planted program that leaves a mark,
    and a way to run a command there and see what it changed."""
    made = Scratch(tmp_path)
    made.plant()
    return made


class Scratch:
    def __init__(self, folder):
        self.folder, self.work = folder, folder / "work"
        self.mark = folder / "mark"
        tools = folder / "tools"
        tools.mkdir()
        canary = tools / "canary"
        canary.write_text(f"#!/bin/sh\n: > {self.mark}\n")
        canary.chmod(0o755)
        self.env = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(self.work),
                    "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        self.policy = SecurityPolicy(
            AutonomySettings(allowed_commands=["*"]), self.work, home=folder)

    def plant(self):
        (self.work / "sub").mkdir(parents=True)
        for name in ("a", "b", "AGENTS.md", "sub/c"):
            (self.work / name).write_text("a,1\nb,2\n")
        self.run("git init -q && git add a && git -c user.name=u -c "
                 "user.email=u@x commit -qm x && tar cf arc.tar a")

    def run(self, command):
        subprocess.run(["sh", "-c", command], cwd=self.work, env=self.env,
                       stdin=subprocess.DEVNULL, capture_output=True,
                       check=False)

    def state(self, *, inside):
        """Path -> bytes of what no such command may change."""
        work = [self.work / "AGENTS.md"]
        if inside:
            work = [p for p in self.work.rglob("*")
                    if p.is_file() and p.name != "index"]
        outside = [p for p in self.folder.iterdir() if p != self.work]
        return {p: p.read_bytes() if p.is_file() else b""
                for p in (*work, *outside)}


@st.composite
def command_lines(draw):
    name = draw(st.sampled_from(sorted(PROGRAMS)))
    words = draw(st.lists(st.sampled_from(PROGRAMS[name]), max_size=5))
    return shlex.join([name, *words])


@settings(max_examples=80, deadline=None, derandomize=True,
          suppress_health_check=list(HealthCheck))
@given(command=command_lines())
def test_what_is_rated_low_changes_nothing_outside_and_starts_no_program(
        scratch, command):
    found = scratch.policy.check_command(command)
    assume(found.refusal is None)
    before = scratch.state(inside=found.reads)

    scratch.run(command)

    assert scratch.state(inside=found.reads) == before
    assert not scratch.mark.exists()
