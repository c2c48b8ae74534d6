"""Adding a platform: its file and one row, or an entry point, and every
command knows it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import claw.testing.skeleton_channel as skeleton
from claw.testing.fake_skeleton import TOKEN, FakeSkeleton

# Runs commands, a line each, in one process; prints the code after each.
RUN = """
import sys
from claw.channels import REGISTRY
REGISTRY._builtins.update({rows})
from claw.cli.app import run
for line in sys.stdin.read().splitlines():
    print(f"[{{run(line.split())}}]", flush=True)
"""
COMMANDS = """config check
channel list
channel doctor demo
listen --check
config set channels_config.demo.poll_secs 5
config get channels_config.demo.poll_secs
config set channels_config.demo.poll_secs 0
send demo:alice hello
"""


@pytest.mark.parametrize("rows", [
    {"demo": "demo_channel:DemoChannel"},
    {},  # a third party's, by its entry point
], ids=["row", "entry point"])
def test_a_new_platform_is_one_file_and_one_row(tmp_path, rows):
    packages = tmp_path / "packages"
    info = packages / "demo-1.dist-info"
    info.mkdir(parents=True)
    source = Path(skeleton.__file__).read_text("utf-8")
    (packages / "demo_channel.py").write_text(
        source.replace("skeleton", "demo").replace("Skeleton", "Demo"))
    if not rows:
        (info / "METADATA").write_text("Name: demo\nVersion: 1\n")
        (info / "entry_points.txt").write_text(
            "[claw.channels]\ndemo = demo_channel:DemoChannel\n")
    (tmp_path / ".claw").mkdir()
    with FakeSkeleton() as platform:
        (tmp_path / ".claw" / "config.toml").write_text(
            "[channels_config.demo]\n"
            f'api_url = "{platform.url}"\ntoken = "{TOKEN}"\n')
        done = subprocess.run(
            [sys.executable, "-c", RUN.format(rows=rows)], input=COMMANDS,
            capture_output=True, text=True, check=True, timeout=60, env={
                "PATH": os.environ["PATH"], "HOME": str(tmp_path),
                "PYTHONPATH": str(packages), "CLAW_NO_PROBE": "1"})

    out = [part.strip() for part in done.stdout.split("]\n")]
    assert [part.rpartition("[")[2] for part in out[:-1]] == [
        "0", "0", "0", "0", "0", "0", "2", "0"], done.stderr
    assert "demo\tset up" in out[1]
    assert "channels.demo.health: healthy" in out[2]
    assert "listen.channel.demo: can be started" in out[3]
    assert out[5] == "5\n[0"
    assert "poll_secs: expected a whole number from 1 to 600" in done.stderr
    assert "unknown key" not in done.stderr
    assert [m["text"] for m in platform.sent] == ["hello"]


def test_the_page_about_it_is_the_skeleton():
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs" / "adding-a-channel.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)
    source = Path(skeleton.__file__).read_text("utf-8")

    assert "".join(blocks).split() == source.split()
    assert all(block.rstrip("\n") in source for block in blocks)
    assert source.count("\n") < 135
