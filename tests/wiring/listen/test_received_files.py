"""Files that people sent go when they are old; nothing else does."""

import os
from pathlib import Path

import pytest

from claw.channels.outfiles import name_received
from claw.core.files import save_bytes
from claw.runtime.settings import ChannelsSettings
from claw.wiring.channels.names import list_all
from claw.wiring.listen.received_files import AT_ONCE, tidy_received

DAY_S = 86_400
NOW = 1_000.0 * DAY_S
LARK = name_received("lark", "oc_1", "om_2", "plan.pdf")


def put(path: Path, days: float) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x")
    os.utime(path, (NOW - days * DAY_S,) * 2)
    return path


def tidy(workspace, days=30):
    logged = []
    count = tidy_received(
        workspace, ("telegram", "lark"), days, NOW,
        lambda event, **fields: logged.append((event, fields)))
    return count, logged


@pytest.mark.parametrize(("folder", "name", "goes"), [
    ("telegram_files", "telegram_1001_5_photo.jpg", True),
    ("telegram_files", "telegram_-100123_5_photo.jpg", True),
    ("telegram_files", "telegram_1_5_two\nlines", True),
    ("lark_files", LARK, True),
    ("telegram_files", f".{'0' * 16}.part", True),  # a killed fetch
    ("voice_files", "voice.ogg", True),
    ("voice_files", "voice-0123abcd.mp3", True),
    # its owner's
    ("telegram_files", "notes.md", False),
    ("telegram_files", "telegram.md", False),
    ("telegram_files", "telegram_notes_of mine.txt", False),
    ("telegram_files", "my_telegram_1_5_x", False),
    ("telegram_files", ".hidden", False),
    ("voice_files", "voice of mother.ogg", False),
    ("voice_files", "telegram_1001_5_photo.jpg", False),
    ("my_files", "my_1_2_x", False),
    ("notes", "telegram_1001_5_photo.jpg", False),
])
def test_an_old_file_goes_where_a_channel_saved_it(
        tmp_path, folder, name, goes):
    path = put(tmp_path / folder / name, 31)
    assert tidy(tmp_path) == (int(goes), [])
    assert path.exists() is not goes


@pytest.mark.parametrize(("age", "keep", "goes"), [
    (29, 30, False), (31, 30, True), (31, 0, False), (5000, 0, False),
    (-400, 30, False),  # of a clock that was wrong
    (2, 1, True)])
def test_a_file_stays_for_as_long_as_it_was_set(tmp_path, age, keep, goes):
    path = put(tmp_path / "telegram_files" / "telegram_1_2_x", age)
    tidy(tmp_path, keep)
    assert path.exists() is not goes


def test_no_link_is_followed_or_removed(tmp_path):
    outside = put(tmp_path / "elsewhere" / "telegram_1_2_kept", 90)
    folder = tmp_path / "telegram_files"
    folder.mkdir()
    link, hard = folder / "telegram_1_2_link", folder / "telegram_1_2_hard"
    link.symlink_to(outside)
    os.utime(link, (0, 0), follow_symlinks=False)
    os.link(outside, hard)
    inner = put(folder / "telegram_1_2_folder" / "telegram_1_2_in", 90)
    assert tidy(tmp_path) == (0, [])
    assert link.is_symlink()
    assert hard.exists()
    assert inner.exists()
    assert outside.read_bytes() == b"x"


def test_a_folder_that_is_a_link_is_told_and_the_others_are_tidied(tmp_path):
    outside = put(tmp_path / "elsewhere" / "telegram_1_2_x", 90)
    (tmp_path / "telegram_files").symlink_to(outside.parent)
    old = put(tmp_path / "lark_files" / LARK, 90)
    count, [(event, fields)] = tidy(tmp_path)
    assert (count, old.exists(), outside.exists()) == (1, False, True)
    assert (event, fields["folder"]) == ("files.kept", "telegram_files")
    assert "is a link" in fields["error"]


def test_of_many_the_rest_goes_in_the_next_round(tmp_path):
    for number in range(AT_ONCE + 1):
        put(tmp_path / "telegram_files" / f"telegram_1_{number}_x", 90)
    assert [tidy(tmp_path)[0] for _ in range(3)] == [AT_ONCE, 1, 0]


def test_a_file_that_channels_save_is_known_by_its_name(
        tmp_path, write_settings):
    tree = write_settings("[channels_config.telegram]\nbot_token = 'x'\n")
    for name in list_all(tree):
        path = save_bytes(tmp_path / f"{name}_files", name_received(
            name, "a chat", "5", "photo.jpg"), b"x")
        os.utime(path, (0, 0))
    assert tidy_received(tmp_path, list_all(tree),
                         ChannelsSettings().files_keep_days, NOW,
                         lambda *_, **__: None) == len(list_all(tree)) > 15
