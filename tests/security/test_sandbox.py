"""What a confined command can and can't do, by trying it."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from claw.core.errors import DeniedError, StorageError
from claw.security import children
from claw.security.children import OUTPUT_BYTES, run
from claw.security.sandbox import Sandbox, safe_environment
from claw.security.settings import (
    ALLOWED_COMMANDS,
    ResourceSettings,
    SandboxSettings,
)


class Box:
    """A workspace with a secret beside it, and commands run in it."""

    def __init__(self, folder: Path, *, strategies=("namespaces",
                                                    "bubblewrap", "tree"),
                 mode="auto", network="off", resources=None, **more):
        self.folder = folder
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        (folder / "secret").write_text("S3CRET")
        (folder / "user/.ssh").mkdir(parents=True)
        (folder / "user/.ssh/id_rsa").write_text("S3CRET")
        (self.workspace / "link").symlink_to(folder / "secret")
        env = {**os.environ, "HOME": str(folder / "user"),
               "FAKE_API_KEY": "S3CRET", "LET_THROUGH": "yes"}
        real_home = os.environ.get("HOME")
        if real_home:
            env.setdefault("RUSTUP_HOME", real_home + "/.rustup")
        self.sandbox = Sandbox(
            self.workspace, SandboxSettings(mode=mode, network=network),
            resources or ResourceSettings(), env,
            commands=ALLOWED_COMMANDS, passthrough=["LET_THROUGH"],
            own=["memory", "state"],
            hidden=[self.workspace / "config.toml"],
            strategies=strategies, **more)

    def __call__(self, command, timeout_s=30.0):
        done = asyncio.run(run(
            self.sandbox.prepare(["sh", "-c", command]), timeout_s))
        self.text = (done.stdout + done.stderr).decode(errors="replace")
        return done


@pytest.fixture(params=["best", "tree"])
def box(request, tmp_path):
    """Once with the best there is here, once without namespaces."""
    chosen = {} if request.param == "best" else {"strategies": ("tree",)}
    box = Box(tmp_path, **chosen)
    if "landlock" not in box.sandbox.shelter().steps:
        pytest.skip("no Landlock on this kernel")
    return box


@pytest.fixture
def best(tmp_path):
    box = Box(tmp_path)
    if not box.sandbox.shelter().complete:
        pytest.skip("no complete sandbox here: "
                    + "; ".join(box.sandbox.shelter().missing))
    return box


def test_the_workspace_is_there_to_work_in(box):
    done = box("echo hi > a && mkdir b && mv a b/a && cat b/a && pwd")

    assert (done.code, done.stdout) == (
        0, f"hi\n{box.workspace}\n".encode())
    assert (box.workspace / "b/a").read_text() == "hi\n"


def test_files_outside_can_not_be_read(box):
    for path in ("../secret", box.folder / "secret", "link", "/etc/shadow",
                 box.folder / "user/.ssh/id_rsa", "/proc/1/environ",
                 f"/proc/{os.getpid()}/environ",
                 f"/proc/{os.getppid()}/environ"):
        done = box(f"cat {path}")

        assert done.code != 0, path
        assert b"S3CRET" not in done.stdout, path
    done = box("python3 -c 'print(open(\"../secret\").read())'")
    assert "S3CRET" not in box.text
    assert done.code == 1


def test_nothing_outside_can_be_written(box):
    box(f"echo x > {box.folder}/new; mv link ../moved; rm {box.folder}/secret"
        f"; ln {box.folder}/secret hard; mkdir ../d; touch /usr/claw-test")

    assert sorted(os.listdir(box.folder)) == ["secret", "user", "ws"]
    assert not (box.workspace / "hard").exists()
    assert not Path("/usr/claw-test").exists()


def test_there_is_no_network(box):
    with socket.socket() as tcp, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, \
            socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        udp.bind(("127.0.0.1", 0))
        unix.bind(str(box.folder / "sock"))
        unix.listen()
        (box.workspace / "try.py").write_text(f"""
import socket
def tcp():
    socket.create_connection(("127.0.0.1", {tcp.getsockname()[1]}), 2)
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"x", ("127.0.0.1", {udp.getsockname()[1]}))
def unix():
    socket.socket(socket.AF_UNIX).connect({str(box.folder / "sock")!r})
def vsock():
    socket.socket(40, socket.SOCK_STREAM)
for act in (tcp, udp, unix, vsock):
    try:
        act()
        print(act.__name__, "REACHED")
    except OSError as error:
        print(act.__name__, "stopped")
""")
        done = box("python3 try.py")
        udp.setblocking(False)

        assert done.stdout == (b"tcp stopped\nudp stopped\nunix stopped\n"
                               b"vsock stopped\n"), box.text
        with pytest.raises(BlockingIOError):
            udp.recv(1)


def test_network_on_reaches_a_server(tmp_path):
    box = Box(tmp_path, network="on")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        done = box("python3 -c 'import socket;print(socket.create_connection("
                   f"(\"127.0.0.1\", {server.getsockname()[1]})).fileno())'")

        assert done.code == 0, box.text


def test_the_parent_can_not_be_signalled(box):
    done = box(f"kill -0 {os.getpid()} && echo REACHED")

    assert b"REACHED" not in done.stdout


def test_the_environment_is_emptied_to_the_safe_names(box):
    done = box("env")
    names = {line.partition("=")[0] for line in box.text.splitlines()}

    assert done.code == 0
    assert "S3CRET" not in box.text
    assert names <= {
        "PATH", "HOME", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "USER",
        "SHELL", "TMPDIR", "GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT",
            "GIT_TEMPLATE_DIR",
        "LET_THROUGH", "RUSTUP_HOME", "PWD", "OLDPWD", "_", "SHLVL"}
    assert f"HOME={box.workspace}\n" in box.text
    assert "LET_THROUGH=yes\n" in box.text


def test_path_holds_no_place_that_a_command_can_write(tmp_path):
    env = {"PATH": f"./bin:{tmp_path}/ws/bin::/usr/bin:/bin:bin"}
    sandbox = Sandbox(tmp_path / "ws", SandboxSettings(),
                      ResourceSettings(), env)
    (tmp_path / "ws").mkdir()

    launch = sandbox.prepare(["x"])
    shutil.rmtree(launch.scratch)

    assert launch.env["PATH"] == "/usr/bin:/bin"


def test_the_child_is_the_same_user_without_powers(best):
    best("id -u; grep CapEff /proc/self/status; grep NoNewPrivs "
         "/proc/self/status")

    lines = best.text.split()
    assert lines[0] == str(os.getuid())
    assert int(lines[2], 16) == 0
    assert lines[4] == "1"


def test_claws_own_files_are_covered(best):
    (best.workspace / "memory").mkdir(exist_ok=True)
    (best.workspace / "memory/brain.db").write_text("S3CRET")
    (best.workspace / "config.toml").write_text("S3CRET")

    best("cat memory/brain.db config.toml; touch memory/x state/x; "
         "mv memory m2; rm -rf state; umount memory; echo > config.toml")

    assert "S3CRET" not in best.text
    assert os.listdir(best.workspace / "memory") == ["brain.db"]
    assert (best.workspace / "config.toml").read_text() == "S3CRET"
    assert os.listdir(best.workspace / "state") == []


def test_paths_that_commands_may_only_read(tmp_path):
    kept = tmp_path / "ws"
    box = Box(tmp_path, read_only=[
        kept / name for name in ("USER.md", "SOUL.md", "missing",
                                 "repo/.git/hooks")])
    if not box.sandbox.shelter().complete:
        pytest.skip("no complete sandbox here")
    (kept / "USER.md").write_text("mine")
    (kept / "SOUL.md").symlink_to(tmp_path / "secret")
    (kept / "repo/.git/hooks").mkdir(parents=True)
    (kept / "repo/.git/hooks/x").write_text("mine")

    box("cat USER.md SOUL.md repo/.git/hooks/x; echo no > USER.md; rm -f "
        "USER.md; mv USER.md u; chmod 777 USER.md; umount USER.md; "
        "echo no > repo/.git/hooks/x; touch repo/.git/hooks/new; "
        "mv repo/.git/hooks h; mv repo/.git g; echo yes > repo/.git/config")

    assert box.text.startswith("minemine")
    assert "S3CRET" not in box.text
    assert (kept / "USER.md").read_text() == "mine"
    assert (kept / "USER.md").stat().st_mode & 0o777 != 0o777
    assert (kept / "repo/.git/hooks/x").read_text() == "mine"
    assert os.listdir(kept / "repo/.git/hooks") == ["x"]
    assert (kept / "repo/.git/config").read_text() == "yes\n"


def test_only_its_own_processes_are_seen(best):
    best("ls /proc")
    numbers = [n for n in best.text.split() if n.isdigit()]

    assert len(numbers) <= 4


def test_the_kernel_settings_are_read_only(best):
    done = best("echo 1 > /proc/sys/kernel/pid_max; mount -t tmpfs x /tmp; "
                "unshare -Ur true && echo REACHED")

    assert done.code != 0
    assert b"REACHED" not in done.stdout


def test_temporary_files_go_to_a_private_place(box):
    done = box("python3 -c 'import tempfile;f=tempfile.mkstemp();"
               "print(f[1])'")
    there = Path(done.stdout.decode().strip())

    assert done.code == 0, box.text
    assert not there.exists()


def test_standard_input_is_empty(box):
    assert box("cat; tty").stdout == b"not a tty\n"


def test_the_exit_code_is_the_commands(box):
    assert box("exit 7").code == 7
    assert box("kill -9 $$").code == 137
    assert box("no-such-program").code == 127


def processes(marker):
    """Ids of the machine's processes with this command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().rstrip(b"\0").split(b"\0")
        except OSError:
            continue  # it has ended meanwhile
        if b" ".join(words) == marker.encode():
            found.append(path.parent.name)
    return found


def gone(marker):
    for _ in range(50):
        if not processes(marker):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("command", [
    "sleep 5{0} & sleep 5{0}", "setsid sleep 5{0} & sleep 5{0}",
    "(setsid sh -c \"trap '' TERM HUP INT; sleep 5{0}\" &); sleep 5{0}"])
def test_a_timeout_ends_every_descendant(box, command):
    marker = f"sleep 5{os.getpid()}"
    done = box(command.format(os.getpid()), timeout_s=1.0)

    assert done.code is None
    assert gone(marker)


def test_a_background_process_does_not_outlive_the_command(box):
    marker = f"sleep 6{os.getpid()}"
    done = box(f"setsid {marker} >/dev/null 2>&1 & echo started")

    assert (done.code, done.stdout) == (0, b"started\n")
    assert gone(marker)


def test_cancelling_ends_the_command(box):
    marker = f"sleep 7{os.getpid()}"

    async def cancelled():
        task = asyncio.create_task(run(
            box.sandbox.prepare(["sh", "-c", f"{marker} & wait"]), 60))
        for _ in range(100):
            if processes(marker):
                break
            await asyncio.sleep(0.1)
        assert processes(marker)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert gone(marker)


def test_the_commands_scratch_directory_is_removed(box):
    launch = box.sandbox.prepare(["sh", "-c", "touch $TMPDIR/x"])
    assert launch.scratch.exists()

    asyncio.run(run(launch, 10))

    assert not launch.scratch.exists()


def test_much_output_is_cut_and_the_command_goes_on(box):
    done = box("head -c 3000000 /dev/zero; echo end > done")

    assert (done.code, len(done.stdout), done.stdout_cut) == (
        0, OUTPUT_BYTES, True)
    assert (box.workspace / "done").exists()


def test_memory_is_limited(tmp_path):
    box = Box(tmp_path, resources=ResourceSettings(max_memory_mb=64))

    assert box("python3 -c 'bytearray(200 << 20)'").code == 1
    assert "MemoryError" in box.text


def test_processor_time_is_limited(tmp_path):
    box = Box(tmp_path, resources=ResourceSettings(max_cpu_time_seconds=1))

    assert box("exec python3 -c 'while True: pass'").code in (137, 152)


def test_files_do_not_grow_without_end(box):
    done = box("dd if=/dev/zero of=big bs=1M seek=2000 count=1")

    assert done.code != 0
    assert (box.workspace / "big").stat().st_size <= 1 << 30


def test_a_fork_bomb_stays_small(best):
    if any("number of processes" in text
           for active, text in best.sandbox.describe() if not active):
        pytest.skip("the kernel does not limit root's processes here")
    bomb = f"b() {{ b | b & }}; b; sleep 1; echo {os.getpid()}"
    best(bomb, timeout_s=10)

    assert "fork" in best.text.lower() or "Resource" in best.text
    assert gone(f"sh -c {bomb}")


VERSIONS = {"ls": "ls", "echo": "echo x", "pwd": "pwd", "wc": "echo x | wc",
            "head": "echo x | head -1", "tail": "echo x | tail -1",
            "cat": "echo x | cat", "grep": "echo x | grep x",
            "find": "find . -maxdepth 1", "date": "date", "df": "df .",
            "du": "du -s .", "uname": "uname -a", "uptime": "uptime",
            "hostname": "hostname", "free": "free",
            "python": "python -c 'import ssl, sqlite3, json; print(1)'",
            "python3": "python3 -c 'import ctypes; print(1)'",
            "pip": "pip --version",
            "node": "node -e 'require(\"fs\").writeFileSync(\"x\", \"y\");"
                    "console.log(require(\"child_process\")"
                    ".execSync(\"echo 1\").toString())'",
            "npm": "npm --version", "cargo": "cargo --version",
            "git": "git init -q r && cd r && echo x > f && git add f && git "
                   "-c user.name=n -c user.email=e commit -qm m && git log"}


@pytest.mark.parametrize("name", ALLOWED_COMMANDS)
def test_every_default_command_works_inside(box, name):
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    outside = subprocess.run(
        ["sh", "-c", VERSIONS[name]], cwd=box.folder, capture_output=True,
        check=False)
    if outside.returncode != 0:
        pytest.skip(f"{name} does not work here at all")

    done = box(VERSIONS[name])

    assert done.code == 0, box.text
    assert done.stdout


def test_describe_says_what_is_active_and_what_is_missing(tmp_path):
    best = Box(tmp_path)
    (tmp_path / "2").mkdir()
    tree = Box(tmp_path / "2", strategies=("tree",))

    lines = best.sandbox.describe()
    assert all(isinstance(active, bool) and text for active, text in lines)
    assert any(not active and "claw's own files" in text
               for active, text in tree.sandbox.describe())
    assert not tree.sandbox.shelter().complete


def test_required_runs_nothing_where_something_is_missing(tmp_path):
    box = Box(tmp_path, mode="required", strategies=("tree",))

    with pytest.raises(DeniedError, match="the sandbox is required"):
        box("touch ran")
    assert not (box.workspace / "ran").exists()


def test_required_runs_where_all_is_there(tmp_path):
    box = Box(tmp_path, mode="required")
    if not box.sandbox.shelter().complete:
        pytest.skip("no complete sandbox here")

    assert box("echo ran").stdout == b"ran\n"


def test_off_confines_nothing_but_keeps_environment_and_limits(tmp_path):
    box = Box(tmp_path, mode="off")

    assert box("cat ../secret; echo $FAKE_API_KEY").stdout == b"S3CRET\n"
    assert (False, "the sandbox is switched off") in box.sandbox.describe()


def test_looking_for_what_works_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    there = tmp_path / "there"
    there.mkdir()

    for workspace in (there, tmp_path / "not/yet"):
        found = Sandbox(workspace, SandboxSettings(), ResourceSettings(),
                        dict(os.environ), own=["memory"]).shelter()
        assert found.active
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["there", "tmp"]


def test_a_file_in_place_of_claws_own_directory_is_named(tmp_path):
    box = Box(tmp_path)
    (box.workspace / "memory").write_text("")

    with pytest.raises(StorageError, match="ws/memory can't be made"):
        box("echo")


def test_a_step_that_fails_runs_nothing(tmp_path):
    """The probe was right once; the workspace's mount is gone now."""
    box = Box(tmp_path)
    box.sandbox.shelter()
    launch = box.sandbox.prepare(["touch", str(tmp_path / "ran")])
    os.rename(box.workspace, tmp_path / "away")
    os.rename(launch.scratch / "tmp", launch.scratch / "gone")
    box.workspace.mkdir()
    (box.workspace / "memory").symlink_to("/nonexistent")

    done = asyncio.run(run(launch, 10))

    if box.sandbox.shelter().strategy != "namespaces":
        pytest.skip("only the namespaces need these directories")
    assert done.code == 125
    assert done.stderr.startswith(b"claw sandbox: ")


@pytest.mark.parametrize(("settings", "mode"), [
    (SandboxSettings(), "auto"), (SandboxSettings(mode="off"), "off"),
    (SandboxSettings(enabled=False), "off"),
    (SandboxSettings(backend="none"), "off"),
    (SandboxSettings(enabled=False, mode="required"), "required"),
    (SandboxSettings(backend="docker"), "auto")])
def test_the_references_keys_mean_what_they_said(settings, mode):
    assert settings.effective_mode() == mode


def test_a_backend_that_is_not_used_is_named(tmp_path):
    sandbox = Sandbox(tmp_path, SandboxSettings(backend="firejail"),
                      ResourceSettings(), os.environ)

    assert any("firejail" in text for active, text in sandbox.describe()
               if not active)


def test_safe_environment_takes_names_not_patterns():
    env = {"PATH": "/bin", "LANG": "C", "X_API_KEY": "1", "LANGUAGE": "x"}

    assert safe_environment(env, Path("/w"), []) == {
        "PATH": "/bin", "LANG": "C", "HOME": "/w",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
        "GIT_TEMPLATE_DIR": ""}


def test_the_launcher_imports_next_to_nothing():
    """typing alone would add a third to the cost of every command."""
    folder = Path(children.__file__).parent
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c",
         f"import sys; sys.path.append({str(folder)!r}); "
         "import confine.launch; print(*sys.modules)"],
        capture_output=True, text=True, check=True)

    assert not {"typing", "re", "enum", "json", "claw", "dataclasses",
                "signal"} & set(done.stdout.split())
