"""Which tools are put together."""

import pytest

from claw.core.errors import ConfigError
from claw.core.value import replace
from claw.tools import REGISTRY
from claw.tools.assemble import all_tools, default_tools
from claw.tools.settings import ShellToolSettings


def names(tools):
    return [t.name for t in tools]


def test_the_minimal_set(room):
    assert names(default_tools(room.deps())) == [
        "shell", "file_read", "file_write"]


def test_all_tools_follow_the_table(room):
    whole = replace(room.deps(memory=object()), agents={"coder": object()},
                    send=object(), asks=object())
    assert names(all_tools(whole)) == REGISTRY.names()
    without = names(all_tools(room.deps()))
    assert without == [name for name in REGISTRY.names()
                       if not name.startswith("memory_")
                       and name not in ("ask_user", "delegate", "message")]
    assert without[:4] == ["shell", "file_read", "file_write", "file_edit"]


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
