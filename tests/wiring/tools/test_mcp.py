"""Servers and their tools, as the settings say."""

import asyncio
import shutil

import pytest

from claw.core.errors import ClawError, ConfigError, NotFoundError
from claw.tools.mcp.accepted import ListedTool
from claw.tools.offer.shelf import ToolSearch
from claw.wiring.checks.mcp import check_servers
from claw.wiring.tools.build import build_policy, build_tools
from claw.wiring.tools.mcp import (
    build_mcp_tools,
    build_server,
    find_server,
    read_servers,
)

TWO = """
[[mcp.servers]]
name = "a"
command = "cat"

[[mcp.servers]]
name = "b"
transport = "http"
url = "http://127.0.0.1:1/mcp"
"""


def accept(tree, name, *tools):
    accepted = find_server(tree, name).accepted
    found = accepted.load()
    found.note([ListedTool(tool, "Does it.", {"type": "object"})
                for tool in tools], 0, 1.0)
    found.accept()
    accepted.save(found)


def names(tree, **options):
    """What is offered, then what tool_search would find of servers."""
    tools = build_tools(tree, build_policy(tree, {}), **options)
    return [*(tool.name for tool in tools),
            *(name for tool in tools if isinstance(tool, ToolSearch)
              for name in tool.shelf.names if "__" in name)]


@pytest.mark.parametrize(("settings", "offered"), [
    ("", []),
    ("[mcp]\ndeferred_loading = false\n", ["a__one", "a__two"]),
    ('[agent]\noffered_tools = ["a__two"]\n', ["a__two"]),
])
def test_served_tools_wait_to_be_found(write_settings, settings, offered):
    tree = write_settings(TWO + settings)
    accept(tree, "a", "one", "two")
    tools = build_tools(tree, build_policy(tree, {}))
    search = next(t for t in tools if isinstance(t, ToolSearch))

    assert [t.name for t in tools if "__" in t.name] == offered
    assert [search.find_tool(name) is not None
            for name in ("a__one", "a__two")] == [
        name not in offered for name in ("a__one", "a__two")]


def test_a_turn_is_offered_what_was_accepted_and_starts_no_server(
        write_settings, monkeypatch):
    tree = write_settings(TWO)
    accept(tree, "a", "one", "two")
    monkeypatch.setattr("claw.tools.mcp.pool.Server._new", None)
    heard = []

    assert names(tree, notify=heard.append)[-2:] == ["a__one", "a__two"]
    assert names(tree, names=["a__two", "shell"]) == ["shell", "a__two"]
    assert "a__one" not in names(tree, excluded=["a__one"])
    assert heard == ["the tools of the MCP server b are not accepted yet: "
                     "claw mcp accept b"]


def test_servers_can_be_switched_off(write_settings):
    tree = write_settings(TWO + "[mcp]\nenabled = false\n")
    accept(tree, "a", "one")

    assert "a__one" not in names(tree)
    with pytest.raises(ConfigError, match="a__one"):
        names(tree, names=["a__one"])


def test_names_that_meet_are_told_apart(write_settings):
    tree = write_settings(TWO.replace('"b"', '"a__one"'))
    accept(tree, "a", "one__two", "x" * 99)
    accept(tree, "a__one", "two")

    found = [tool.name for tool in
             build_mcp_tools(tree, build_policy(tree, {}))]

    assert found[0] == "a__one__two"
    assert len(set(found)) == 3
    assert all(len(name) <= 64 for name in found)


def test_a_tool_that_fits_no_vendor_leaves_the_others(write_settings):
    tree = write_settings(TWO)
    accepted = find_server(tree, "a").accepted
    found = accepted.load()
    found.note([ListedTool("odd", "", {"type": "array"}),
                ListedTool("good", "", {})], 0, 1.0)
    found.accept()
    accepted.save(found)
    heard = []

    assert names(tree, notify=heard.append)[-1] == "a__good"
    assert heard[0].startswith("a__odd is left out: its arguments")


def test_a_broken_file_leaves_its_server_out(write_settings):
    tree = write_settings(TWO)
    accept(tree, "a", "one")
    accept(tree, "b", "two")
    (tree.places.home / "mcp/a.json").write_text("{")
    heard = []

    assert names(tree, notify=heard.append)[-1] == "b__two"
    assert "the MCP server a is left out" in heard[0]


@pytest.mark.parametrize(("table", "said"), [
    ('name = "a"\ntransport = "sse"\nurl = "http://x/y"', "given up"),
    ('name = "a"', "command is missing"),
    ('name = "a"\ntransport = "http"', "url is missing"),
    ('name = " "\ncommand = "c"', "no name"),
])
def test_a_server_that_cannot_be_used_says_why(write_settings, table, said):
    tree = write_settings(f"[[mcp.servers]]\n{table}\n")
    (settings,) = read_servers(tree)

    with pytest.raises(ConfigError, match=said):
        build_server(tree, settings)


def test_an_unknown_name_lists_those_there_are(write_settings):
    tree = write_settings(TWO)

    with pytest.raises(NotFoundError) as failed:
        find_server(tree, "c")
    assert failed.value.hint == "one of: a, b"


@pytest.mark.parametrize(("folder", "said"), [
    ("{home}", "claw's own settings"), ("/", "claw's own settings"),
    ("{home}/mcp", "claw's own settings"), ("~/nowhere", "there is no"),
])
def test_claws_own_settings_are_granted_to_nobody(write_settings, folder,
                                                  said):
    tree = write_settings(TWO)
    home = tree.places.home
    tree = write_settings(TWO.replace(
        'command = "cat"',
        f'command = "cat"\nfolders = ["{folder.format(home=home)}"]'))

    with pytest.raises(ClawError, match=said):
        asyncio.run(find_server(tree, "a").look())


def test_a_program_that_is_not_there_is_named(write_settings):
    tree = write_settings(TWO.replace("cat", "no-such-program"))

    with pytest.raises(ConfigError, match="no-such-program"):
        asyncio.run(find_server(tree, "a").look())


def test_the_doctor_looks_at_each_server(write_settings):
    tree = write_settings(TWO.replace(
        '"cat"', f'"{shutil.which("false")}"'))
    accept(tree, "a", "say")
    accept(tree, "b", "say")

    first, second = check_servers(tree)

    assert (first.id, first.status) == ("mcp.a", "fail")
    assert "stopped" in first.detail
    assert (second.id, second.status) == ("mcp.b", "fail")
    assert "can't be reached" in second.detail
    assert list(check_servers(write_settings(""))) == []


def test_the_doctor_starts_no_server_that_nobody_accepted(write_settings):
    tree = write_settings(TWO)

    checks = list(check_servers(tree))

    assert [(each.status, each.hint) for each in checks] == [
        ("warn", "claw mcp accept a"), ("warn", "claw mcp accept b")]
    assert all("not accepted yet" in each.detail for each in checks)
    assert not (tree.places.home / "mcp").exists()


def test_the_doctor_starts_no_server_that_became_another(write_settings):
    accept(write_settings(TWO), "a", "say")
    tree = write_settings(TWO.replace(
        '"cat"', f'"{shutil.which("false")}"'))

    first, _ = check_servers(tree)

    assert (first.status, first.hint) == ("warn", "claw mcp accept a")
