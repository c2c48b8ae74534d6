"""The reference servers of MCP, added and called as a person does it."""

import json
import subprocess

import pytest

pytestmark = [pytest.mark.peers, pytest.mark.slow]
NPM = "node_modules/@modelcontextprotocol/"


@pytest.fixture
def add(claw, mcp_peer):
    """add(name, command, *options): a server, accepted; gives a caller."""
    def add_server(name, command, *options):
        added = claw("mcp", "add", name, "--readable", mcp_peer("."),
                     *options, "--", *command)
        assert added.code == 0, added.err
        accepted = claw("mcp", "accept", name, "--yes", "--json")
        assert accepted.code == 0, accepted.err

        def call(tool, **args):
            done = claw("tool", "run", f"{name}__{tool}", json.dumps(args),
                        "--yes", "--json")
            return done.json
        call.tools = accepted.json["accepted"]
        return call
    return add_server


def test_everything(add, claw, mcp_peer):
    call = add("every", ["node", mcp_peer(
        NPM + "server-everything/dist/index.js")])

    assert len(call.tools) >= 10
    assert call("echo", message="green tea")["output"] == "Echo: green tea"
    assert "5" in call("get-sum", a=2, b=3)["output"]
    assert "[image/png, " in call("get-tiny-image")["output"]
    assert "temperature" in call("get-structured-content",
                                 location="New York")["output"]
    assert not call("echo", message=7)["success"]
    assert "decline" in call("trigger-elicitation-request")["output"]
    assert claw("mcp", "list", "--json").json["servers"][0]["tools"][0][
        "state"] == "accepted"


def test_filesystem(add, tmp_path, mcp_peer):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("green tea")
    call = add("files", ["node", mcp_peer(
        NPM + "server-filesystem/dist/index.js"), str(notes), "/etc"],
        "--folder", str(notes))

    assert call("read_text_file", path=str(notes / "a.txt"))[
        "output"] == "green tea"
    assert call("write_file", path=str(notes / "b.txt"),
                content="x")["success"]
    assert (notes / "b.txt").read_text() == "x"
    # its own rule would allow it, the sandbox has no such file
    denied = call("read_text_file", path="/etc/shadow")
    assert not denied["success"]


def test_time(add, mcp_peer):
    call = add("time", [mcp_peer("mcp/bin/mcp-server-time"),
                        "--local-timezone", "UTC"])

    assert '"timezone": "Europe/Berlin"' in call(
        "get_current_time", timezone="Europe/Berlin")["output"]
    assert not call("get_current_time", timezone="Nowhere")["success"]


def test_git(add, tmp_path, mcp_peer):
    repo = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    (repo / "tea.txt").write_text("green\n")
    call = add("git", [mcp_peer("mcp/bin/mcp-server-git")], "--folder",
               str(repo))

    assert "tea.txt" in call("git_status", repo_path=str(repo))["output"]
    assert call("git_add", repo_path=str(repo), files=["tea.txt"])["success"]
    assert not call("git_log", repo_path=str(tmp_path))["success"]


def test_fetch_without_the_network(add, mcp_peer):
    call = add("fetch", [mcp_peer("mcp/bin/mcp-server-fetch"),
                         "--ignore-robots-txt"])

    assert not call("fetch", url="https://example.org/")["success"]
