"""What a Tab does in real shells."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "completions"

PLANT = "evil $(touch PLANTED) `touch PLANTED` it's \"here\" ; touch PLANTED"
SAY = 'claw() { printf "%s\\0" "$@"; }; eval "$1"'
FISH_SAY = "function claw; printf '%s\\0' $argv; end; eval $argv[1]"


def words(shell, line, cwd):
    """What the shell makes of a line, with nothing run."""
    say = FISH_SAY if shell == "fish" else SAY
    command = [shell, "-c", say] + (["sh"] if shell != "fish" else [])
    return subprocess.run([*command, line], capture_output=True, text=True,
                          check=True, cwd=cwd).stdout.split("\0")[:-1]


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
def test_zsh_without_a_zshrc_did_not_know_compdef(tmp_path):
    done = subprocess.run(
        ["zsh", "-fc", f'eval "$(cat {SCRIPTS}/_claw)"; print $_comps[claw]'],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]})

    assert (done.stdout, done.stderr) == ("_claw\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["", '"', "'"])
def test_a_key_goes_onto_the_line_whole_and_runs_nothing(
        claw, complete, shell, tmp_path, typed):
    assert claw("memory", "store", PLANT, "x").code == 0

    line = complete(f"claw memory get {typed}ev")

    assert words(shell, line, tmp_path) == ["memory", "get", PLANT]
    assert not (tmp_path / "PLANTED").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "whole"), [
    ("claw mem", "claw memory"),
    ("claw help memory rec", "claw help memory recall"),
    ("claw memory get note:o", "claw memory get note:one"),
    ("claw ask --provider=offl", "claw ask --provider=offline"),
    ("claw -q ask --tools file_read,sh",
     "claw -q ask --tools file_read,shell"),
    ("claw ask -T translate -P la", "claw ask -T translate -P lang="),
    ("claw config set memory.auto_save f",
     "claw config set memory.auto_save false"),
])
def test_a_line_is_completed(claw, complete, shell, typed, whole):
    if shell == "zsh" and " help " in typed:
        pytest.skip("zsh completes the words of help to the first alone")
    claw("memory", "store", "note:one", "x")

    assert complete(typed).rstrip() == whole


def test_a_file_is_completed_where_one_is_meant(complete, tmp_path):
    (tmp_path / "rep ort.txt").write_text("x")

    line = complete("claw ask -f rep").replace("\\", "").replace("'", "")

    assert line.rstrip() == "claw ask -f rep ort.txt"
