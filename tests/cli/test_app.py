"""What every command shares: usage errors, streams, exit codes."""

import os
import subprocess
import sys

import pytest

import claw as claw_package


def test_version_on_stdout(claw):
    done = claw("--version")

    assert done.code == 0
    assert done.out.startswith("claw 0.")
    assert done.err == ""
    assert claw("-V").out == claw("-q", "--version").out == done.out


def test_help_lists_every_command(claw):
    done = claw("--help")

    assert done.code == 0
    for name in ("ask", "agent", "memory", "provider", "tool", "session",
                 "config", "doctor", "completion"):
        assert f"\n  {name}" in done.out


@pytest.mark.parametrize(("arguments", "near"), [
    (["aks"], '"claw ask"'),
    (["memory", "recal"], '"claw memory recall"'),
    (["ask", "--modle", "x"], "--model"),
    (["memory", "recall", "--limt", "3", "tea"], "--limit"),
    (["completion", "bsh"], '"bash"'),
    (["memory", "list", "--jsn"], "did you mean --json?"),
    (["ask", "hi", "--tool", "x"], "did you mean --tools?"),
])
def test_a_misspelt_word_names_the_nearest(claw, arguments, near):
    done = claw(*arguments)

    assert done.code == 2
    assert done.out == ""
    assert near in done.err
    assert "did you mean" in done.err


@pytest.mark.parametrize("arguments", [
    [], ["memory"], ["memory", "recall"], ["memory", "get"],
    ["memory", "recall", "tea", "-n", "many"],
])
def test_wrong_usage_exits_2_with_an_empty_stdout(claw, arguments):
    done = claw(*arguments)

    assert done.code == 2
    assert done.out == ""
    assert done.err


@pytest.mark.parametrize(("arguments", "said"), [
    (["memory", "list", "-n", "x"], "'x' is not a whole number"),
    (["memory", "recall", "a", "--min-score", "x"], "'x' is not a number"),
    (["memory", "recall", "a", "--min-score", "nan"], "not a number: nan"),
    (["ask", "hi", "-t", "nan"], "--temperature: not a number: nan"),
    (["memory", "store", "--category"], "see: claw memory store --help"),
    (["ask", "hi", "-p", ""], "--provider is empty"),
    (["agent", "hi", "-m", " "], "--model is empty"),
    (["ask", "hi", "--session", ""], "--session is empty"),
    (["ask", "hi", "--schema", "/"], "--schema: /: Is a directory (name"),
])
def test_a_wrong_value_is_refused_in_plain_words(claw, arguments, said):
    done = claw(*arguments)

    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize("form", ["--json", "--jsonl"])
@pytest.mark.parametrize("arguments", [
    ["completion", "bash"], ["config", "path"], ["config", "check"],
    ["config", "get", "memory.backend"], ["doctor"],
    ["config", "set", "memory.backend", "none"], ["config", "edit"],
    ["provider", "models", "offline"],
    ["agent", "what is 6 * 7?"], ["memory", "count"],
    ["tool", "run", "memory_recall", '{"query": "tea"}'],
])
def test_a_single_result_is_one_line_of_json(claw, arguments, form):
    done = claw(*arguments, form, env={"EDITOR": "true"})

    assert done.out.count("\n") == 1
    assert isinstance(done.json, dict)


def test_errors_under_json_stand_on_stdout_too(claw):
    done = claw("memory", "recal", "--json")

    assert done.code == 2
    assert done.json["error"]["kind"] == "usage"
    assert "recall" in done.json["error"]["hint"]
    assert "recal" in done.err


@pytest.mark.parametrize("arguments", [
    ["--json", "memory", "count"],
    ["memory", "--json", "count"],
    ["memory", "count", "--json"],
])
def test_global_options_stand_before_and_after_the_command(claw, arguments):
    assert claw(*arguments).json == {"total": 0}


def test_workspace_option_after_the_command(claw, tmp_path):
    claw("memory", "store", "key", "text", "-w", str(tmp_path / "other"))

    assert (tmp_path / "other" / "memory" / "brain.db").exists()
    assert claw("-w", str(tmp_path / "other"), "memory", "count"
                ).out == "1\n"
    assert claw("memory", "count").out == "0\n"


def test_reading_creates_nothing(claw, home):
    for arguments in (["memory", "recall", "tea"], ["memory", "list"],
                      ["memory", "count"], ["memory", "get", "key"],
                      ["config", "path"], ["config", "show"],
                      ["session", "list"], ["doctor"],
                      ["provider", "list"], ["tool", "list"],
                      ["ask", "-p", "offline", "--no-log", "what is 2+2?"]):
        claw(*arguments)

        assert not home.exists(), arguments


def test_a_closed_pipe_ends_quietly(environment):
    for _ in range(3):
        done = subprocess.run(
            f"{sys.executable} -m claw --help | head -1; "
            "echo ${PIPESTATUS[0]}",
            shell=True, executable="/bin/bash", env=environment,
            capture_output=True, text=True, check=True)

        assert done.stdout.split("\n")[-2] == "0"
        assert done.stderr == ""


@pytest.mark.parametrize("arguments", [
    ["--version"], ["completion", "bash"], ["memory", "count"],
    ["memory", "count", "--json"], ["config", "show"],
])
def test_full_disk_on_stdout_exits_74_and_is_said(environment, arguments):
    done = subprocess.run(
        [sys.executable, "-m", "claw", *arguments],
        stdout=os.open("/dev/full", os.O_WRONLY), stderr=subprocess.PIPE,
        env=environment, check=False)

    assert done.returncode == 74
    assert b"no room left" in done.stderr


@pytest.mark.each(("command", "code"), [
    ("memory count", 74), ("--version", 74), ("config path", 74),
    ("memory list", 0),  # nothing to print
])
def test_a_closed_stdout_fails_where_there_is_a_result(environment, command,
                                                       code):
    done = subprocess.run(
        f"{sys.executable} -m claw {command} <&- >&- 2>&-; echo $?",
        shell=True, executable="/bin/bash", env=environment,
        capture_output=True, text=True, check=True)

    assert done.stdout == f"{code}\n"


def test_the_package_shows_its_interface():
    assert dir(claw_package) == [
        "__version__", "acts", "ask", "asks", "open_memory", "reads"]


def test_an_unknown_variable_is_named(claw):
    done = claw("config", "check", env={"CLAW_NOSUCH__KEY": "1"})

    assert "CLAW_NOSUCH__KEY" in done.err
    assert "CLAW_NOSUCH__KEY" in claw(
        "config", "show", env={"CLAW_NOSUCH__KEY": "1"}).err


@pytest.mark.parametrize("locale", ["C", "POSIX", "ko_KR.EUC-KR", "xx"])
def test_any_language_on_any_locale(claw_process, locale):
    words = "초록 차 绿茶 緑茶 🍵 שלום"
    env = {"LC_ALL": locale}
    stored = claw_process("memory", "store", "차", words, env=env)
    found = claw_process("memory", "get", "차", "--json", env=env)

    assert stored.code == 0
    assert found.json["content"] == words


def test_an_argument_that_is_no_utf8_is_taken(claw):
    done = claw("memory", "store", b"key", b"caf\xe9")

    assert done.code == 0
    kept = claw("memory", "get", "key", "--json").json
    assert kept["content"] == "caf\ufffd"


def test_quiet_silences_notes_but_not_errors(claw):
    assert "no model" in claw("ask", "2+2").err
    assert claw("-q", "ask", "2+2").err == ""
    assert claw("-q", "ask", "hello", "-p", "nonesuch").err != ""


def test_a_named_workspace_that_is_not_there_is_told(claw, tmp_path):
    done = claw("-w", "typo", "memory", "list")
    stored = claw("-w", "new", "memory", "store", "a", "b")

    assert (done.code, done.out) == (0, "")
    assert f"there is no workspace {tmp_path / 'typo'}" in done.err
    assert "there is no workspace" not in stored.err
    assert "there is no workspace" not in claw("memory", "list").err


def test_a_workspace_that_is_a_file_is_refused(claw, tmp_path):
    (tmp_path / "file").write_text("precious")

    for arguments in (["memory", "count"], ["memory", "store", "a", "b"],
                      ["ask", "-p", "offline", "hi"]):
        done = claw("-w", "file", *arguments)

        assert done.code == 3
        assert done.out == ""
        assert "is not a folder" in done.err
    assert (tmp_path / "file").read_text() == "precious"
