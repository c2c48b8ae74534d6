"""What other packages bring: broken ones are named and left out."""

import pytest

from claw.testing.fake_openai import FakeOpenAI


@pytest.fixture
def package(environment, tmp_path):
    """package(group, source): a package with one plug-in `theirs`."""
    folder = tmp_path / "packages"

    def make(group, source):
        info = folder / "theirs_kit-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Name: theirs-kit\nVersion: 1\n")
        (info / "entry_points.txt").write_text(
            f"[{group}]\ntheirs = theirs_kit:Theirs\n")
        (folder / "theirs_kit.py").write_text(source)
    environment["PYTHONPATH"] = str(folder)
    return make


NO_SUCH_MODULE = "import no_such_module\n"
NO_CLASS = "x = 1\n"
NO_NAME = """
from claw.core.tool import Tool
class Theirs(Tool):
    description = "no name"
    def parameters_schema(self):
        return {}
    async def execute(self, args):
        pass
"""
RAISES = """
class Theirs:
    def __init__(self, deps):
        raise KeyError("x")
"""


@pytest.mark.parametrize("source", [
    NO_SUCH_MODULE, NO_CLASS, NO_NAME, RAISES, "1/0\n", "def ("])
def test_a_broken_tool_is_named_and_the_others_are_listed(
        claw_process, package, source):
    package("claw.tools", source)

    listed = claw_process("tool", "list")
    named = claw_process("tool", "run", "theirs", "{}")

    assert listed.code == 0
    assert "file_read\t" in listed.out
    assert "theirs" not in listed.out
    assert "tool 'theirs' of another package is broken" in listed.err
    assert named.code == 3
    assert "fault of claw" not in named.err + listed.err


WORKS = """
from claw.core.tool import Tool, ToolResult
class Theirs(Tool):
    name = "sunshine"
    description = "Tell the weather."
    def __init__(self, deps):
        pass
    def parameters_schema(self):
        return {"type": "object", "properties": {}}
    async def execute(self, args):
        return ToolResult(output="sunny")
"""


def ask_for_tools(claw_process, *command):
    """The names that a model is offered, and what stderr says."""
    with FakeOpenAI(["ok"]) as server:
        done = claw_process(*command, "-p", f"custom:{server.url}", "-m",
                            "m", "hello")
    offered = server.chats[0].body.get("tools", [])
    return [tool["function"]["name"] for tool in offered], done.err


def test_a_tool_of_an_installed_package_is_offered_by_itself(
        claw_process, package):
    package("claw.tools", WORKS)

    assert "sunshine\t" in claw_process("tool", "list").out
    names, _ = ask_for_tools(claw_process, "agent")
    assert "shell" in names
    assert "sunshine" in names
    assert ask_for_tools(claw_process, "ask")[0] == []


def test_a_setting_leaves_it_out_and_a_command_still_names_it(
        claw_process, package):
    package("claw.tools", WORKS)
    claw_process("config", "set", "agent.excluded_tools",
                 '["theirs", "shell"]')

    listed = claw_process("tool", "list").out
    names = [line.partition("\t")[0] for line in listed.splitlines()]
    assert not {"sunshine", "shell"} & set(names)
    names, _ = ask_for_tools(claw_process, "agent")
    assert "file_read" in names
    assert not {"sunshine", "shell"} & set(names)
    assert ask_for_tools(claw_process, "agent", "--tools", "theirs")[0] == [
        "sunshine"]


@pytest.mark.parametrize(("source", "says"), [
    (RAISES, "is broken: KeyError"),
    (WORKS.replace("sunshine", "shell"), "calls itself 'shell'")])
def test_the_agent_goes_on_without_a_broken_tool(
        claw_process, package, source, says):
    package("claw.tools", source)
    names, said = ask_for_tools(claw_process, "agent")

    assert names.count("shell") == 1
    assert says in said


def test_doctor_shows_what_is_broken_and_what_is_not(claw_process, package):
    package("claw.hooks", NO_SUCH_MODULE)
    found = {check["id"]: check for check in claw_process(
        "doctor", "--json").json["checks"]}["plug_ins.theirs"]

    assert found["status"] == "fail"
    assert "no_such_module" in found["detail"]
    assert found["hint"] == "update or remove the package theirs-kit"


def test_doctor_lists_a_plug_in_that_loads(claw_process, package):
    package("claw.hooks", "class Theirs: pass\n")
    found = {check["id"]: check for check in claw_process(
        "doctor", "--json").json["checks"]}["plug_ins.theirs"]

    assert (found["status"], found["detail"]) == (
        "ok", "hook 'theirs' can be loaded")


@pytest.mark.parametrize(("line", "code"), [("reads = True", 0), ("", 6)])
def test_a_tool_that_only_reads_runs_unasked(claw_process, package, line,
                                             code):
    package("claw.tools", WORKS.replace(
        'name = "sunshine"', f'name = "forecast"\n    {line}'))

    assert claw_process("tool", "run", "theirs", "{}").code == code
    assert claw_process("tool", "run", "theirs", "{}", env={
        "CLAW_AUTONOMY__ALWAYS_ASK": '["forecast"]'}).code == 6


CHANNEL = """
import msgspec
from claw.core.channel import Channel
class LmsSettings(msgspec.Struct, frozen=True):
    url: str = ""
class Theirs(Channel):
    name = "theirs"
    Settings = LmsSettings
    def __init__(self, settings, deps):
        pass
    async def send(self, message):
        pass
    async def listen(self, inbox):
        pass
"""


def test_settings_of_a_channel_of_another_package_warn_of_nothing(
        claw_process, package):
    package("claw.channels", CHANNEL)
    claw_process("config", "set", "channels_config.theirs.url", "x")

    for command in (["config", "check"], ["channel", "list"]):
        assert claw_process(*command).err == "", command


@pytest.mark.parametrize("source", [CHANNEL, CHANNEL.replace(
    "    Settings = LmsSettings\n", "").replace("settings, deps", "*_")])
def test_a_channel_of_a_package_that_is_named_needs_no_table(
        claw_process, package, source):
    package("claw.channels", source)

    for command in (["channel", "doctor", "theirs"],
                    ["send", "theirs:x", "hello"],
                    ["channel", "setup", "theirs"],
                    ["listen", "--channel", "theirs", "--check"]):
        done = claw_process(*command)
        assert done.code == 0, (command, done.out, done.err)
    assert "theirs\t-\t" in claw_process("channel", "setup").out


def test_the_doctor_names_the_owners_files_that_do_not_work(claw, home):
    (home / "tools").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    for name, source in (("good", 'def wave(): """Wave."""\n'),
                         ("bad", "1/0\n")):
        (home / "tools" / f"{name}.py").write_text(source)
        (home / "tools" / f"{name}.py").chmod(0o600)

    checked = {check["id"]: check
               for check in claw("doctor", "--json").json["checks"]}

    assert checked["plug_ins.files"]["detail"].endswith(": wave")
    assert "bad.py:1" in checked["plug_ins.file_1"]["detail"]
    assert checked["plug_ins.file_1"]["status"] == "fail"


POSES = WORKS.replace('name = "sunshine"', 'name = "calculator"')


def test_a_tool_of_a_package_took_the_place_of_one_on_the_shelf(
        claw_process, package):
    package("claw.tools", POSES)

    listed = claw_process("tool", "list")

    assert listed.out.count("calculator\t") == 1
    assert "Calculate exactly" in listed.out
    assert listed.err.count("calls itself 'calculator'") == 1


def test_a_package_that_brings_a_built_in_name_is_told_of(
        claw_process, package, tmp_path):
    package("claw.tools", WORKS)
    points = tmp_path / "packages/theirs_kit-1.dist-info/entry_points.txt"
    points.write_text(points.read_text().replace("theirs =", "calculator ="))

    listed = claw_process("tool", "list")

    assert "Calculate exactly" in listed.out
    assert listed.err.count("the tool 'calculator' of another package is "
                            "left out") == 1
