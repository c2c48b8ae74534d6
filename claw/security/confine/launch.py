"""Confines itself as the plan says, then becomes the command.

    claw -> launcher (waits) -> first process of the namespace -> command

The launcher stays outside to watch: when its standard input ends (claw
hung up, or died), the command passes its quota (which it says on that
input, a socket) or is done, every process that the command left behind is
ended too. A step that fails stops everything: exit 125,
nothing was run. Only a probe goes on, and prints what works.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import resource
import select
import sys

from . import FAILED, kernel, landlock, notify, quota, seccomp, view
from .attachments import list_of_other_chats

_TICK_MS = 200

TYPE_CHECKING = False  # typing itself would cost 8 of our 25 ms
if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeAlias

    _Plan: TypeAlias = dict[str, Any]

_DEVICES = [f"/dev/{name}" for name in view.DEVICES]
# Of the machine's /proc what names no other process.
_PROC = [f"/proc/{name}" for name in (
    "self", "cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "sys",
    "uptime", "version", "vmstat")]


def main() -> NoReturn:
    """argv: the plan (marshal, hexadecimal), then the command's words.

    The plan: steps (namespaces, landlock, seccomp, limits), probe, network,
    workspace, read, write, hidden, read_only (paths), root, tmp, limits
    {name: value}, tasks, served (by serve.py), max_bytes, max_files, max_tmp,
    watched (folders), chat (channel and chat, or None), stdin (the
    command's, a descriptor; None: it has nothing to read), files (texts
    that stand in the tree), programs (those that may run; None: all),
    listener (a socket that gets the listener of the system calls named in
    `heard`; None: nobody listens).
    """
    run(marshal.loads(bytes.fromhex(sys.argv[1])), sys.argv[2:])


def run(plan: _Plan, command: list[str]) -> NoReturn:
    """Be the launcher of this command. One that was not started by claw
    itself says on its standard input how the command ended."""
    try:
        code = _run(plan, command)
    except OSError as error:
        _say(error)
        code = FAILED
    if plan["served"]:
        os.write(0, f"code {code}".encode())
    os._exit(code)


def _say(error: OSError) -> None:
    os.write(2, f"claw sandbox: {error}\n".encode(errors="replace"))


def _fail(error: OSError) -> NoReturn:
    _say(error)
    os._exit(FAILED)


class _Steps:
    """Takes the plan's steps; in a probe a failed one is noted."""

    def __init__(self, plan: _Plan) -> None:
        self.plan = plan
        self.report: list[str] = []
        self.active: set[str] = set()

    def take(self, name: str, action: Any) -> bool:
        if name not in self.plan["steps"]:
            return False
        try:
            label = action() or name
        except OSError as error:
            if not self.plan["probe"]:
                raise
            self.report.append(f"missing\t{name}\t{error}")
            return False
        self.report.append(f"active\t{name}\t{label}")
        self.active.add(name)
        return True


def _run(plan: _Plan, command: list[str]) -> int:
    steps = _Steps(plan)
    if not steps.take("namespaces", lambda: view.enter(plan)):
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        _count_tasks_of_user(plan)
        plan["watched"].append(plan["tmp"])
    watched = quota.Quota(plan["watched"], plan["hidden"],
                          plan["max_bytes"], plan["max_files"])
    child = os.fork()
    if child == 0:
        try:
            _inside(plan, steps, command)
        except OSError as error:
            _fail(error)
    code = _watch(child, watched)
    _end_all()
    return code


def _inside(plan: _Plan, steps: _Steps, command: list[str]) -> NoReturn:
    """In a namespace: be its first process, with the command as a child.

    The child inherits what confines this process; it is spawned, not
    forked, since copying a Python costs as much as half the tree. That
    leaves both in one Landlock domain: nothing can be read or written
    here, since the process is not dumpable and holds no file."""
    if "namespaces" not in steps.active:
        _confine(plan, steps)
        os.execvp(command[0], command)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    try:
        view.finish(plan)
    except OSError as error:
        if not plan["probe"]:
            raise
        os.write(1, f"missing\tnamespaces\t{error}".encode())
        os._exit(0)
    _confine(plan, steps)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    child = os.posix_spawnp(command[0], command, os.environ)
    while True:  # and reap what is left to us
        pid, status = os.wait()
        if pid == child:
            os._exit(_code(status))  # the kernel ends all others


def _confine(plan: _Plan, steps: _Steps) -> None:
    """What holds for this process and all that it starts from now on."""
    os.setsid()
    for number in (_signal.SIGPIPE, _signal.SIGINT):  # Python's own
        _signal.signal(number, _signal.SIG_DFL)
    os.chdir(plan["workspace"])
    source = plan["stdin"]
    if source is None:
        source = os.open(os.devnull, os.O_RDONLY)
    os.dup2(source, 0)
    os.close(source)
    own = "namespaces" in steps.active or plan["wrapped"]
    os.environ["TMPDIR"] = "/tmp" if own else plan["tmp"]
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    steps.take("limits", lambda: _limit(plan))
    if plan["steps"] != ["limits"] and not plan["served"]:
        kernel.drop_capabilities()
    steps.take("landlock", lambda: _allow_paths(plan, own))
    steps.take("seccomp", lambda: seccomp.restrict(
        find_families(plan, own=own)))
    if plan["listener"] is not None:
        # Landlock lets everybody execute a file without a name.
        _hand_over(plan["listener"], notify.listen(
            tuple(plan["heard"]),
            () if plan["programs"] is None else ("memfd_create",)))
    if plan["probe"]:
        os.write(1, "\n".join(steps.report).encode(errors="replace"))
        os._exit(0)


def _hand_over(number: int, listener: int) -> None:
    """Send a descriptor to claw; neither stays open here."""
    claw = _socket.socket(fileno=number)
    claw.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS,
                           listener.to_bytes(4, sys.byteorder))])
    claw.close()
    os.close(listener)


def _allow_paths(plan: _Plan, own: bool) -> str:
    """In a tree of its own a command may read all there is; what is kept
    from it has been covered."""
    if own:
        return landlock.restrict(
            ["/"], [*plan["write"], "/tmp", "/dev"],
            network=plan["network"], programs=plan["programs"])
    hidden = set(plan["hidden"])
    if plan["chat"] is not None:
        for folder, _, foreign in list_of_other_chats(
                plan["workspace"], plan["chat"]):
            hidden.update(f"{folder}/{name}" for name in foreign)
    return landlock.restrict(
        [*plan["read"], *_PROC], [*plan["write"], plan["tmp"], *_DEVICES],
        network=plan["network"], hidden=frozenset(hidden),
        read_only=frozenset(plan["read_only"]), programs=plan["programs"])


def find_families(plan: _Plan, *, own: bool) -> tuple[int, ...]:
    """Kinds of socket. Those of the machine's own services (AF_UNIX) can
    be reached only where the file tree is the machine's."""
    inet = (seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK)
    return ((seccomp.AF_UNIX,) if own else ()) + (
        inet if own or plan["network"] else ())


def _limit(plan: _Plan) -> str:
    for name, value in plan["limits"].items():
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        # One second more, so that the command sees SIGXCPU first.
        spare = 1 if name == "CPU" and hard in (
            resource.RLIM_INFINITY,) else 0
        resource.setrlimit(kind, (value, value + spare))
    return "limits on memory, CPU, files and processes"


def _count_tasks_of_user(plan: _Plan) -> None:
    """Outside a user namespace RLIMIT_NPROC counts all that this user
    runs, so the limit stands on top of what there is."""
    uid, tasks = os.getuid(), 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == uid:
                    tasks += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue  # it has ended meanwhile
    plan["limits"]["NPROC"] += tasks


def _watch(child: int, watched: quota.Quota) -> int:
    """The child's exit code; ends it when standard input ends first, or
    for what it writes."""
    ended = os.pidfd_open(child)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    tick_ms: int | None = _TICK_MS
    while ended not in (ready := dict(poll.poll(tick_ms))):
        if ready and not os.read(0, 4096):
            os.kill(child, 9)
            poll.unregister(0)
        elif not ready and (excess := watched.find_excess(
                _list_processes())):
            os.kill(child, 9)
            os.write(0, b"excess " + excess.encode())
            tick_ms = None
    return _code(os.waitpid(child, 0)[1])


def _list_processes() -> list[str]:
    """Ids of the command's processes as /proc has them now."""
    if not os.path.exists("/proc/self"):  # it is the namespace's own
        return [name for name in os.listdir("/proc") if name.isdigit()]
    found = _list_children(str(os.getpid()))
    for process in found:
        found += _list_children(process)
    return found


def _list_children(process: str) -> list[str]:
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            return file.read().split()
    except OSError:
        return []


def _end_all() -> None:
    """End every process that the command left to us (its reaper)."""
    while left := _list_children(str(os.getpid())):
        for pid in left:
            os.kill(int(pid), 9)
        try:
            os.wait()
        except ChildProcessError:
            return


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
