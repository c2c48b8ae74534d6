"""The command llm as a client of claw's gateway."""

import json
import os
import subprocess

import pytest

from claw.testing.fake_openai import FakeOpenAI, tool_call
from tests.peers.conftest import INSTALL, PEERS
from tests.wiring.conftest import (  # noqa: F401
    ask_server,
    write_settings,
)
from tests.wiring.gateway.conftest import serve

LLM = PEERS / "llm" / "bin" / "llm"

pytestmark = [pytest.mark.peers, pytest.mark.slow]


@pytest.fixture
def llm(tmp_path):
    """llm(served, words) is what the command prints."""
    if not LLM.exists():
        pytest.skip(f"no llm ({INSTALL})")
    folder = tmp_path / "llm"
    folder.mkdir()

    def run(served, *words):
        (folder / "extra-openai-models.yaml").write_text("".join(
            f"- model_id: {name}\n  model_name: {name}\n"
            f"  api_base: {served.url}\n  supports_tools: true\n"
            "  supports_schema: true\n  api_key_name: claw\n"
            for name in ("claw", "fast")))
        (folder / "keys.json").write_text(json.dumps(
            {"claw": served.keys["laptop"]}))
        done = subprocess.run(
            [LLM, *words], text=True, capture_output=True, timeout=60,
            stdin=subprocess.DEVNULL, env={
                **os.environ, "LLM_USER_PATH": str(folder)})
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.fixture
def api(ask_server):  # noqa: F811
    def make(server):
        return serve(ask_server(server, '[model_aliases]\nfast = "m"\n'))
    return make


def test_a_prompt_is_answered_plain_and_streamed(api, llm):
    with FakeOpenAI(["one", "two"]) as server, api(server) as served:
        assert llm(served, "-m", "claw", "--no-stream", "hello") == "one\n"
        assert llm(served, "-m", "claw", "hello") == "two\n"


def test_tools_of_llm_are_called_by_the_model(api, llm):
    with FakeOpenAI([tool_call("llm_version"), "it is new"]
                    ) as server, api(server) as served:
        found = llm(served, "-m", "fast", "-T", "llm_version", "which?")

    assert found == "it is new\n"
    assert server.chats[-1].body["messages"][-1]["role"] == "tool"


def test_a_schema_is_kept(api, llm):
    with FakeOpenAI(['{"n": 1}']) as server, api(server) as served:
        found = llm(served, "-m", "fast", "--schema", "n int", "a number")

    assert found == '{"n": 1}\n'
    assert "response_format" in server.chats[-1].body
