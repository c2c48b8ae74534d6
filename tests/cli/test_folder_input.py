"""claw ask -f DIR and -f -: what goes with the question, what is said."""

import json

import pytest


@pytest.fixture
def ask(claw, tmp_path):
    """ask("-f", "src") -> (what the model would be sent, how it ended)"""
    def made(*arguments, stdin=""):
        done = claw("ask", "--dry-run", "--no-memory", "-p", "ollama", "-m",
                    "m", *arguments, "what is it?", stdin=stdin)
        text = "" if done.code else \
            json.loads(done.out)["messages"][-1]["content"]
        return text, done
    return made


@pytest.fixture
def src(tmp_path):
    folder = tmp_path / "src"
    (folder / "sub").mkdir(parents=True)
    (folder / "node_modules").mkdir()
    for name, text in {
            "a.txt": "tea is green", "sub/b.py": "print('房租')",
            ".gitignore": "node_modules\n", "node_modules/x.js": "junk",
            ".env": "KEY=hidden", "id_rsa": "KEY=private"}.items():
        (folder / name).write_text(text)
    (folder / "logo.bin").write_bytes(bytes(range(256)) * 9)
    (folder / "link.txt").symlink_to("/etc/passwd")
    return folder


def test_a_folder_is_its_tree_and_its_texts(ask, src):
    text, done = ask("-f", "src")

    assert ("src:\na.txt\nid_rsa (left out: may hold keys)\n"
            "logo.bin (left out: binary)\nsub/\n  b.py\n") in text
    assert "src/a.txt:\ntea is green" in text
    assert "src/sub/b.py:\nprint('房租')" in text
    for word in ("junk", "KEY=", "root:"):
        assert word not in text
    assert "binary: logo.bin" in done.err
    assert "may hold keys" in done.err


def test_what_is_past_the_limit_is_said_and_named(ask, src):
    (src / "big.txt").write_text("x" * 5_000)

    text, done = ask("-f", "src", "--stdin-limit", "2000")

    assert "big.txt (left out: past the limit)" in text
    assert "tea is green" in text
    assert "big.txt" in done.err
    assert "--stdin-limit" in done.err


@pytest.mark.parametrize("name", ["empty", "only_keys"])
def test_a_folder_without_text_is_refused(ask, tmp_path, name):
    (tmp_path / name).mkdir()
    if name == "only_keys":
        (tmp_path / name / "id_rsa").write_text("KEY")

    _, done = ask("-f", name)

    assert done.code == 2
    assert "no text to send" in done.err


def test_stdin_is_a_file_among_others(ask, src):
    text, done = ask("-f", "src/a.txt", "-f", "-", "-f", "src/sub/b.py",
                     stdin="from the pipe")

    assert text.index("tea") < text.index("from the pipe") < text.index("房")
    assert done.err == ""


def test_stdin_can_be_named_once(ask):
    _, done = ask("-", "-f", "-", stdin="text")
    assert (done.code, "read once" in done.err) == (2, True)


def test_bytes_of_another_encoding_are_said(ask, claw):
    _, done = ask(stdin=b"caf\xe9 \xe9")
    stored = claw("memory", "store", "k", "-", stdin=b"caf\xe9")

    assert "2 bytes are no UTF-8" in done.err
    assert stored.code == 0
    assert "1 byte is no UTF-8" in stored.err


def test_a_replacement_character_that_was_written_is_none(ask):
    assert ask(stdin="a \ufffd b")[1].err == ""
