"""One rule for all lists, and one for what is not there.

A list ends with 0, empty or not, and in a pipe is one line a row, cells
apart by tabs, without a heading. A thing of the owner's that is not there is
a negative answer (1); a name or file that can't be right is wrong usage (2)
where it was typed, and a fault of the settings (3) where these say it.
"""

import json

import pytest

OWN = [
    ("template", "show", "x"), ("template", "rm", "x"),
    ("ask", "-T", "x", "hi"), ("log", "show", "x"), ("log", "rm", "x"),
    ("why", "x"), ("session", "show", "x"), ("session", "clear", "x"),
    ("session", "export", "x"), ("memory", "get", "x"),
    ("memory", "forget", "x"), ("memory", "pin", "x"),
    ("memory", "history", "x"), ("memory", "undo", "x"),
    ("model", "alias", "x"), ("permission", "revoke", "x"),
    ("mcp", "test", "x"), ("mcp", "accept", "x"), ("queue", "retry", "7"),
    ("security", "review", "x"), ("memory", "index", "--remove", "x"),
]
TYPED = [
    ("x",), ("help", "x"), ("ask", "--x", "hi"), ("ask", "-p", "x", "hi"),
    ("ask", "-px", "hi"), ("ask", "--provider=x", "hi"),
    ("ask", "--tools", "file_read,x", "hi"), ("ask", "-f", "x", "hi"),
    ("ask", "--schema", "x.json", "hi"), ("agent", "-p", "x", "hi"),
    ("agent", "--tools", "x", "hi"), ("do", "-p", "x", "hi"),
    ("map", "-p", "x", "hi"), ("provider", "test", "x"),
    ("provider", "models", "x"), ("model", "list", "-p", "x"),
    ("channel", "doctor", "x"), ("listen", "--channel", "x"),
    ("listen", "--channel", "x", "--check"), ("send", "x:1", "hi"),
    ("tool", "run", "x", "{}"), ("config", "get", "x"),
    ("config", "set", "x", "1"), ("config", "unset", "x"),
    ("config", "path", "x"), ("memory", "import", "x"),
    ("memory", "hydrate", "x"), ("memory", "index", "x"),
    ("memory", "model", "x"),
]
SETTINGS = [
    ('default_provider = "x"', ("ask", "hi")),
    ('default_provider = "x"', ("agent", "hi")),
    ('[channels_config.telegram]\nbot_token = "123456:abc"\n',
     ("send", "webhook:1", "hi")),
    ("", ("send", "telegram:1", "hi")),
    ("", ("channel", "doctor", "telegram")),
    ('[memory]\nbackend = "x"', ("memory", "list")),
]


@pytest.mark.parametrize(("code", "arguments"), [
    *((1, each) for each in OWN), *((2, each) for each in TYPED)])
def test_the_same_mistake_ended_with_different_codes(claw, code, arguments):
    done = claw(*arguments, stdin="")

    assert (done.code, done.out) == (code, ""), done.err
    assert "fault of claw" not in done.err


@pytest.mark.parametrize(("settings", "arguments"), SETTINGS)
def test_a_wrong_name_in_the_settings_is_theirs(claw, home, settings,
                                                arguments):
    home.mkdir()
    (home / "config.toml").write_text(settings)

    done = claw(*arguments, stdin="")

    assert done.code == 3, done.err


LISTS = ["memory list", "memory conflicts", "memory index --list",
         "session list", "log list", "template list", "queue list",
         "permission list", "mcp list", "channel list", "provider list",
         "provider list --all", "tool list", "model list", "model alias",
         "security review"]


@pytest.mark.parametrize("command", LISTS)
@pytest.mark.parametrize("shape", [[], ["--json"], ["--jsonl"]])
def test_an_empty_list_ends_with_0(claw, command, shape):
    done = claw(*command.split(), *shape)

    assert done.code == 0, done.err
    if not done.out:
        assert done.err or shape, "nothing says that it is empty"
    if "--json" in shape:
        assert isinstance(json.loads(done.out), dict)


@pytest.mark.parametrize(("command", "rows"), [
    ("memory list", ["tea\tcore\tI like green tea"]),
    ("session list", ["\t2\ts1\twhat tea"]),
    ("log list", ["\task/s1\twhat tea"]),
    ("permission list", ["\tfile_read path=*\t"]),
    ("mcp list", ["time\tstdio\tnothing accepted yet\tcat"]),
    ("model alias", ["fast\tgpt-4o"]),
    ("channel list", ["cli\tset up", "telegram\t-"]),
    ("template list", ["commit\tclaw's\t"]),
    ("tool list", ["shell\tRun a shell"]),
    ("provider list", ["offline\t-\tno key needed\t"]),
])
def test_a_list_in_a_pipe_is_tabs_without_a_heading(claw, command, rows):
    claw("memory", "store", "tea", "I like green tea")
    claw("ask", "what tea do I like", "--session", "s1")
    claw("permission", "allow", "file_read", "path=*")
    claw("mcp", "add", "time", "--", "cat")
    claw("model", "alias", "fast", "gpt-4o")

    lines = claw(*command.split()).out.splitlines()

    assert len(lines) >= len(rows)
    for row, line in zip(rows, lines, strict=False):
        assert row in line
    assert all("\t" in line for line in lines)
    assert not any(cell != cell.strip() for line in lines
                   for cell in line.split("\t"))


def test_model_list_named_models_of_providers_that_are_not_set_up(
        claw, home):
    state = home / "workspace/state"
    state.mkdir(parents=True)
    home.chmod(0o700)
    found = claw("model", "list", env={"GROQ_API_KEY": "gsk_x"})

    assert {line.partition("\t")[0] for line in found.out.splitlines()} == {
        "groq"}


def test_a_dry_run_without_a_model_showed_rules_for_tools_it_has_not(claw):
    done = claw("ask", "-s", "be nice", "--dry-run", "hi")

    assert [each["content"] for each in done.json["messages"]] == [
        "be nice", "hi"]
    assert "tools" not in done.json


def test_an_address_is_no_folder_to_be_indexed(claw):
    done = claw("memory", "index", "https://example.com/a")

    assert done.code == 2
    assert "https://example.com/a is an address" in done.err
