"""What was typed in claw agent is kept as prompt_toolkit keeps it, but
behind no link."""

import pytest
from prompt_toolkit.history import FileHistory, InMemoryHistory

from claw.cli.chat.line_editor import _history

TYPED = ["one line", "two\nlines", "", "+ a plus\n# no comment", "猫 🧠"]


@pytest.mark.parametrize(("writer", "reader"), [
    (_history, lambda path: FileHistory(str(path))),
    (lambda path: FileHistory(str(path)), _history),
    (_history, _history)])
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
    history = _history(tmp_path / "ws" / "state" / "agent_history")
    history.store_string("secret")

    assert isinstance(history, InMemoryHistory)
    assert [*(tmp_path / "outside").iterdir()] == []
