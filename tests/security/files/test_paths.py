"""Which paths may be named."""

import time
from pathlib import Path

import pytest

from claw.core.errors import DeniedError
from claw.security.files.paths import PathRules, expand_all
from claw.security.settings import FORBIDDEN_PATHS

HOME = Path("/home/u")


def rules(*, workspace_only=True, roots=()):
    return PathRules(
        roots=(Path("/home/u/.claw/workspace"), *map(Path, roots)),
        forbidden=expand_all(FORBIDDEN_PATHS, HOME),
        workspace_only=workspace_only, home=HOME,
        config_dir=Path("/home/u/.claw"))


@pytest.mark.parametrize(("path", "relative"), [
    ("a.txt", "a.txt"), ("./a/./b", "a/b"), ("my..file", "my..file"),
    ("", "."), (".", "."), ("...", "..."), ("~x/..y".replace("~", ""),
                                            "x/..y"),
    ("/home/u/.claw/workspace/a", "a"), ("~/.claw/workspace/a", "a"),
    ("//home/u/.claw/workspace/a", "a"),
    ("home/u/.claw/workspace/a", "a"),
    ("home/other", "home/other"), ("日本語/한국.txt", "日本語/한국.txt"),
])
def test_inside_the_workspace(path, relative):
    assert rules().locate(path) == (Path("/home/u/.claw/workspace"),
                                    relative)


@pytest.mark.each("path", [
    "../a", "a/../b", "..", "a/..", "..\\a", "a\\..\\b", "\\\\host\\share",
    "a\0b", "..%2fa", "a%2F..", "%2e%2e%2fa", "%2E%2E/a", ".%2e/a",
    "~root/x", "~/x", "~", "/", "/etc/passwd", "/home/u/.ssh/id",
    "/home/u/.claw/workspacevil/a", "/home/u/.claw/config.toml",
])
def test_outside_the_workspace(path):
    with pytest.raises(DeniedError, match=r"^Path not allowed"):
        rules().locate(path)
    assert not rules().allows(path)


def test_allowed_roots_are_like_the_workspace():
    assert rules(roots=["/srv/data"]).locate("/srv/data/x/y") == (
        Path("/srv/data"), "x/y")
    assert not rules(roots=["/srv/data"]).allows("/srv/database/x")


@pytest.mark.parametrize(("path", "may"), [
    ("/srv/x", True), ("/etc/x", False), ("/etcetera", True),
    ("~/.ssh/x", False), ("/home/u/.claw/workspace/x", True)])
def test_without_workspace_only_the_forbidden_paths_stay(path, may):
    assert rules(workspace_only=False).allows(path) is may


@pytest.mark.parametrize(("path", "may"), [
    ("notes.txt", True), (".ssh/id_rsa", False), ("~/.ssh/id_rsa", False),
    ("/home/u/.aws", False), (".sshx/a", True)])
def test_forbidden_paths_in_the_workspace_stay_closed(path, may):
    home = PathRules((HOME,), expand_all(FORBIDDEN_PATHS, HOME), True, HOME)

    assert home.allows(path) is may
    assert home.reaches(HOME / path.replace("~/", "")) is may
    assert HOME / ".ssh" in home.forbidden_inside()


@pytest.mark.each(("real", "own"), [
    ("/home/u/.claw/config.toml", True),
    ("/home/u/.claw/config.toml.bak", True),
    ("/home/u/.claw/.secret_key", True),
    ("/home/u/.claw/.config.toml.tmp-12", True),
    ("/home/u/.claw/active_workspace.toml", True),
    ("/home/u/.claw/workspace/memory/brain.db", True),
    ("/home/u/.claw/workspace/memory/brain.db-wal", True),
    ("/home/u/.claw/workspace/state/queue.db", True),
    ("/home/u/.claw/workspace/sessions/a.jsonl", True),
    ("/home/u/.claw/workspace/memory/2026-01-01.md", True),
    ("/home/u/.claw/workspace/memory/SESSIONS.md", True),
    ("/home/u/.claw/workspace/memory/archive/2026-01-01.md", True),
    ("/home/u/.claw/workspace/sessions/archive/a.jsonl", True),
    ("/home/u/.claw/workspace/MEMORY_SNAPSHOT.md", True),
    ("/home/u/.claw/workspace/.MEMORY_SNAPSHOT.md.12.tmp", True),
    ("/home/u/.claw/workspace/MEMORY.md", False),
    ("/home/u/.claw/workspace/notes/MEMORY_SNAPSHOT.md", False),
    ("/home/u/.claw/workspace/memory_of_a_trip.md", False),
    ("/home/u/.claw/workspace/config.toml", False),
    ("/home/u/.claw/workspace/src/state/x", False),
])
def test_claws_own_files_are_out_of_reach(real, own):
    wide = rules(workspace_only=False, roots=["/home/u/.claw"])

    assert wide.is_own(Path(real)) is own
    assert wide.reaches(Path(real)) is not own


@pytest.mark.parametrize(("real", "own"), [
    ("/home/u/.claw/tools/planted.py", True),
    ("/home/u/.claw/templates/t.md", True),
    ("/home/u/.claw/estop-state.json", True),
    ("/home/u/.claw/workspace/notes.txt", False),
    ("/home/u/.claw/shared/notes.txt", False),
    ("/home/u/notes.txt", False),
])
def test_a_root_that_holds_claws_home_leaves_it_closed(real, own):
    rules = PathRules(
        roots=(Path("/home/u/.claw/workspace"), Path("/home/u"),
               Path("/home/u/.claw/shared")),
        forbidden=(), workspace_only=True, home=Path("/home/u"),
        config_dir=Path("/home/u/.claw"))

    assert rules.is_own(Path(real)) is own
    assert rules.reaches(Path(real)) is not own


def test_a_path_of_a_million_characters_held_claw_for_minutes():
    """Each of its parents was built, one after the other."""
    start = time.process_time()

    assert not rules().allows("a/" * 400_000)
    assert time.process_time() - start < 1
