"""Which tools are put together."""

from types import SimpleNamespace

import pytest

from claw.core.errors import ConfigError
from claw.core.value import replace
from claw.tools import OFFERED, REGISTRY
from claw.tools.offer.assemble import all_tools, default_tools
from claw.tools.settings import ShellToolSettings


def names(tools):
    return [t.name for t in tools]


def test_the_minimal_set(room):
    assert names(default_tools(room.deps())) == [
        "shell", "file_read", "file_write"]


def test_what_stands_in_every_prompt(room):
    whole = replace(room.deps(memory=object()), agents={"coder": object()},
                    skills=SimpleNamespace(
                        catalog=SimpleNamespace(offered=list)))
    assert names(all_tools(whole)) == list(OFFERED)
    assert names(all_tools(room.deps())) == [
        name for name in OFFERED
        if not name.startswith("memory_") and name not in (
            "delegate", "read_skill", "run_skill")]
    assert "glob_search" in names(all_tools(room.deps(),
                                            offered=["glob_search"]))


def test_the_others_are_found(room):
    *_, search = all_tools(room.deps(), excluded=["git_operations"])

    assert set(search.shelf.names) == {
        name for name in {*REGISTRY.names()} - {*OFFERED}
        if not name.startswith(("memory_", "cron_", "schedule"))
    } - {"git_operations", "ask_user", "message", "delegate", "swarm",
         "llm_task", "poll", "reaction"}


def test_tools_by_name_in_the_order_asked(room):
    assert names(all_tools(room.deps(), ["memory_store", "shell", "shell"])
                 ) == ["memory_store", "shell"]


def test_an_unknown_name_suggests_the_nearest(room):
    with pytest.raises(ConfigError) as caught:
        all_tools(room.deps(), ["file_raed"])
    assert caught.value.hint == 'did you mean "file_read"?'


def test_settings_reach_their_tool(room):
    (shell,) = all_tools(room.deps(), ["shell"], {
        "shell": ShellToolSettings(timeout_secs=1)})

    result = room.call(shell, approved=True,
                       command="python3 -c 'import time; time.sleep(20)'")

    assert "after 1s" in result.error


@pytest.mark.parametrize(("asked", "found"), [
    (["tool_search"], True), (["file_read", "tool_search"], False)])
def test_tool_search_among_named_tools_found_every_other(room, asked, found):
    *_, search = all_tools(room.deps(), asked)

    assert ("calculator" in search.shelf.names) is found
    assert bool(search.shelf.names) is found
