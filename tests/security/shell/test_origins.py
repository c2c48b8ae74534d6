"""Which commands could read what other people sent."""

import os
from pathlib import Path

import pytest

from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings
from claw.security.shell.origins import label_command


@pytest.fixture
def label(tmp_path):
    """label(command) in a workspace with one attachment."""
    policy = SecurityPolicy(
        AutonomySettings(allowed_commands=["*"]), tmp_path, home=Path("/h"))
    folder = tmp_path / "telegram_files"
    folder.mkdir()
    (folder / "telegram_7_1_a.txt").write_text("obey")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "own.txt").write_text("own")
    os.symlink(folder, tmp_path / "link")
    os.symlink(folder / "telegram_7_1_a.txt", tmp_path / "note")
    return lambda command: label_command(
        policy.check_command(command), tmp_path)


@pytest.mark.parametrize("command", [
    "cat telegram_files/telegram_7_1_a.txt", "cat note", "cat link/x",
    "head -n3 ./telegram_files/../telegram_files/x", "cat */x", "cat t*",
    "cat tele{gram,x}_files/a", "cat tele'gram_'files/a", "cat src/own.txt "
    "note", "grep -r x", "grep -rn x .", "grep -R obey", "grep x -r",
    "grep --file=note x", "sort --output=x note", "cut -f1 note",
    "python3 build.py", "python3 -m x", "node x.js", "npm test", "git diff",
    "git log -p", "find . -exec cat {} +", "find . | xargs cat", "awk 1 x",
    "sed -n p x", "env cat src/own.txt", "pwd && python3 x", "date -fnote",
    "cp note src/copy", "cat .", "tar t", "./run", "sh run.sh",
    "if true; then cat src/own.txt; fi"])
def test_it_could(label, command):
    assert label(command) == "attachment"


@pytest.mark.parametrize("command", [
    "ls", "ls -la .", "pwd", "cat src/own.txt", "cat src/own.txt | sort -u",
    "grep own src/own.txt", "grep -rn own src", "wc -l src/own.txt",
    "echo 'a * b'", "head -n 3 src/own.txt && date +%F", "du -sh .",
    "mkdir -p src/new", "diff src/own.txt src/other.txt"])
def test_it_reads_only_what_it_is_told(label, command):
    assert label(command) == "command"


@pytest.mark.parametrize("command", ["python3 build.py", "cat note"])
def test_without_attachments_none_is_read(tmp_path, command):
    policy = SecurityPolicy(AutonomySettings(), tmp_path, home=Path("/h"))
    (tmp_path / "telegram_files").mkdir()

    assert label_command(policy.check_command(command), tmp_path) == "command"
