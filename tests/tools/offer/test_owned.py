"""Tools in Python files of the owner's."""

import os
import py_compile

import pytest

from claw.core.errors import ConfigError
from claw.core.registry import PlugInError
from claw.tools.offer.assemble import all_tools

GOOD = '''
import claw

@claw.reads
def look(place: str) -> str:
    """Look at a place."""
    print("looking")
    return _name(place)

def _name(place: str) -> str:
    """Helpers start with an underscore."""
    return place.upper()

def helper(place):
    return place
'''
CLASS = '''
from claw.core.tool import Tool, ToolResult, closed_object

class Wave(Tool):
    name = "wave"
    description = "Wave."

    def __init__(self, deps):
        self.workspace = deps.workspace

    def parameters_schema(self):
        return closed_object()

    async def execute(self, args):
        return ToolResult(output=self.workspace.name)
'''


@pytest.fixture
def folder(tmp_path):
    """folder(name=source): ~/.claw/tools with these files."""
    place = tmp_path / "tools"
    place.mkdir(mode=0o700)

    def write(**files):
        for name, source in files.items():
            (place / f"{name}.py").write_bytes(
                source if isinstance(source, bytes) else source.encode())
            (place / f"{name}.py").chmod(0o600)
        return place
    return write


def names(tools):
    return [tool.name for tool in tools]


def test_functions_and_classes_are_offered_without_being_named(room, folder):
    owned = folder(good=GOOD, wave=CLASS)
    tools = all_tools(room.deps(), owned=owned)

    assert names(tools)[-2:] == ["look", "wave"]
    assert room.call(tools[-1]).output == "ws"
    assert "look" not in names(all_tools(
        room.deps(), owned=owned, excluded=["look"]))


def test_what_a_tool_prints_goes_to_stderr(room, folder, capsys):
    (tool,) = all_tools(room.deps(), ["look"], owned=folder(good=GOOD))

    assert room.call(tool, place="harbour").output == "HARBOUR"
    assert capsys.readouterr() == ("", "looking\n")


def test_files_are_not_run_for_built_in_tools(room, folder):
    owned = folder(broken="1/0")

    assert names(all_tools(room.deps(), ["shell"], owned=owned)) == ["shell"]


@pytest.mark.parametrize(("source", "said"), [
    ("x = 1\n1/0\n", "bad.py:2: ZeroDivisionError"),
    ("def f(:\n", "bad.py:1: SyntaxError"),
    ("import sys; sys.exit(3)\n", "SystemExit"),
    ("import no_such_module\n", "no_such_module"),
    (b"\xff\xfe", "bad.py"), ("", "holds no tool"),
    ('def f(x):\n    """Doc."""\n', "the parameter x has no type"),
    ('def shell(x: int):\n    """Doc."""\n', "already"),
    ('def other(x: int):\n    """Doc."""\n'
     'from claw.core.tool import Tool\n'
     'class Other(Tool):\n    def __init__(self, deps):\n        1/0\n'
     '    def execute(self, args): ...\n'
     '    def parameters_schema(self): ...\n    name = description = "o"\n',
     "bad.py:6: ZeroDivisionError"),
])
def test_a_broken_file_is_named_and_the_others_are_used(
        room, folder, source, said):
    owned = folder(bad=source, good=GOOD)
    heard = []

    tools = all_tools(room.deps(), notify=heard.append, owned=owned)

    assert names(tools)[-1] == "look"
    assert said in heard[0]
    assert len(heard) == 1
    assert names(all_tools(room.deps(), ["look"], owned=owned)) == ["look"]
    with pytest.raises(PlugInError, match="bad"):
        all_tools(room.deps(), ["nothing"], owned=owned)


def test_a_misspelt_name_was_not_compared_with_ones_own(room, folder):
    owned = folder(good=GOOD)

    with pytest.raises(ConfigError, match="unknown tool") as near:
        all_tools(room.deps(), ["lok"], owned=owned)
    with pytest.raises(ConfigError, match="unknown tool") as far:
        all_tools(room.deps(), ["zebra"], owned=owned)

    assert near.value.hint == 'did you mean "look"?'
    assert str(far.value.hint).startswith("claw tool list shows")


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_write_is_not_run(room, folder, mode):
    owned = folder(good=GOOD)
    (owned / "good.py").chmod(mode)
    heard = []

    tools = all_tools(room.deps(), notify=heard.append, owned=owned)

    assert "look" not in names(tools)
    assert "chmod go-w" in heard[0]


def test_a_folder_that_others_may_write_is_not_used(room, folder):
    owned = folder(good=GOOD)
    owned.chmod(0o777)
    heard = []

    all_tools(room.deps(), notify=heard.append, owned=owned)

    assert "can be written by others" in heard[0]


def test_a_link_into_the_workspace_is_not_run(room, folder):
    owned = folder()
    (room.workspace / "planted.py").write_text(GOOD)
    os.symlink(room.workspace / "planted.py", owned / "planted.py")
    heard = []

    tools = all_tools(room.deps(), notify=heard.append, owned=owned)

    assert "look" not in names(tools)
    assert "where tools may write" in heard[0]


@pytest.mark.parametrize("part", ["", "tools"])
def test_a_file_in_an_allowed_root_is_not_run(room, folder, part):
    owned = folder(good=GOOD)
    deps = room.deps(allowed_roots=[str(owned.parent / part)])
    heard = []

    tools = all_tools(deps, notify=heard.append, owned=owned)

    assert "look" not in names(tools)
    assert "allowed_roots" in heard[0]


def test_a_link_that_the_agent_may_turn_is_not_followed(
        room, folder):
    linked = room.workspace / "tools"
    linked.mkdir(mode=0o700)
    os.symlink(folder(good=GOOD) / "good.py", linked / "good.py")
    heard = []

    tools = all_tools(room.deps(), notify=heard.append, owned=linked)

    assert "look" not in names(tools)
    assert "where tools may write" in heard[0]


def test_compiled_code_that_others_left_is_not_run(room, folder):
    owned = folder(good=GOOD)
    source = owned / "good.py"
    for text in (GOOD.replace("upper", "lower"), GOOD):  # of one size
        source.write_text(text)
        os.utime(source, (1_700_000_000, 1_700_000_000))
        if "lower" in text:
            py_compile.compile(str(source))
    (tool,) = all_tools(room.deps(), ["look"], owned=owned)

    assert room.call(tool, place="harbour").output == "HARBOUR"


def test_a_folder_of_tools_that_an_mcp_server_may_write_was_used(
        room, folder, tmp_path):
    granted = folder(good=GOOD)
    (tmp_path / "claw").mkdir(mode=0o700)
    (tmp_path / "claw/tools").symlink_to(granted)
    deps = room.deps()
    deps.policy.granted = (granted,)

    with pytest.raises(PlugInError, match="where tools may write") as error:
        all_tools(deps, owned=tmp_path / "claw/tools")
    assert "mcp.servers" in error.value.hint


@pytest.mark.parametrize(("mode", "why"), [
    (0o770, "can be written by others"), (0o1777, None), (0o755, None)])
@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_above_the_tools_that_others_may_write_went_unseen(
        room, tmp_path, mode, why, linked):
    """They could put another folder in its place."""
    place = tmp_path / "shared/mine/tools"
    place.mkdir(parents=True, mode=0o700)
    place.parent.chmod(0o700)
    place.parent.parent.chmod(mode)
    (place / "good.py").write_text(GOOD)
    (place / "good.py").chmod(0o600)
    if linked:
        (tmp_path / "tools").symlink_to(place)
        place = tmp_path / "tools"

    if why is None:
        assert "look" in names(all_tools(room.deps(), owned=place))
        return
    with pytest.raises(PlugInError, match=why):
        all_tools(room.deps(), owned=place)
