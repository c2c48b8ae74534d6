"""Files of the owner's in ~/.claw/channels."""

import json

import pytest

NOTE = '''
import msgspec
from claw.core.channel import Channel

class NoteSettings(msgspec.Struct, frozen=True):
    """path: where notes go"""
    path: str = "notes.txt"

class Note(Channel):
    """Keeps notes."""
    name = "note"
    Settings = NoteSettings

    def __init__(self, settings, deps):
        self.path = deps.workspace / settings.path

    async def send(self, message):
        with self.path.open("a") as notes:
            notes.write(message.content + "\\n")

    async def listen(self, inbox):
        pass
'''


@pytest.fixture
def own(home):
    """own(source, name): a file of the owner's."""
    def write(source=NOTE, name="note"):
        folder = home / "channels"
        folder.mkdir(parents=True, mode=0o700)
        home.chmod(0o700)
        path = folder / f"{name}.py"
        path.write_text(source)
        path.chmod(0o600)
        return path
    return write


def test_a_file_is_a_channel_of_its_name(claw, own, home):
    own()

    assert "note\tset up" in claw("channel", "list").out
    assert claw("channel", "doctor", "note").code == 0
    assert claw("send", "note:x", "buy tea").code == 0
    assert (home / "workspace/notes.txt").read_text() == "buy tea\n"
    assert claw("config", "set", "channels_config.note.path", "n").code == 0
    assert claw("send", "note:x", "and milk").code == 0
    assert (home / "workspace/n").read_text() == "and milk\n"


def test_its_settings_are_known(claw, own):
    own()
    done = claw("channel", "setup", "note")

    assert claw("config", "get", "channels_config.note.path").out == (
        "notes.txt\n")
    assert 'did you mean "path"' in claw(
        "config", "set", "channels_config.note.pth", "x").err
    assert "Keeps notes." in done.out
    assert '| `path` | `"notes.txt"` | where notes go |' in done.out


@pytest.mark.parametrize(("source", "said"), [
    ("1/0\n", "note.py:1: ZeroDivisionError"),
    ("x = 1\n", "holds no channel 'note'"),
    (NOTE.replace('"note"', '"other"'), "holds no channel 'note'"),
    (NOTE.replace("deps.workspace", "deps.nothing"),
     "note.py:15: AttributeError"),
])
def test_what_is_wrong_with_a_file_is_told_and_stops_nothing_else(
        claw, own, source, said):
    own(source)
    done = claw("channel", "doctor", "--json")

    assert done.code == 1
    assert said in json.dumps(done.json)
    assert claw("channel", "list").code == 0
    assert claw("config", "check").code in (0, 3)


def test_a_file_that_others_may_write_is_not_run(claw, own, tmp_path):
    path = own(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + NOTE)
    path.chmod(0o666)

    done = claw("channel", "doctor", "note")

    assert "can be written by others" in done.out
    assert not (tmp_path / "ran").exists()


def test_a_file_where_the_agent_may_write_is_not_run(claw, own, home,
                                                     tmp_path):
    own(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + NOTE)
    (home / "config.toml").write_text(
        f"[autonomy]\nallowed_roots = [{str(home / 'channels')!r}]\n"
        "[channels_config.note]\npath = 'n'\n")

    done = claw("channel", "doctor", "note")

    assert "where tools may write" in done.out
    assert not (tmp_path / "ran").exists()


def test_a_name_that_claw_has_stays_claws_own(claw, own):
    own(NOTE.replace('"note"', '"webhook"'), "webhook")

    assert "signed" in claw("channel", "setup", "webhook").out
