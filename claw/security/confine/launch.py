"""Confines itself as the plan says, then becomes the command.

    claw -> launcher (waits) -> first process of the namespace -> command

The launcher stays outside to watch: when its standard input ends (claw
hung up, or died) or the command is done, every process that the command
left behind is ended too. A step that fails stops everything: exit 125,
nothing was run. Only a probe goes on, and prints what works.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import sys

from . import FAILED, kernel, landlock, seccomp, view

TYPE_CHECKING = False  # typing itself would cost 8 of our 25 ms
if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeAlias

    _Plan: TypeAlias = dict[str, Any]

_REACHABLE = ["/tmp", "/dev/shm", *(f"/dev/{n}" for n in view.DEVICES)]


def main() -> NoReturn:
    """argv: the plan (marshal, hexadecimal), then the command's words.

    The plan: steps (namespaces, landlock, seccomp, limits), probe, network,
    workspace, read, write, hidden, read_only (paths), root, tmp, limits
    {name: value}, tasks.
    """
    plan: _Plan = marshal.loads(bytes.fromhex(sys.argv[1]))
    try:
        _run(plan, sys.argv[2:])
    except OSError as error:
        _fail(error)


def _fail(error: OSError) -> NoReturn:
    os.write(2, f"claw sandbox: {error}\n".encode(errors="replace"))
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


def _run(plan: _Plan, command: list[str]) -> NoReturn:
    steps = _Steps(plan)

    def enter() -> str:
        view.unshare(network=plan["network"])
        view.build(plan["root"], plan["tmp"], plan["read"], plan["write"],
                   plan["hidden"], plan["read_only"])
        return "own file tree, network and process table"

    if not steps.take("namespaces", enter):
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        _count_tasks_of_user(plan)
    child = os.fork()
    if child == 0:
        try:
            _inside(plan, steps, command)
        except OSError as error:
            _fail(error)
    code = _watch(child)
    _end_all()
    os._exit(code)


def _inside(plan: _Plan, steps: _Steps, command: list[str]) -> NoReturn:
    """In a namespace: be its first process, with the command as a child."""
    if "namespaces" not in steps.active:
        _become(plan, steps, command)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    try:
        view.finish(plan["root"], plan["tasks"])
    except OSError as error:
        if not plan["probe"]:
            raise
        os.write(1, f"missing\tnamespaces\t{error}".encode())
        os._exit(0)
    child = os.fork()
    if child == 0:
        try:
            _become(plan, steps, command)
        except OSError as error:
            _fail(error)
    while True:  # and reap what is left to us
        pid, status = os.wait()
        if pid == child:
            os._exit(_code(status))  # the kernel ends all others


def _become(plan: _Plan, steps: _Steps, command: list[str]) -> NoReturn:
    os.setsid()
    os.chdir(plan["workspace"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    own = "namespaces" in steps.active or plan["wrapped"]
    os.environ["TMPDIR"] = "/tmp" if own else plan["tmp"]
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    steps.take("limits", lambda: _limit(plan))
    if plan["steps"] != ["limits"]:
        kernel.drop_capabilities()
    steps.take("landlock", lambda: landlock.restrict(
        ["/"] if own else [*plan["read"], "/proc"],
        plan["write"] + (_REACHABLE if own else [
            plan["tmp"], *_REACHABLE[2:]]), network=plan["network"]))
    steps.take("seccomp", lambda: seccomp.restrict(_families(plan, own)))
    if plan["probe"]:
        os.write(1, "\n".join(steps.report).encode(errors="replace"))
        os._exit(0)
    os.execvp(command[0], command)


def _families(plan: _Plan, own: bool) -> tuple[int, ...]:
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


def _watch(child: int) -> int:
    """The child's exit code; ends it when standard input ends first."""
    ended = os.pidfd_open(child)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    while not any(fd == ended for fd, _ in poll.poll()):
        if not os.read(0, 4096):
            os.kill(child, 9)
            poll.unregister(0)
    return _code(os.waitpid(child, 0)[1])


def _end_all() -> None:
    """End every process that the command left to us (its reaper)."""
    me = os.getpid()
    while True:
        try:
            with open(f"/proc/{me}/task/{me}/children") as file:
                left = [int(pid) for pid in file.read().split()]
        except OSError:
            return
        for pid in left:
            os.kill(pid, 9)
        try:
            os.wait()
        except ChildProcessError:
            return


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
