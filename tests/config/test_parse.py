"""A config.toml that cannot be read names the place and the fix."""

import os
import re

import pytest

from claw.config.edit import set_value, unset_value
from claw.config.parse import parse
from claw.config.tree import load
from claw.core.errors import ConfigError


@pytest.mark.parametrize(("text", "line", "hint"), [
    ('a = 1\n[memory]\nbackend = sqlite\n', 3, "needs quotes"),
    ('[memory]\nbackend = "sqlite\n', 2, "quote that opens"),
    ('[memory]\nbackend = "sqlite', 2, "quote that opens"),
    ('[memory\nbackend = 1\n', 1, "same brackets"),
    ('backend\n', 1, "key = value"),
    ('a = 1\na = 2\n', 2, "twice"),
    ('[a]\n[b]\n[a]\n', 3, "twice"),
    ('a = [1, 2\nb = 3\n', 2, "close the list"),
    ('a = [', 1, "close the list"),
    ('a = [\n[b]\n', 2, "is a list above closed with ]?"),
    ('a = {x = 1\n}\n', 1, "on one line"),
    ('a = "C:\\path"\n', 1, "double the backslash"),
    ('a = True\n', 1, "lower-case"),
    ('a = 1 2\n', 1, "one key = value a line"),
    ('a = "\x00"\n', 1, "invisible"),
    ('= 1\n', 1, "one key = value"),
    ('a = 1\r\nb = x\r\n', 2, "quotes"),
    ('[a]\nb = """\nnever ends', 3, "close the text"),
])
def test_broken_syntax_names_line_column_and_fix(write, text, line, hint):
    places = write(text)

    with pytest.raises(ConfigError) as caught:
        load(places, {})

    found = re.match(r"(.*):(\d+):(\d+): [a-z]", caught.value.message)
    assert found
    assert (found[1], int(found[2])) == (str(places.config_file), line)
    assert int(found[3]) <= len(text.split("\n")[line - 1]) + 1
    assert hint in caught.value.hint
    with pytest.raises(ConfigError) as caught_again:
        unset_value(places, ("b",))
    assert caught_again.value.hint == caught.value.hint
    assert caught.value.hint.endswith(
        "; do it with: claw config edit; or take the last change back: claw "
        "config undo")


def test_the_column_is_where_the_value_starts(write):
    with pytest.raises(ConfigError, match=r"config\.toml:2:11: invalid"):
        load(write("[memory]\nbackend = sqlite\n"), {})


def test_a_table_twice_is_named_as_in_the_file(write):
    with pytest.raises(ConfigError, match=r"\[a\.b\] twice"):
        load(write("[a.b]\n[a.b]\n"), {})


@pytest.mark.parametrize(("data", "place"), [
    (b'a = 1\nb = "\xff"\n', ":2:6: byte 0xff"),
    (b'\xef\xbb\xbfa = "\xed\xa0\x80"', ":1:6: byte 0xed"),
    ('a = "한국어'.encode() + b'\xc3"', ":1:9: byte 0xc3"),
    (b'\xff\xfea\x00', ":1:1: the file is UTF-16"),
])
def test_bytes_that_are_no_utf8(write, data, place):
    with pytest.raises(ConfigError) as caught:
        load(write(data), {})

    assert place in caught.value.message
    assert "UTF-8" in caught.value.hint


def test_byte_order_mark_and_crlf_are_fine(tree_of):
    tree = tree_of(b'\xef\xbb\xbfdefault_model = "a"\r\n[memory]\r\n'
                   b'backend = "none"\r\n')

    assert tree.get("default_model") == "a"
    assert tree.get("memory.backend") == "none"
    assert tree.line("memory.backend") == 3


def test_nesting_without_end(write):
    with pytest.raises(ConfigError, match="nested too deeply"):
        load(write("a = " + "[" * 100_000), {})


def test_an_endless_number(write):
    with pytest.raises(ConfigError):
        load(write("a = " + "9" * 10_000), {})


def test_a_folder_in_the_files_place(places):
    places.config_file.mkdir(parents=True)

    with pytest.raises(ConfigError, match=r"not a regular file|directory"):
        load(places, {})


def test_a_named_pipe_in_the_files_place_does_not_hang(places):
    places.home.mkdir()
    os.mkfifo(places.config_file)

    with pytest.raises(ConfigError, match="not a regular file"):
        load(places, {})


def test_a_dangling_link(places):
    places.home.mkdir()
    places.config_file.symlink_to("nowhere")

    with pytest.raises(ConfigError, match="cannot be read"):
        load(places, {})


def test_a_file_in_the_homes_place(places):
    places.home.write_text("")

    with pytest.raises(ConfigError):
        load(places, {})


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_an_unreadable_file(write):
    places = write("a = 1")
    places.config_file.chmod(0)

    with pytest.raises(ConfigError, match="Permission denied"):
        load(places, {})


def test_an_empty_file(tree_of):
    assert tree_of("").raw == {}


def test_changing_settings_does_not_wait_for_a_pipe(write):
    places = write("")
    places.config_file.unlink()
    os.mkfifo(places.config_file)

    with pytest.raises(ConfigError, match="not a regular file"):
        set_value(places, ("memory", "backend"), "none", lambda *_: None)


def test_a_file_that_holds_more_than_settings_is_refused_at_once(write):
    places = write("a = 1\n" + "# x\n" * (1 << 18))

    with pytest.raises(ConfigError, match="more than 1 MiB"):
        load(places, {})
    with pytest.raises(ConfigError, match="more than 1 MiB"):
        set_value(places, ("memory", "backend"), "none", lambda *_: None)


@pytest.mark.parametrize(("length", "shown"), [(200, 200), (201, 200)])
def test_a_long_reason_is_cut(monkeypatch, length, shown):
    def fail(_):
        raise ValueError("x" * length + " (at line 2, column 3)")
    monkeypatch.setattr("tomllib.loads", fail)
    with pytest.raises(ConfigError) as caught:
        parse("", "name")
    reason = caught.value.message.removeprefix("name:2:3: ")

    assert len(reason) == shown
    assert reason.endswith("…") is (length > 200)
