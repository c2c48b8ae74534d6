"""The patterns of .gitignore, held to git itself."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.text.documents.ignore import Rules


@pytest.mark.each(("text", "path", "is_folder", "expected"), [
    ("*.log", "a.log", False, True),
    ("*.log", "deep/er/a.log", False, True),
    ("*.log", "a.txt", False, None),
    ("# *.txt", "a.txt", False, None),
    (r"\#a", "#a", False, True),
    ("*.log\n!keep.log", "keep.log", False, False),
    (r"\!a", "!a", False, True),
    ("build/", "build", True, True),
    ("build/", "build", False, None),
    ("/top", "top", False, True),
    ("/top", "a/top", False, None),
    ("a/b", "a/b", False, True),
    ("a/b", "x/a/b", False, None),
    ("**/b", "x/a/b", False, True),
    ("a/**", "a", True, None),
    ("a/**", "a/b/c", False, True),
    ("a/**/b", "a/b", False, True),
    ("a/**/b", "a/x/y/b", False, True),
    ("a*b?c", "axxbyc", False, True),
    ("*.[oa]", "x.o", False, True),
    ("*.[!oa]", "x.o", False, None),
    ("*.[^oa]", "x.c", False, True),
    ("[[:digit:]]", "7", False, True),
    ("a ", "a", False, True),
    ("a\\ ", "a ", False, True),
    ("a\r\nb\r", "b", False, True),
    (r"\*", "*", False, True),
    (r"\*", "a", False, None),
    ("/", "a", False, None),
    ("", "a", False, None),
    ("\ufeffa", "a", False, True),
])
def test_a_pattern_means_what_git_says(text, path, is_folder, expected):
    assert Rules(text).leave_out(
        tuple(path.split("/")), is_folder=is_folder) is expected


def test_a_hostile_pattern_takes_no_time():
    rules = Rules("*a" * 500 + "b\n" + "**/a/" * 400 + "b")

    assert rules.leave_out(("a" * 250,) * 90, is_folder=False) is None


NAMES = st.sampled_from(["a", "b", "ab", "a.b", "ba", "[a]", "a b"])
PARTS = st.sampled_from(["a", "b", "*", "**", "a*", "?b", "[ab]", "a.b",
                         "*b*", "[!a]", "\\a", "ab"])
PATTERNS = st.lists(st.builds(
    lambda no, first, parts, last: no + first + "/".join(parts) + last,
    st.sampled_from(["", "", "!"]), st.sampled_from(["", "", "/"]),
    st.lists(PARTS, min_size=1, max_size=3), st.sampled_from(["", "", "/"])),
    min_size=1, max_size=4)
PATHS = st.lists(NAMES, min_size=1, max_size=3)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_many_patterns_mean_what_git_says(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)

    @settings(max_examples=60, deadline=None)
    @given(PATTERNS, st.lists(PATHS, min_size=1, max_size=12))
    def check(patterns, paths):
        (folder / ".gitignore").write_text("\n".join(patterns))
        names = ["/".join(path) for path in paths]
        # What is not there is taken for a file by git.
        said = subprocess.run(
            ["git", "-C", folder, "check-ignore", "--no-index", "--verbose",
             "--non-matching", "-z", "--stdin"], input="\0".join(names),
            capture_output=True, text=True, check=False).stdout.split("\0")
        rules = Rules("\n".join(patterns))
        for at, name in enumerate(names):
            pattern = said[4 * at + 2]
            expected = bool(pattern) and not pattern.startswith("!")
            assert _is_left_out(rules, name.split("/")) == expected, (
                patterns, name, said)
    check()


def _is_left_out(rules, parts):
    """As the walk does: a folder that is left out takes all below."""
    return any(rules.leave_out(parts[:end], is_folder=end < len(parts))
               for end in range(1, len(parts) + 1))
