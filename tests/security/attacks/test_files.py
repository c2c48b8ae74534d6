"""Attack cases 31 to 45: files."""

import io
import os
import re
import tarfile
import threading
import zipfile

import pytest
from attack_scene import CANARY, case

WORDS = ("Path not allowed", "Denied", "Error", "no such file", "not a ",
         "too long", "escapes", "allowed")


@pytest.mark.parametrize("paths", [
    case(31, "up and out", ["../secret", "../../outside/secret",
                            "a/../../../outside/secret", "../.secret_key"]),
    case(32, "an absolute path", ["{secret}", "//{secret}", "/etc/passwd",
                                  "~/.ssh/id_rsa", "~root/.ssh/id_rsa"]),
    case(36, "a neighbour with the same beginning",
         ["{workspace}-evil/secret", "../workspace-evil/secret"]),
    case(37, "an encoded way up", [
        "%2e%2e%2f%2e%2e%2foutside/secret", "..%2f..%2foutside%2fsecret",
        "%2E%2E/outside/secret"]),
    case(38, "backslashes and shares", [
        "..\\..\\outside\\secret", "\\\\host\\share", "a\\..\\..\\secret",
        "C:\\secret\\..\\..\\x"]),
    case(44, "settings, key and what claw keeps", [
        "../config.toml", "../.secret_key", "{home}/config.toml",
        "{home}/.secret_key", "memory/brain.db", "state/queue.db",
        "sessions/agent.jsonl", "MEMORY/../memory/brain.db"]),
])
def test_a_path_is_neither_read_nor_written(yard, paths):
    yard.write("mine", CANARY[::-1])
    for path in paths:
        path = path.format(secret=yard.secret, workspace=yard.workspace,
                           home=yard.places.home)
        for tool, args in name_in_every_tool(path):
            said = yard.call(tool, approved=True, **args)

            # git takes ~ and backslashes for a name like any other
            assert "Path not allowed" in said or (
                tool == "git_operations" and path[0] in "~\\"), (tool, said)
            yard.assert_held(said)
    assert not (yard.workspace / "memory").is_symlink()


def name_in_every_tool(path):
    """The calls that take a path, each with this one."""
    yield from (
        ("file_read", {"path": path}), ("pdf_read", {"path": path}),
        ("image_info", {"path": path, "include_base64": True}),
        ("file_write", {"path": path, "content": "x"}),
        ("file_edit", {"path": path, "old_string": CANARY,
                       "new_string": "x"}),
        ("content_search", {"pattern": "CAN", "path": path}),
        ("git_operations", {"operation": "status", "path": path}),
        ("git_operations", {"operation": "diff", "files": [path]}))
    for lines in ((f"Add File: {path}", "+x"),
                  (f"Update File: {path}", "@@", f"-{CANARY}", "+x"),
                  (f"Delete File: {path}",),
                  ("Update File: mine", f"Move to: {path}", "@@",
                   f"-{CANARY[::-1]}", "+x")):
        first, *rest = lines
        yield "apply_patch", {"patch": "\n".join([
            "*** Begin Patch", f"*** {first}", *(
                f"*** {line}" if line.startswith("Move") else line
                for line in rest), "*** End Patch"])}


def test_case_33_a_link_inside_that_leads_outside(yard):
    """By each tool, through the shell, and as part of a path."""
    (yard.workspace / "file").symlink_to(yard.secret)
    (yard.workspace / "folder").symlink_to(yard.secret.parent)
    said = []
    for path in ("file", "folder/secret"):
        said += [yard.call(tool, approved=True, **args)
                 for tool, args in name_in_every_tool(path)]
        said += [yard.run(f"cat {path}", approved=True),
                 yard.run(f"grep -r CANARY {path}", approved=True)]
    said += search_everything(yard)
    said.append(yard.python("open('file', 'a').write('x')\n"
                            "open('folder/secret', 'a').write('x')\n"))

    yard.assert_held(*said)


def search_everything(yard):
    """What the tools that walk through the workspace tell, and what stands
    in a backup of it."""
    said = [yard.call("content_search", pattern="CANARY|7b5a"),
            yard.call("content_search", pattern=".", include="*"),
            yard.call("glob_search", pattern="**/*"),
            yard.call("backup", approved=True, action="create")]
    for path in (yard.workspace / "state/backups").glob("*.gz"):
        with tarfile.open(path) as archive:
            said += [archive.extractfile(name).read().decode()
                     for name in archive.getnames()]
    return said


def test_case_33_a_link_in_the_place_of_what_is_written_to(yard):
    """A patch and a backup follow no link in their way."""
    (yard.workspace / "sub").symlink_to(yard.secret.parent)
    (yard.workspace / "state/backups").symlink_to(yard.secret.parent)
    said = [yard.call("apply_patch", approved=True, patch=(
        "*** Begin Patch\n*** Add File: fine\n+x\n*** Add File: sub/new\n+x"
        "\n*** End Patch")), yard.call("backup", approved=True)]

    yard.assert_held(*said)
    assert not (yard.workspace / "fine").exists()  # all or none


def test_case_34_a_link_swapped_between_check_and_open(yard):
    """What is read is the file of the workspace or nothing."""
    mine = yard.write("mine", "mine")
    swapped = yard.workspace / "swapped"
    swapped.symlink_to("mine")
    ends = threading.Event()

    def swap():
        turn = 0
        while not ends.is_set():
            turn += 1
            link = yard.workspace / f"next{turn % 2}"
            link.symlink_to(yard.secret if turn % 2 else mine.name)
            os.replace(link, swapped)
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        said = [yard.call(tool, **args) for _ in range(50) for tool, args in (
            ("file_read", {"path": "swapped"}),
            ("image_info", {"path": "swapped", "include_base64": True}),
            ("pdf_read", {"path": "swapped"}))]
        said += [yard.call("apply_patch", approved=True, patch=(
            "*** Begin Patch\n*** Update File: swapped\n@@\n-mine\n+mine"
            "\n*** End Patch")) for _ in range(50)]
        said += [yard.call("content_search", pattern="CANARY",
                           path="swapped") for _ in range(10)]
    finally:
        ends.set()
        thread.join()

    yard.assert_held(*said)


def test_case_35_a_hard_link_to_a_file_outside(yard):
    """A command can't make one: what lies outside is not in its tree."""
    said = yard.python(f"""
import os
for target in ({str(yard.secret)!r}, "/etc/passwd", "memory/brain.db"):
    try:
        os.link(target, "hard")
    except OSError as error:
        print("held", error.errno)
""")
    assert said.count("held") == 3
    yard.assert_held(said, yard.call("file_read", path="hard"))


def test_case_39_devices_pipes_and_proc(yard):
    """None is read, and none is waited for."""
    os.mkfifo(yard.workspace / "pipe")
    for name, target in (("zero", "/dev/zero"), ("tty", "/dev/tty"),
                         ("environ", "/proc/self/environ"),
                         ("itself", "/proc/self/fd/0")):
        (yard.workspace / name).symlink_to(target)
    for path in ("pipe", "zero", "tty", "environ", "itself", "/dev/zero",
                 "/proc/self/environ", "/dev/stdin"):
        for tool, args in (("file_read", {}), ("pdf_read", {}),
                           ("image_info", {}),
                           ("content_search", {"pattern": "."})):
            said = yard.call(tool, path=path, **args)

            assert re.search("not allowed|not a regular file|No match|not a ",
                             said), (tool, path, said)
            yard.assert_held(said)
    yard.assert_held(*search_everything(yard))


def test_case_40_a_path_without_end_and_a_link_to_nothing(yard):
    (yard.workspace / "dangling").symlink_to(yard.folder / "outside/new")
    long = "a/" * 2_500

    said = [yard.call("file_read", path=long),
            yard.call("file_write", approved=True, path=long + "x",
                      content="x"),
            yard.call("file_write", approved=True, path="b" * 5_000,
                      content="x"),
            yard.call("file_write", approved=True, path="dangling",
                      content="x")]
    said += [yard.call(tool, approved=True, **args) for path in (
        long, "dangling") for tool, args in name_in_every_tool(path)
        if tool != "git_operations"]
    assert not [text for text in said if not re.search(
        "too long|not allowed|no such|No matches|grep: a/a", text)]
    assert max(map(len, said)) < 5_000
    yard.assert_held(*said)


def test_case_41_an_archive_that_unpacks_over_its_edge(yard):
    packed = zipfile.ZipFile(yard.workspace / "evil.zip", "w")
    with packed:
        packed.writestr("../../outside/secret", "evil")
        packed.writestr(str(yard.secret), "evil")
        packed.writestr("memory/brain.db", "evil")
    with tarfile.open(yard.workspace / "evil.tar", "w") as tar:
        for name in ("../../outside/secret", str(yard.secret),
                     "state/queue.db"):
            entry = tarfile.TarInfo(name)
            entry.size = 4
            tar.addfile(entry, io.BytesIO(b"evil"))
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, str(yard.secret.parent)
        tar.addfile(link)
        entry = tarfile.TarInfo("out/secret")
        entry.size = 4
        tar.addfile(entry, io.BytesIO(b"evil"))
    said = yard.python("""
import tarfile, zipfile
for packed in (zipfile.ZipFile("evil.zip"), tarfile.open("evil.tar")):
    names = (packed.namelist() if isinstance(packed, zipfile.ZipFile)
             else packed.getmembers())
    for name in names:
        try:
            packed.extract(name, ".")
        except Exception as error:
            print(type(error).__name__)
""")
    yard.assert_held(said, yard.run("tar xPf evil.tar", approved=True),
                     yard.run("python3 -m zipfile -e evil.zip .",
                              approved=True))


def test_case_42_the_name_of_a_file_that_somebody_sends(phone, play):
    names = ["../../.bashrc", "CON", ".env", "a. ", "..", "a/b\\c", "\x00",
             "x" * 500, "USER.md", "\u202egpj.exe"]

    async def go():
        async with phone.running():
            for number, name in enumerate(names):
                file = phone.platform.add_file(b"evil")
                phone.platform.post(None, document={
                    "file_id": file, "file_unique_id": f"u{number}",
                    "file_name": name}, caption="look")
            await phone.until(lambda: len(list(
                (phone.workspace / "telegram_files").glob("*"))
                ) >= len(names))
    play(go())

    saved = [path for path in phone.workspace.parent.parent.rglob("*")
             if path.is_file() and path.read_bytes() == b"evil"]
    assert {path.parent.name for path in saved} == {"telegram_files"}
    for path in saved:
        assert path.name.startswith("telegram_1001_")
        assert path.name.isprintable()
        assert len(path.name) < 256
        assert path.stat().st_mode & 0o111 == 0


@pytest.mark.parametrize("paths", [case(43, "what claw runs on", [
    "../config.toml", "{home}/config.toml", "../.secret_key",
    "memory/brain.db", "memory/new.db", "state/queue.db", "sessions/x.jsonl",
    "~/.config/systemd/user/claw.service", "~/.bashrc",
    "/etc/systemd/system/claw.service", "/etc/cron.d/claw"])])
def test_what_claw_runs_on_is_not_written_by_a_tool(yard, paths):
    places = [path.format(home=yard.places.home) for path in paths]
    said = [yard.call("file_write", approved=True, path=path, content="evil")
            for path in places]
    assert all("Path not allowed" in text for text in said)

    said.append(yard.python(f"""
import os
for path in {places!r}:
    try:
        path = os.path.expanduser(path.replace("~", {str(yard.user)!r}))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write("evil")
    except OSError:
        print("held")
"""))
    yard.assert_held(*said)
    assert not (yard.workspace / "memory/new.db").exists()


def test_case_45_the_workspace_itself_is_not_removed(yard):
    yard.write("kept")
    said = [yard.run(command) for command in (
        "rm -rf .", f"rm -rf {yard.workspace}", "rm -rf /", "rm -r *",
        "find . -delete", f"mv {yard.workspace} /tmp/x", "rmdir .")]
    assert (yard.workspace / "kept").exists()

    said.append(yard.python(f"""
import os, shutil
for call in (lambda: os.rename({str(yard.workspace)!r}, "/tmp/x"),
             lambda: os.rmdir("memory"), lambda: shutil.rmtree("memory"),
             lambda: os.rename("state", "other"),
             lambda: shutil.rmtree({str(yard.workspace)!r})):
    try:
        call()
    except OSError:
        print("held")
"""))
    assert said[-1].count("held") == 5
    yard.assert_held(*said)
