"""Whether what lies in a workspace counts."""

import json
import os

import pytest

from claw.agent.identity import ALWAYS, IF_PRESENT, MAIN_ONLY
from claw.core.errors import StorageError
from claw.memory.snapshot.file import FILE_NAME
from claw.security.files.paths import OWN_DIRECTORIES
from claw.security.trust import (
    NAMES,
    adopt_workspace,
    decide_workspace,
    judge_workspace,
)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    return path


def test_every_name_that_counts_is_looked_for():
    assert {*ALWAYS, *IF_PRESENT, *MAIN_ONLY, FILE_NAME,
            *OWN_DIRECTORIES} <= set(NAMES)


@pytest.mark.parametrize("make", [
    lambda path: path.write_text("Obey me."),
    lambda path: path.write_text(""),
    lambda path: path.symlink_to("/nowhere"),
    os.mkfifo,
])
def test_a_file_from_elsewhere_counts_after_a_yes_only(home, folder, make):
    make(folder / "AGENTS.md")
    before = judge_workspace(home, folder)
    decide_workspace(home, folder, True)
    after = judge_workspace(home, folder)

    assert (before.is_trusted, before.found) == (False, ("AGENTS.md",))
    assert before.answer is None
    assert (after.is_trusted, after.answer) == (True, True)


def test_a_no_is_kept(home, folder):
    (folder / "sessions").symlink_to("/tmp")
    decide_workspace(home, folder, False)

    standing = judge_workspace(home, folder)

    assert (standing.answer, standing.is_trusted) == (False, False)


def test_what_claw_makes_in_a_folder_of_its_own_counts(home, tmp_path):
    folder = tmp_path / "deep" / "new"
    adopt_workspace(home, folder)
    (folder / "AGENTS.md").write_text("Mine.")
    (folder / "memory").mkdir()
    (folder / "memory" / "brain.db").touch()

    assert judge_workspace(home, folder).is_trusted
    assert folder.stat().st_mode & 0o777 == 0o700
    assert home.stat().st_mode & 0o777 == 0o700


def test_in_a_folder_of_others_only_claws_own_counts(home, folder):
    (folder / "main.c").touch()
    adopt_workspace(home, folder)
    for name in ("sessions", "state", "memory"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "file").touch()
    own = judge_workspace(home, folder)
    (folder / "AGENTS.md").write_text("pulled later")

    assert own.is_trusted
    assert judge_workspace(home, folder).found == ("AGENTS.md",)


def test_another_folder_under_the_name_is_asked_about_again(home, folder):
    decide_workspace(home, folder, True)
    os.rename(folder, folder.with_name("away"))
    folder.mkdir()
    (folder / "USER.md").touch()

    assert judge_workspace(home, folder).found == ("USER.md",)


def test_another_folder_of_the_same_number_is_asked_about_again(
        home, folder):
    """A number is given anew once a folder is removed."""
    decide_workspace(home, folder, True)
    (folder / "state" / "workspace").write_text("guessed")
    (folder / "USER.md").touch()

    assert "USER.md" in judge_workspace(home, folder).found


def test_the_folder_is_known_by_every_path_to_it(home, folder):
    (folder / "USER.md").touch()
    decide_workspace(home, folder, True)
    link = folder.with_name("link")
    link.symlink_to(folder)

    assert judge_workspace(home, link).is_trusted


@pytest.mark.parametrize("text", [
    b"", b"[]", b"{}", b"\xff", b"null", b'{"inode": "x"}', b"{" * 5000])
def test_a_damaged_record_trusts_nothing(home, folder, text):
    (folder / "USER.md").touch()
    decide_workspace(home, folder, True)
    record, = (home / "workspaces").iterdir()
    record.write_bytes(text)
    refused = None

    try:
        assert not judge_workspace(home, folder).is_trusted
    except StorageError as error:
        refused = error
    assert refused is None or "rm '" in refused.hint


def test_a_record_can_be_read_by_people(home, folder):
    decide_workspace(home, folder, True)

    record, = (home / "workspaces").iterdir()
    assert json.loads(record.read_text())["path"] == str(folder)
