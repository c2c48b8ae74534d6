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
from claw.security.sandbox import children
from claw.security.sandbox.children import OUTPUT_BYTES, run
from claw.security.sandbox.sandbox import Sandbox, safe_environment
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
        (self.workspace / "d").mkdir()
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

    def __call__(self, command, timeout_s=30.0, chat=None):
        done = asyncio.run(run(self.sandbox.prepare(
            ["sh", "-c", command], chat=chat), timeout_s))
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
    done = box("pwd; cd d; echo hi > a && mkdir b && mv a b/a && cat b/a")

    assert (done.code, done.stdout) == (
        0, f"{box.workspace}\nhi\n".encode())
    assert (box.workspace / "d/b/a").read_text() == "hi\n"


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


def test_the_fallback_keeps_claws_own_files_and_other_processes_away(
        tmp_path):
    kept = tmp_path / "ws"
    box = Box(tmp_path, strategies=("tree",), read_only=[
        kept / "USER.md", kept / ".git/hooks"])
    if "landlock" not in box.sandbox.shelter().steps:
        pytest.skip("no Landlock on this kernel")
    for name in ("memory/brain.db", ".git/hooks/x", ".git/objects/o",
                 "USER.md", "config.toml", "notes"):
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        (kept / name).write_text("S3CRET" if "." in name[1:] else "mine")
    (kept / "planted").symlink_to(tmp_path / "user")
    (kept / "USER.md").write_text("mine")

    box("cat memory/brain.db config.toml planted/.ssh/id_rsa; "
        "cat USER.md .git/hooks/x notes; "
        "echo no > USER.md; echo no > .git/hooks/x; echo no > memory/new; "
        "mv memory m2; mv .git g2; rm USER.md; ln -s /etc state/x; "
        "ln memory/brain.db d/hard; mv memory/brain.db d; "
        "echo yes > .git/objects/new; echo yes > notes; touch top")

    assert "S3CRET" not in box.text
    assert box.text.count("mine") == 3
    assert sorted(p.name for p in kept.iterdir()) == [
        ".git", "USER.md", "config.toml", "d", "link", "memory", "notes",
        "planted", "state"]
    assert [(kept / name).read_text() for name in (
        "USER.md", ".git/hooks/x", ".git/objects/new", "notes")] == [
        "mine", "mine", "yes\n", "yes\n"]
    assert [os.listdir(kept / name) for name in ("memory", "state", "d")] == [
        ["brain.db"], [], []]
    with subprocess.Popen(["sleep", "5"]) as other:
        box(f"cat /proc/{other.pid}/cmdline; ls /proc; cat /proc/meminfo; "
            "exec cat /proc/self/cmdline")
        other.kill()
    assert "sleep" not in box.text
    assert "MemTotal" in box.text
    assert "meminfo" not in box.text.partition("MemTotal")[0]


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


def test_a_chats_command_sees_what_was_sent_in_this_chat(box):
    sent = box.workspace / "telegram_files"
    for name in ("telegram_5_1_a.txt", "telegram_55_1_a.txt",
                 "telegram_6_2_b.txt", ".x.part", "notes.txt"):
        sent.mkdir(exist_ok=True)
        (sent / name).write_text(name)
    (sent / "telegram_5_2_link").symlink_to("telegram_6_2_b.txt")
    for name in ("voice_files/voice-1.ogg", "slack_files/slack_5_1_c.txt",
                 "report_files/page.html"):
        (box.workspace / name).parent.mkdir()
        (box.workspace / name).write_text(name)
    (box.workspace / "d/around").symlink_to("../telegram_files")

    box("grep -rh . *_files; cat telegram_files/* d/around/telegram_6_2_b.txt;"
        " cp -r telegram_files d; mv telegram_files t; rm telegram_files/*6*",
        chat=("telegram", "5"))

    shown = box.text.splitlines()
    assert {"telegram_5_1_a.txt", "notes.txt", "report_files/page.html"
            } <= set(shown)
    assert not [line for line in shown if ": " not in line and any(
        foreign in line for foreign in ("_6_", "_55_", "part", "voice",
                                        "slack"))]
    assert len(os.listdir(sent)) == 6
    box("cat telegram_files/*6_2* slack_files/*")
    assert box.text == "telegram_6_2_b.txtslack_files/slack_5_1_c.txt"


def test_the_kernel_settings_are_read_only(best):
    done = best("echo 1 > /proc/sys/kernel/pid_max; mount -t tmpfs x /tmp; "
                "unshare -Ur true && echo REACHED")

    assert done.code != 0
    assert b"REACHED" not in done.stdout


TRY_CALLS = """
import ctypes, os, socket, stat
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
clone = {"x86_64": 56}.get(os.uname().machine, 220)
def call(number, *args):
    result = libc.syscall(number, *map(ctypes.c_ulong, args))
    if result == 0:
        os._exit(print("REACHED", flush=True) or 0)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    os.waitpid(result, 0)
def opened(*args):
    os.close(os.open(*args))
open("f", "w").close()
for what, act in {
    "clone user": lambda: call(clone, 0x10000000 | 17, 0, 0, 0, 0),
    "clone net": lambda: call(clone, 0x50000000 | 17, 0, 0, 0, 0),
    "clone3": lambda: call(435, 0, 0),
    "unshare": lambda: call({"x86_64": 272}.get(os.uname().machine, 97),
                            0x10000000),
    "openat2": lambda: call(437, 0, 0, 0, 0),
    "netfilter": lambda: socket.socket(16, 3, 12),
    "netlink generic": lambda: socket.socket(16, 3, 16),
    "tipc pair": lambda: socket.socketpair(30, 1),
    "chmod u+s": lambda: os.chmod("f", 0o4755),
    "chmod g+s": lambda: os.chmod("f", 0o2755),
    "fchmod": lambda: os.chmod(os.open("f", 0), 0o6755),
    "chmod at": lambda: os.chmod("f", 0o4755, dir_fd=os.open(".", 0)),
    "fchmodat2": lambda: call(452, -100, 0, 0o4755, 0),
    "create": lambda: opened("c", os.O_CREAT | os.O_WRONLY, 0o4755),
    "unnamed": lambda: opened(".", os.O_TMPFILE | os.O_RDWR, 0o4755),
    "mknod": lambda: os.mknod("n", 0o4755 | stat.S_IFREG),
    "plain open": lambda: opened("f", os.O_RDONLY, 0o4755),
    "plain create": lambda: opened("c", os.O_CREAT | os.O_WRONLY, 0o755),
    "plain chmod": lambda: os.chmod("f", 0o755),
    "pair": socket.socketpair,
    "fork": lambda: os.waitpid(os.fork() or os._exit(0), 0),
}.items():
    try:
        act()
        print(what, "done")
    except OSError as error:
        print(what, error.errno)
"""


def test_no_new_namespaces_no_set_id_files_no_netlink(box):
    (box.workspace / "try.py").write_text(TRY_CALLS)

    box("cd d && python3 ../try.py")

    lines = dict(line.rsplit(" ", 1) for line in box.text.splitlines())
    assert {w for w in lines if lines[w] == "done"} == {
        "plain open", "plain create", "plain chmod", "pair", "fork"}
    assert {w for w in lines if lines[w] == "38"} == {"clone3", "openat2"}
    assert {w for w in lines if lines[w] not in ("1", "38", "done")} == set()
    assert not [p for p in box.workspace.rglob("*")
                if p.lstat().st_mode & 0o6000]


def test_temporary_files_go_to_a_private_place(box):
    done = box("python3 -c 'import tempfile;f=tempfile.mkstemp();"
               "print(f[1])'")
    there = Path(done.stdout.decode().strip())

    assert done.code == 0, box.text
    assert not there.exists()


def test_the_first_process_of_the_namespace_can_not_be_touched(best):
    """It shares the command's Landlock domain."""
    best("true")  # the next one is served
    (best.workspace / "d/touch.py").write_text("""
import os, signal
for path in ("mem", "maps", "environ", "fd/0", "io"):
    try:
        open(f"/proc/1/{path}", "rb").read(1)
        print("REACHED", path)
    except OSError:
        pass
for number in signal.Signals:
    os.kill(1, number)
print("alive")
""")

    done = best("python3 d/touch.py; exit 3")

    assert (done.code, done.stdout) == (3, b"alive\n"), best.text


def test_a_closed_pipe_ends_a_command_quietly(box):
    done = box("yes | head -1")

    assert (done.stdout, done.stderr) == (b"y\n", b"")


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
    done = box("head -c 3000000 /dev/zero; echo end > d/done")

    assert (done.code, len(done.stdout), done.stdout_cut) == (
        0, OUTPUT_BYTES, True)
    assert (box.workspace / "d/done").exists()


def test_commands_of_a_server_are_as_confined_as_the_first(best):
    """From the second command on they are forks of one process."""
    report = ("id -u; pwd; grep -h Cap /proc/self/status; ls / /dev /proc/1; "
              "cut -d' ' -f5,6 /proc/self/mountinfo | sort | grep -v "
              "'^/proc '; ulimit -a; env | "
              "sort; ls -l /proc/self/ns/user | wc -l; cat ../secret; touch "
              "/x /usr/x memory/x; echo > /tmp/left")

    first = best(report)
    second = best(report)

    assert best.sandbox._server is not None
    assert second == first
    assert best("ls -A /tmp /dev/shm; ls /proc | grep -c '^[0-9]'"
                ).stdout.splitlines()[-1] <= b"4"
    assert b"left" not in best("ls -A /tmp").stdout


def test_a_server_that_died_or_is_out_of_date_is_replaced(best):
    best("true")
    best("true")
    old = best.sandbox._server
    os.kill(old.pid, 9)
    os.waitid(os.P_PID, old.pid, os.WEXITED | os.WNOWAIT)
    assert best("echo again").stdout == b"again\n"
    assert best.sandbox._server is not old
    best.workspace.rename(best.folder / "before")
    (best.workspace / "d").mkdir(parents=True)

    best("echo > d/new")

    assert (best.workspace / "d/new").exists()


@pytest.mark.parametrize("word", ["a\0b", "x" * (1 << 17)])
def test_a_word_that_no_command_can_have_is_refused(best, word):
    best("true")
    best("true")

    with pytest.raises((ValueError, OSError)):
        best(f"echo {word}")


def test_memory_is_limited(tmp_path):
    box = Box(tmp_path, resources=ResourceSettings(max_memory_mb=64))

    assert box("python3 -c 'bytearray(200 << 20)'").code == 1
    assert "MemoryError" in box.text


def test_processor_time_is_limited(tmp_path):
    box = Box(tmp_path, resources=ResourceSettings(max_cpu_time_seconds=1))

    assert box("exec python3 -c 'while True: pass'").code in (137, 152)


def test_files_do_not_grow_without_end(box):
    done = box("dd if=/dev/zero of=d/big bs=1M seek=2000 count=1")

    assert done.code != 0
    assert (box.workspace / "d/big").stat().st_size <= 1 << 30


MANY = """
import os
os.chdir("d")
for n in range(4000):
    os.close(os.open(f"f{n}", os.O_CREAT | os.O_WRONLY))
open("all", "w")
import time; time.sleep(20)
"""
BIG = """
import time
for n in range(4):
    with open(f"d/b{n}", "wb") as file:
        file.write(bytes(40 << 20))
time.sleep(20)
"""
UNNAMED = """
import os, time
kept = []
for n in range(4):
    kept.append(open("d/unnamed", "wb"))
    os.unlink("d/unnamed")
    kept[-1].write(bytes(40 << 20))
    kept[-1].flush()
time.sleep(20)
"""
DEEP = """
import os, time
os.chdir("d")
for n in range(30):
    os.mkdir("x" * 200)
    os.chdir("x" * 200)
for n in range(4000):
    os.close(os.open(f"f{n}", os.O_CREAT | os.O_WRONLY))
time.sleep(20)
"""


@pytest.mark.parametrize(("script", "said"), [
    (MANY, "it made or changed more than 2,000 files"),
    (BIG, "it wrote more than 100 MiB"),
    (UNNAMED, "it wrote more than 100 MiB"),
    (DEEP, "it made folders too deep to be looked at")])
@pytest.mark.parametrize("strategies", [("namespaces",), ("tree",)])
def test_a_command_that_fills_the_disk_is_ended(
        tmp_path, strategies, script, said):
    box = Box(tmp_path, strategies=strategies, resources=ResourceSettings(
        max_disk_mb=100, max_files=2000))
    (box.workspace / "d/s.py").write_text(script)

    done = box("python3 d/s.py")

    assert (done.code, done.excess) == (None, said), box.text


def test_holes_and_what_was_there_count_for_nothing(box):
    box.sandbox = Sandbox(
        box.workspace, SandboxSettings(), ResourceSettings(
            max_disk_mb=100, max_files=20), dict(os.environ))
    for number in range(150):
        (box.workspace / f"d/old{number}").write_bytes(bytes(1 << 20))
    (box.workspace / "d/sparse").touch()
    os.truncate(box.workspace / "d/sparse", 1 << 40)

    done = box("head -c 50000000 /dev/zero > d/new; touch d/sparse; "
               "rm d/old1*; mv d/new d/newer; sleep 1; echo done")

    assert (done.stdout, done.excess) == (b"done\n", "")


def test_the_temporary_folder_is_small_and_of_its_own(best):
    best.sandbox = Sandbox(
        best.workspace, SandboxSettings(), ResourceSettings(
            max_disk_mb=10, max_files=20), dict(os.environ))

    best("df -P /tmp | tail -1; head -c 20000000 /dev/zero > /tmp/x; "
         "rm /tmp/x; for n in $(seq 30); do : > /tmp/$n; done; exit")

    assert "File too large" in best.text or "No space" in best.text
    assert "No space" in best.text.splitlines()[-1]


def test_a_fork_bomb_stays_small(best):
    if any("number of processes" in text
           for active, text in best.sandbox.describe() if not active):
        pytest.skip("the kernel does not limit root's processes here")
    bomb = f"b() {{ b | b & }}; b; sleep 1; echo {os.getpid()}"
    best(bomb, timeout_s=10)

    assert "fork" in best.text.lower() or "Resource" in best.text
    assert gone(f"sh -c {bomb}")


VERSIONS = {"ls": "ls -a", "echo": "echo x", "pwd": "pwd", "wc": "echo x | wc",
            "head": "echo x | head -1", "tail": "echo x | tail -1",
            "cat": "echo x | cat", "grep": "echo x | grep x",
            "find": "find . -maxdepth 1", "date": "date", "df": "df .",
            "du": "du -s .", "uname": "uname -a", "uptime": "uptime",
            "hostname": "hostname", "free": "free",
            "python": "python -c 'import ssl, sqlite3, json; print(1)'",
            "python3": "python3 -c 'import ctypes; print(1)'",
            "pip": "pip --version",
            "node": "node -e 'require(\"fs\").writeFileSync(\"d/x\", \"y\");"
                    "console.log(require(\"child_process\")"
                    ".execSync(\"echo 1\").toString())'",
            "npm": "npm --version", "cargo": "cargo --version",
            "git": "git init -q r && cd r && echo x > f && git add f && git "
                   "-c user.name=n -c user.email=e commit -qm m && git log",
            "file": "file /bin/sh", "tree": "tree", "cd": "cd . && pwd",
            "jq": "echo 1 | jq .", "tar": "tar c /bin/sh 2>&1 | tar t",
            "tr": "echo x | tr x y", "sed": "echo x | sed s/x/y/",
            "awk": "echo x | awk '{print $1}'", "cut": "echo x | cut -c1",
            "join": "echo x > a; join a a", "cmp": "cmp /bin/sh /bin/sh; pwd",
            "diff": "diff /bin/sh /bin/sh; pwd", "seq": "seq 2",
            "comm": "echo x > a; comm a a", "printf": "printf x",
            "basename": "basename a/b", "dirname": "dirname a/b",
            "realpath": "realpath .", "readlink": "readlink -f .",
            "stat": "stat .", "which": "which sh", "expr": "expr 1 + 1",
            "type": "type ls", "[": "[ 1 ]; pwd", "id": "id",
            "whoami": "id -u", "sleep": "sleep 0; pwd", "true": "true; pwd",
            "false": "false; pwd", "test": "test 1; pwd",
            "mkdir": "mkdir -p d && ls", "touch": "touch t && ls",
            "cp": "echo x > a; cp a b && ls", "mv": "echo x > a; mv a b; ls",
            **{name: f"echo x | {name}" for name in (
                "sort", "uniq", "nl", "tac", "rev", "fold", "column",
                "paste", "md5sum", "sha1sum", "sha256sum")}}


@pytest.mark.parametrize("name", ALLOWED_COMMANDS)
def test_every_default_command_works_inside(box, name):
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    (box.folder / "d").mkdir()
    outside = subprocess.run(
        ["sh", "-c", f"cd d && {VERSIONS[name]}"], cwd=box.folder,
        capture_output=True, check=False)
    shutil.rmtree(box.folder / "d")
    (box.folder / "d").mkdir()
    if outside.returncode != 0:
        pytest.skip(f"{name} does not work here at all")

    done = box(f"cd d && {VERSIONS[name]}")

    assert done.code == 0, box.text
    assert done.stdout


def test_describe_says_what_is_active_and_what_is_missing(tmp_path):
    best = Box(tmp_path)
    (tmp_path / "2").mkdir()
    tree = Box(tmp_path / "2", strategies=("tree",))

    lines = best.sandbox.describe()
    assert all(isinstance(active, bool) and text for active, text in lines)
    assert any(not active and "names of the machine's files" in text
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
    os.rename(launch.scratch / "root", launch.scratch / "gone")
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
    folder = Path(children.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c",
         f"import sys; sys.path.append({str(folder)!r}); "
         "import confine.launch; print(*sys.modules)"],
        capture_output=True, text=True, check=True)

    assert not {"typing", "re", "enum", "json", "claw", "dataclasses",
                "signal"} & set(done.stdout.split())


def test_no_command_gets_what_claw_was_given(best, tmp_path):
    """The launch server is started at the second command."""
    (tmp_path / "given").write_text("S3CRET")
    with open(tmp_path / "given") as given:
        os.set_inheritable(given.fileno(), True)
        number = given.fileno()
        for _ in range(3):
            best(f"cat /proc/self/fd/{number} /dev/fd/{number}; "
                 "ls -l /proc/self/fd")
            assert "S3CRET" not in best.text
            assert "given" not in best.text


def test_room_on_the_disk_is_taken_by_writing_only(best):
    best("python3 -c 'import os; f = os.open(\"big\", os.O_CREAT | "
         "os.O_RDWR); import ctypes; libc = ctypes.CDLL(None, "
         "use_errno=True); print(libc.fallocate(f, 0, "
         "ctypes.c_long(0), ctypes.c_long(1 << 33)), ctypes.get_errno())'")

    assert "-1 95" in best.text


def test_what_a_command_leaves_is_removed_however_deep(tmp_path):
    box = Box(tmp_path, strategies=("tree",))
    launch = box.sandbox.prepare(["python3", "-c", """
import os
os.chdir(os.environ["TMPDIR"])
for _ in range(3000):
    os.mkdir("d")
    os.chdir("d")
"""])
    asyncio.run(run(launch, 30.0))

    assert not launch.scratch.exists()


@pytest.mark.parametrize("strategies", [
    ("namespaces",), ("bubblewrap",), ("tree",)])
@pytest.mark.parametrize("served", [False, True])
def test_a_workspace_in_a_hidden_folder_is_there_alone(
        tmp_path, strategies, served):
    """~/.claw/workspace, where ~ is an allowed root."""
    home = tmp_path / "user/.claw"
    workspace = home / "workspace"
    workspace.mkdir(parents=True)
    for name in ("config.toml", "workspace/memory.txt", "tools.py"):
        (home / name).write_text("S3CRET")
    sandbox = Sandbox(
        workspace, SandboxSettings(), ResourceSettings(), dict(os.environ),
        roots=[tmp_path / "user"], own=["state"],
        hidden=[workspace / "memory.txt", home],
        read_only=[workspace / "AGENTS.md"], strategies=strategies)
    if sandbox.shelter().strategy != strategies[0]:
        pytest.skip(f"no {strategies[0]} here")
    (workspace / "AGENTS.md").write_text("mine")
    (workspace / "d").mkdir()

    for _ in range(1 + served):
        done = asyncio.run(run(sandbox.prepare(["sh", "-c", (
            "cat AGENTS.md; echo x > d/a; echo x > ../../mine; "
            "cat ../config.toml ../tools.py memory.txt; ls state; "
            "echo x > AGENTS.md; echo x > ../new; mkdir ../tools; "
            "mv .. ../../away; touch state/x; cat ../../mine")]), 30))

    assert b"S3CRET" not in done.stdout + done.stderr
    assert done.stdout.startswith(b"mine")
    assert (workspace / "AGENTS.md").read_text() == "mine"
    assert (workspace / "d/a").read_text() == "x\n"
    assert sorted(os.listdir(home)) == ["config.toml", "tools.py",
                                        "workspace"]
    assert os.listdir(workspace / "state") == []
    assert (tmp_path / "user/mine").exists() == (strategies != ("tree",))
