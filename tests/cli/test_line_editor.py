"""What was typed in claw agent is kept as prompt_toolkit keeps it, but
behind no link."""

import pytest
from prompt_toolkit.history import FileHistory, InMemoryHistory

from claw.cli.chat.line_editor import _history


def keep(path):
    return _history(path, pytest.fail)


TYPED = ["one line", "two\nlines", "", "+ a plus\n# no comment", "猫 🧠"]


@pytest.mark.parametrize(("writer", "reader"), [
    (keep, lambda path: FileHistory(str(path))),
    (lambda path: FileHistory(str(path)), keep),
    (keep, keep)])
def test_each_reads_what_the_other_kept(tmp_path, writer, reader):
    (tmp_path / "state").mkdir()
    path = tmp_path / "state" / "agent_history"
    history = writer(path)
    for text in TYPED:
        history.store_string(text)

    assert [*reader(path).load_history_strings()] == TYPED[::-1]


@pytest.mark.parametrize("name", ["state", "state/agent_history"])
def test_nothing_is_kept_behind_a_link(tmp_path, name):
    (tmp_path / "outside").mkdir()
    link = tmp_path / "ws" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "outside")
    history = keep(tmp_path / "ws" / "state" / "agent_history")
    history.store_string("secret")

    assert isinstance(history, InMemoryHistory)
    assert [*(tmp_path / "outside").iterdir()] == []


def test_a_full_disk_breaks_no_prompt_and_is_said(tmp_path):
    (tmp_path / "state").mkdir()
    said = []
    history = _history(tmp_path / "state" / "agent_history", said.append)
    (tmp_path / "state").rename(tmp_path / "gone")
    (tmp_path / "state").touch()
    history.append_string("hello")

    assert history.get_strings() == ["hello"]
    assert said[0].startswith("what you typed is not kept")
