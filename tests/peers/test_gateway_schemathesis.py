"""schemathesis calls the gateway as /openapi.json describes it."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest

from claw.testing.fake_openai import FakeOpenAI
from tests.peers.conftest import INSTALL, PEERS, free_port, running

SCHEMATHESIS = PEERS / "schemathesis" / "bin" / "schemathesis"
MOST_KB = 250_000
# Streams have no end that could be waited for.
STREAMS = ("/v1/events", "/page/api/chat/events")

# A list of messages gets one more that asks something.
HOOKS = """
import schemathesis

@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body if isinstance(case.body, dict) else {}
    if "embeddings" in case.path:
        return
    for key in ("messages", "input"):
        if isinstance(body.get(key), list) and body[key]:
            case.body = {**body, key: [
                *body[key], {"role": "user", "content": "x"}]}
"""

pytestmark = [pytest.mark.peers, pytest.mark.slow]


@contextmanager
def gateway(folder):
    """A real `claw gateway` before a fake model; its port and a key."""
    port, home = free_port(), folder / "home"
    home.mkdir()
    env = {"HOME": str(folder), "CLAW_HOME": str(home), "CLAW_NO_PROBE": "1",
           "CLAW_API_KEY": "sk-x"}
    claw = [sys.executable, "-m", "claw", "gateway"]
    with FakeOpenAI(["an answer"]) as model:
        (home / "config.toml").write_text(
            f'default_provider = "custom:{model.url}"\n'
            'default_model = "m"\n[model_aliases]\nfast = "m"\n'
            f"[gateway]\nport = {port}\nrate_limit_per_minute = 1000000\n"
            "pair_rate_limit_per_minute = 1000000\n")
        made = subprocess.run(
            [*claw, "token", "add", "tests", "--sees", "owner"], text=True,
            env={**os.environ, **env}, capture_output=True, check=True,
            cwd=folder)
        [key] = re.findall(r"zc_\w+", made.stdout)
        with running(claw, port, folder / "gateway.log", env, "/health"):
            yield port, key


def ask(port, key, path):
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}",
                                   headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return answer.read().decode()


def narrow(document):
    """What no schema can say: which models there are, and that a tool is
    chosen from those that are given. `contains` takes schemathesis minutes;
    HOOKS stands for it."""
    for path in STREAMS:
        del document["paths"][path]
    for path, rows in document["paths"].items():
        if path.startswith("/v1/") and "post" in rows:
            asked = rows["post"]["requestBody"]["content"][
                "application/json"]["schema"]["properties"]
            asked["model"] = {"const": "fast"}
            if path != "/v1/embeddings":
                del asked[{"/v1/responses": "input"}.get(path, "messages")][
                    "contains"]
            if "tool_choice" in asked:
                asked["tool_choice"] = {"enum": ["auto", "none", None]}
    return document


def test_no_5xx_and_nothing_accepted_that_should_not_be(tmp_path):
    if not SCHEMATHESIS.exists():
        pytest.skip(f"no schemathesis ({INSTALL})")
    with gateway(tmp_path) as (port, key):
        path = tmp_path / "openapi.json"
        path.write_text(json.dumps(narrow(json.loads(
            ask(port, key, "/openapi.json")))))
        (tmp_path / "hooks.py").write_text(HOOKS)
        done = subprocess.run(
            [SCHEMATHESIS, "run", path, "--no-color", "--seed", "1",
             "--url", f"http://127.0.0.1:{port}", "--max-examples", "15",
             "--phases", "coverage,fuzzing", "--continue-on-failure",
             "--header", f"Authorization: Bearer {key}"],
            text=True, capture_output=True, timeout=300, cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path),
                 "SCHEMATHESIS_HOOKS": "hooks"})
        used = re.search(r"^process_resident_memory_bytes (\d+)",
                         ask(port, key, "/metrics"), re.M)

    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert int(used[1]) < MOST_KB * 1024
