"""Skills come in as plain files, whatever their folder or archive holds."""

import io
import os
import tarfile
import zipfile

import pytest

from claw.core.errors import ClawError, RefusedError, UsageError
from claw.tools.skills import folder as limits
from claw.tools.skills.archive import unpack
from claw.tools.skills.folder import digest, read_folder
from claw.tools.skills.install import choose, fetch, install
from claw.tools.skills.manifest import read_manifest

HEAD = b"---\nname: a\ndescription: Does it.\n---\nText\n"


def zipped(*members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text, *mode in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode[0] if mode else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, text)
    return data.getvalue()


def tarred(*members, how="w"):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=how) as archive:
        for name, text, *kind in members:
            info = tarfile.TarInfo(name)
            info.size = len(text)
            if kind:
                info.type, info.linkname = kind[0], "/etc/passwd"
            archive.addfile(info, io.BytesIO(text))
    return data.getvalue()


@pytest.mark.each("data", [
    zipped(("a/SKILL.md", HEAD)), tarred(("a/SKILL.md", HEAD)),
    tarred(("a/SKILL.md", HEAD), how="w:gz"),
    tarred(("a/SKILL.md", HEAD), how="w:xz"),
    zipped(("a/SKILL.md", HEAD), ("a/.git/config", b"x")),
])
def test_an_archive_is_its_files(data):
    assert unpack(data, "x") == {"a/SKILL.md": HEAD}


@pytest.mark.each("data", [
    zipped(("../x", b"")), zipped(("/etc/x", b"")), zipped(("a\\..\\x", b"")),
    zipped(("C:x", b"")), zipped(("a/../../x", b"")),
    zipped(("a/link", b"/etc/passwd", 0o120777)),
    tarred(("../x", b"")), tarred(("/x", b"")),
    tarred(("a/link", b"", tarfile.SYMTYPE)),
    tarred(("a/hard", b"", tarfile.LNKTYPE)),
    tarred(("a/pipe", b"", tarfile.FIFOTYPE)),
    tarred(("a/disk", b"", tarfile.BLKTYPE)),
    zipped(("a", b"1"), ("./a", b"2")),
    zipped(("a", bytes(limits.MOST_BYTES + 1))),
    zipped((".git/a", bytes(limits.MOST_BYTES + 1))),
    tarred(("a", bytes(limits.MOST_BYTES + 1)), how="w:gz"),
    zipped(*((f"f{n}", b"") for n in range(limits.MOST_FILES + 1))),
    zipped(("/".join("abcdefghijkl"), b"")),
])
def test_an_archive_that_leads_out_or_is_too_large_is_refused(data):
    with pytest.raises(RefusedError):
        unpack(data, "x")


@pytest.mark.each("data", [b"", b"PK\3\4 rubbish", b"\x1f\x8b rubbish",
                           b"\xfd7zXZ rubbish", os.urandom(2000)])
def test_what_is_no_archive_is_said_so(data):
    with pytest.raises(UsageError, match="no zip or tar"):
        unpack(data, "x")


@pytest.mark.parametrize("make", [
    lambda f: (f / "x").symlink_to("/etc/passwd"),
    lambda f: (f / "x").symlink_to("SKILL.md"),
    lambda f: (f / "x").symlink_to("/etc", target_is_directory=True),
    lambda f: os.mkfifo(f / "x"),
    lambda f: os.link(f.parent / "secret", f / "x"),
    lambda f: (f / "/".join("abcdefghij")).mkdir(parents=True),
], ids=["link", "inner-link", "folder-link", "pipe", "hard-link", "deep"])
def test_a_folder_with_a_link_or_a_pipe_is_refused(tmp_path, make):
    (tmp_path / "secret").write_text("SECRET")
    skill = tmp_path / "a"
    skill.mkdir()
    (skill / "SKILL.md").write_bytes(HEAD)
    make(skill)

    with pytest.raises(RefusedError):
        read_folder(tmp_path, "a")


def test_a_skill_that_is_a_link_itself_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "a").symlink_to("real")

    with pytest.raises(RefusedError):
        read_folder(tmp_path, "a")


def test_the_hash_tells_names_and_contents_apart():
    hashes = {digest(files) for files in (
        {"a": b"b"}, {"ab": b""}, {"a": b""}, {"a": b"", "b": b""})}

    assert len(hashes) == 4


@pytest.mark.each("head", [
    b"name: a", b"name: b\ndescription: x", b"name: [a]\ndescription: x",
    b"name: a\ndescription: [x]", b"name: a\ndescription: " + b"x" * 1025,
    b"name:\n  a: b\ndescription: x", b"name: A\ndescription: x"])
def test_a_manifest_of_the_wrong_form_is_refused(head):
    with pytest.raises(RefusedError):
        read_manifest({"SKILL.md": b"---\n" + head + b"\n---\n"}, "a")


@pytest.mark.each("name", ["A", "-a", "a--b", "a/b", "..", "a" * 65, "ä", ""])
def test_names_are_those_of_the_format(name):
    with pytest.raises(RefusedError):
        read_manifest({"SKILL.md": HEAD}, name)


@pytest.mark.each("data", [b"\xff\xfe", b"---\n" + b"x" * (5 << 20), b""])
def test_a_text_that_is_too_long_or_none_is_refused(data):
    with pytest.raises(RefusedError):
        read_manifest({"SKILL.md": data}, "a")


@pytest.mark.each("rest", [b"tools = 5", b"prompts = 'x'",
                           b"x = " + b"1" * 5_000, b"x = " + b"[" * 5_000])
def test_an_odd_skill_toml_is_refused_and_breaks_no_list(rest):
    with pytest.raises(RefusedError):
        read_manifest({"SKILL.toml": rest + b"\n[skill]\nname = 'a'\n"
                       b"description = 'd'\n"}, "a")


def test_a_skill_toml_of_the_reference_is_read():
    found = read_manifest({"SKILL.toml": b"""
        prompts = ["Do it well."]
        [skill]
        name = "a"
        description = "Does it."
        [[tools]]
        name = "go"
        description = "Goes."
        command = "python3 scripts/go.py"
        """, "SKILL.md": b"No head."}, "a")

    assert found.description == "Does it."
    assert found.body == ("Do it well.\n\nNo head.\n\ngo: Goes. (command: "
                          "python3 scripts/go.py)\n")


def test_one_of_several_is_chosen_by_name():
    files = {"skills/a/SKILL.md": HEAD, "skills/a/x.txt": b"x",
             "skills/b/SKILL.md": HEAD, "README.md": b""}

    assert choose(files, "a") == ("a", {"SKILL.md": HEAD, "x.txt": b"x"})
    with pytest.raises(UsageError, match="several"):
        choose(files, None)
    with pytest.raises(UsageError):
        choose(files, "c")
    assert choose({"SKILL.md": HEAD}, None, "a-main")[0] == "a"


def test_an_install_is_whole_or_not_at_all(tmp_path, monkeypatch):
    install(tmp_path, "a", {"SKILL.md": HEAD}, replace=False)
    with pytest.raises(UsageError, match="already"):
        install(tmp_path, "a", {"SKILL.md": b"new"}, replace=False)
    with pytest.raises(ClawError):
        install(tmp_path, "a", {"SKILL.md": b"n", "SKILL.md/x": b""},
                replace=True)

    assert (tmp_path / "skills/a/SKILL.md").read_bytes() == HEAD
    assert [path.name for path in (tmp_path / "skills").iterdir()] == ["a"]


@pytest.mark.each("source", ["-x", "--upload-pack=touch x", "ext::sh -c x",
                             "gone", "gone.zip"])
def test_what_is_no_source_is_refused_before_git_sees_it(source):
    with pytest.raises(UsageError):
        fetch(source)
