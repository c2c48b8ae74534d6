"""Hears the system calls of a skill's script: to note what it reaches, and
to connect it with the hosts that it was granted.

The script's network holds nothing, so what is not answered here fails in
the kernel. A connection to a granted host is made by claw, to an address
that it looked up and checked itself, and given to the script in the place
of its own socket. That one is of the machine's network: let go of its host
it would reach any other, so where hosts are granted no connect is left to the
kernel.
"""

import errno
import ipaddress
import os
import re
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from claw.security.confine import kernel, notify
from claw.security.egress import is_public
from claw.security.sandbox import system_calls
from claw.security.sandbox.system_calls import Call
from claw.tools.skills.names import NAMESERVER, Names

_CONNECT_S = 10.0
_QUERY_BYTES = 4_096
_MOST_INTERPRETERS = 5  # the kernel's own limit
_MOST_AT_ONCE = 64  # connections that are made, and that ask for names
_O_CLOEXEC, _O_NONBLOCK = os.O_CLOEXEC, os.O_NONBLOCK
# call -> (argument with the folder, that with the path), ...
_PATHS: dict[str, tuple[tuple[int | None, int], ...]] = {
    "open": ((None, 0),), "creat": ((None, 0),), "openat": ((0, 1),),
    "truncate": ((None, 0),), "unlink": ((None, 0),),
    "unlinkat": ((0, 1),), "mkdir": ((None, 0),), "mkdirat": ((0, 1),),
    "rmdir": ((None, 0),), "chmod": ((None, 0),), "fchmodat": ((0, 1),),
    "rename": ((None, 0), (None, 1)), "renameat": ((0, 1), (2, 3)),
    "renameat2": ((0, 1), (2, 3)), "link": ((None, 1),),
    "linkat": ((2, 3),), "symlink": ((None, 1),), "symlinkat": ((1, 2),),
    "execve": ((None, 0),), "execveat": ((0, 1),)}
_FLAGS = {"open": 1, "openat": 2}
_RUNS = ("execve", "execveat")
ALL = (*_PATHS, "connect", "sendto")
GUARDED = (*_RUNS, "connect")
_LOADER = re.compile(r"ld(?:-linux.*|-musl.*|-[\d.]+)\.so[\d.]*\Z|ld\.so\Z")
Note = Callable[[str, str], None]


class Watcher:
    """Listens while inside `with`; hand `descriptor` to the sandbox as its
    listener. `note` hears (kind of Access, what); None: nobody wants to
    know. `granted` are hosts as "name:port".

    Raises OSError where this machine can't.
    """

    def __init__(self, calls: tuple[str, ...], granted: frozenset[str],
                 note: Note | None = None,
                 resolve: Callable[..., Sequence[tuple[object, ...]]]
                 = socket.getaddrinfo) -> None:
        self._numbers = notify.find_numbers(calls)
        self.heard = tuple(self._numbers)
        self._granted = granted
        self._note = note
        self._resolve = resolve
        self._names = Names(self._knows)
        self._connecting = threading.Semaphore(_MOST_AT_ONCE)
        self._asking = threading.Semaphore(_MOST_AT_ONCE)
        self._connected: set[str] = set()
        self._started = False
        self._ours, self._theirs = socket.socketpair()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    @property
    def descriptor(self) -> int:
        return self._theirs.fileno()

    def __enter__(self) -> "Watcher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._theirs.close()
        self._ours.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._ours.close()
        if self._note is not None:
            # A name alone can tell much to who is asked for it.
            for name in {*self._names.asked} - self._connected:
                self._note("hosts", f"{name}:53")

    def _listen(self) -> None:
        _, found, _, _ = socket.recv_fds(self._ours, 1, 1)
        for listener in found:
            system_calls.serve(listener, self._numbers, self._hear,
                               self._over.is_set)

    def _hear(self, call: Call) -> None:
        if call.name in ("connect", "sendto"):
            if not self._connecting.acquire(blocking=False):
                call.answer(-errno.EAGAIN)
                return
            threading.Thread(target=self._connect, args=(call,),
                             daemon=True).start()
            return
        result = None
        try:
            for kind, path in read_paths(call):
                if self._note is not None:
                    self._note(kind, path)
                elif _hides_program(call, path):
                    result = -errno.EACCES
        except OSError as error:
            # The first is claw's own start of the script, which can't be
            # looked into; in a dry run the sandbox decides all the same.
            result = None if self._note or not self._started \
                else -(error.errno or errno.EACCES)
        self._started = True
        call.answer(result)

    def _connect(self, call: Call) -> None:
        try:
            # With a host it holds a socket of the machine's network, and
            # what was read here may be another address by now.
            result = -errno.ENETUNREACH if self._granted else None
            target = _read_target(call)
            if target is not None:
                reached = self._reach(call, *target)
                result = result if reached is None else reached
        except socket.gaierror:
            result = -errno.EHOSTUNREACH
        except OSError as error:
            result = -(error.errno or errno.EACCES)
        finally:
            self._connecting.release()
        try:
            call.answer(result)
        except OSError:
            return  # the listener is closed, and the process gone

    def _reach(self, call: Call, address: str, port: int) -> int | None:
        if (address, port) == (NAMESERVER, 53):
            return self._serve_names(call)
        name = self._names.find(address)
        host = f"{name}:{port}"
        self._connected.add(name)
        if self._note is not None and port:
            self._note("hosts", host)
        if host not in self._granted or call.name != "connect":
            return None  # the kernel says that there is no network
        with self._open(name, port) as connection:
            return _hand_over(call, connection)

    def _open(self, host: str, port: int) -> socket.socket:
        """Raises OSError."""
        is_address = _is_address(host)
        for _, _, _, _, found in self._resolve(
                host, port, type=socket.SOCK_STREAM):
            ip = str(found[0])  # type: ignore[index]
            if is_address or is_public(ip):
                return socket.create_connection((ip, port), _CONNECT_S)
        raise OSError(errno.EACCES, f"{host} leads to no public address")

    def _serve_names(self, call: Call) -> int:
        if not self._asking.acquire(blocking=False):
            return -errno.EAGAIN
        ours, theirs = socket.socketpair()
        threading.Thread(target=self._answer_names, args=(ours,),
                         daemon=True).start()
        with theirs:
            return _hand_over(call, theirs)

    def _answer_names(self, ours: socket.socket) -> None:
        with ours, ours.makefile("rb") as reader:
            ours.settimeout(_CONNECT_S)
            try:
                while size := reader.read(2):
                    query = reader.read(struct.unpack(">H", size)[0])
                    answer = self._names.answer(query[:_QUERY_BYTES])
                    ours.sendall(struct.pack(">H", len(answer)) + answer)
            except (OSError, ValueError, IndexError, struct.error):
                return  # no question, or nobody who asks
            finally:
                self._asking.release()

    def _knows(self, name: str) -> bool:
        """In a dry run every name, so that the port is heard too."""
        return self._note is not None or any(
            each.rpartition(":")[0] == name for each in self._granted)


def read_paths(call: Call) -> list[tuple[str, str]]:
    """(kind of Access, absolute path) of what a call names. Raises
    OSError."""
    found = []
    for folder, place in _PATHS[call.name]:
        path = call.read_path(call.args[place])
        if not path and call.name == "execveat":
            path = "/proc/self/fd"  # the open file itself
        if not path.startswith("/"):
            number = -100 if folder is None else _signed(call.args[folder])
            base = os.readlink(f"/proc/{call.thread}/cwd") \
                if number == -100 else call.path(number)
            path = f"{base}/{path}"
        found.append((_find_kind(call), os.path.normpath(path)))
    return found


def _hides_program(call: Call, path: str) -> bool:
    """Whether what runs would be another file than the one named, or one
    without a name: through the loader, or through /proc. Raises OSError."""
    for _ in range(_MOST_INTERPRETERS):
        if path.startswith(("/proc/", "/dev/")):
            return True
        with open(kernel.open_in_root(f"/proc/{call.thread}/root", path),
                  "rb") as file:
            name = os.path.basename(os.readlink(
                f"/proc/self/fd/{file.fileno()}"))
            first = file.read(256) or b""  # a pipe has nothing yet
        if _LOADER.match(name):
            return True
        words = first[2:].partition(b"\n")[0].split()
        if not first.startswith(b"#!") or not words:
            return False
        path = os.path.normpath(os.fsdecode(words[0]))
    return True


def _find_kind(call: Call) -> str:
    if call.name in _RUNS:
        return "programs"
    flags = call.args[_FLAGS[call.name]] if call.name in _FLAGS \
        else os.O_WRONLY
    if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
        return "writes"
    return "lists" if flags & os.O_DIRECTORY else "reads"


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _read_target(call: Call) -> tuple[str, int] | None:
    """Address and port of the internet that a call names; None: none.
    Raises OSError."""
    place, length = (1, 2) if call.name == "connect" else (4, 5)
    if not call.args[place]:
        return None
    data = call.read(call.args[place], min(call.args[length], 28))
    if not call.is_waiting() or len(data) < 8:
        return None
    family, port = struct.unpack_from("=H", data)[0], \
        struct.unpack_from(">H", data, 2)[0]
    if family == socket.AF_INET:
        return str(ipaddress.IPv4Address(data[4:8])), port
    if family == socket.AF_INET6 and len(data) >= 24:
        address = ipaddress.IPv6Address(data[8:24])
        return str(address.ipv4_mapped or address), port
    return None


def _hand_over(call: Call, connection: socket.socket) -> int:
    """Give it the process in the place of the socket that it connects.
    Raises OSError."""
    number = _signed(call.args[0])
    info = Path(f"/proc/{call.thread}/fdinfo/{number}").read_text()
    flags = int(info.split("flags:")[1].split()[0], 8)
    connection.setblocking(not flags & _O_NONBLOCK)
    call.give(connection.fileno(), number, flags & _O_CLOEXEC)
    return 0


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
