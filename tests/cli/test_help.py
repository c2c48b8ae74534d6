"""Help pages, claw help, claw version and what people type first."""

import pytest

from claw.cli.docs.catalog import catalog

POINTER = "claw help options"


@pytest.mark.parametrize("command", [
    (), ("ask",), ("memory",), ("memory", "recall")])
def test_three_ways_to_one_page(claw, command):
    pages = {claw(*command, "-h").out, claw(*command, "--help").out,
             claw("help", *command).out}

    assert len(pages) == 1
    assert POINTER in (page := pages.pop())
    assert "--show-secrets" not in page


def test_the_options_of_every_command_have_a_page(claw):
    page = claw("help", "options").out

    for name in ("--config-dir", "--workspace", "--json", "-h, --help"):
        assert name in page


def test_a_command_that_is_not_there_is_named(claw):
    done = claw("help", "memory", "recal")

    assert (done.code, done.out) == (2, "")
    assert 'did you mean "claw memory recall"?' in done.err


def test_no_page_lists_more_than_a_dozen_options_in_one_group(claw):
    for command in catalog():
        page = claw("help", *command.name.split()).out
        options = page.partition("\nOptions:\n")[2].partition("\n\n")[0]
        rows = [row for row in options.splitlines()
                if row.startswith("  -")]
        assert len(rows) <= 12, command.full_name


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_page_is_as_wide_as_the_terminal(claw, columns):
    page = claw("help", "ask", env={"COLUMNS": str(columns)}).out
    lines = page.partition("\nExamples:")[0].splitlines()

    assert max(map(len, lines)) <= columns
    assert max(map(len, lines)) > min(columns, 120) * 0.6


def test_defaults_and_bounds_are_in_words(claw):
    page = claw("memory", "recall", "-h").out

    assert "[default: 5; at least 1]" in page
    assert "x>=" not in page
    assert "<=x<=" not in page


def test_version_is_that_of_the_flag(claw):
    assert claw("version").out == claw("--version").out
    assert set(claw("version", "--json").json) == {"version", "python"}


@pytest.mark.parametrize(("typed", "meant"), [
    ("search", "claw memory recall"),
    ("log find", "claw log search"),
    ("memory search", "claw memory recall"),
    ("add", "claw memory store"),
    ("memory rm", "claw memory forget"),
    ("memory show", "claw memory get"),
    ("memory delete", "claw memory forget"),
    ("session rm", "claw session clear"),
    ("ls", "claw memory list"),
    ("chat", "claw agent"),
    ("run", "claw ask"),
    ("recall", "claw memory recall"),
    ("memory help", "claw help memory"),
    ("shell", "claw do"),
    ("aliases", "claw model alias"),
    ("models", "claw model list"),
    ("similar", "claw memory recall"),
])
def test_the_words_of_other_tools_are_answered(claw, typed, meant):
    done = claw(*typed.split())

    assert done.code == 2
    assert f'did you mean "{meant}"' in done.err


@pytest.mark.parametrize(("line", "meant"), [
    (["ask", "hi", "--system-prompt", "x"], "--system"),
    (["memory", "recall", "x", "--top", "3"], "--limit"),
    (["ask", "hi", "--image", "x.png"], "--file"),
    (["tool", "list", "--silent"], "--quiet"),
    (["log", "list", "--n", "3"], "-n"),
    (["ask", "hi", "--sys", "x"], "--system"),
    (["ask", "hi", "-n"], "--no-log"),
    (["--list-models"], '"claw model list"'),
])
def test_the_options_of_other_tools_are_answered(claw, line, meant):
    done = claw(*line)

    assert done.code == 2
    assert f"did you mean {meant}?" in done.err


@pytest.mark.parametrize("line", [
    ["plugins"], ["fragmenta"], ["openai"],
    ["ask", "hi", "--async"], ["ask", "hi", "--xyz"],
    ["memory", "get", "k", "-n", "3"]])
def test_what_is_like_nothing_is_answered_with_the_page(claw, line):
    done = claw(*line)

    assert done.code == 2
    assert "did you mean" not in done.err
    assert "--help" in done.err


@pytest.mark.parametrize(("line", "said"), [
    (["ask", "-s"], "-s needs a value: -s TEXT"),
    (["ask", "--schema"], "--schema needs a value: --schema FILE|JSON"),
    (["memory", "recall"], "missing argument QUERY (for example: claw"),
    (["ask", "hi", "-t", "brief"], "(a template is named with -T)"),
    (["ask", "hi", "-p", "lang=de"], "(a value for a template is -P lang=de)"),
    (["-m", "gpt-5", "hi"], "(name a command first, as in: claw ask -m ...)"),
    (["what is 6 * 7?"], '(to ask that: claw ask "what is 6 * 7?")'),
])
def test_an_error_says_which_value_is_meant(claw, line, said):
    done = claw(*line)

    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_no_hint_has_brackets_in_brackets(claw):
    done = claw("ask", "who was first?")

    assert done.code == 3
    assert "((" not in done.err
    assert done.err.count("(") == 1
