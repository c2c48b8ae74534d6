"""A session of twenty turns as bench/turn.py has it, without its clock:
every request is held against the types of its vendor's SDK."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "bench" / "turn.py"


@pytest.mark.slow
@pytest.mark.parametrize(("wire", "sdk"), [
    ("chat", "openai"), ("responses", "openai"), ("anthropic", "anthropic"),
    ("gemini", "google.genai"), ("ollama", "ollama")])
def test_every_request_of_a_session_is_one_that_its_vendor_takes(wire, sdk):
    pytest.importorskip(sdk)
    done = subprocess.run(
        [sys.executable, BENCH, "--turns", "20", "--no-timing",
         "--wires", wire], text=True, capture_output=True, timeout=120)

    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.splitlines()[1].split()[1]) > 40
