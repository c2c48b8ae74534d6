"""Word to the service manager: what arrives at its socket."""

import os
import re
import socket
from contextlib import contextmanager

import pytest

from claw.runtime.process.notify import Notifier, watchdog_interval_s


@contextmanager
def manager(address):
    """The service manager's socket; a function that gives what came."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind("\0" + address[1:] if address[0] == "@" else address)
        sock.setblocking(False)

        def came():
            found = []
            while True:
                try:
                    found.append(sock.recv(4096).decode())
                except BlockingIOError:
                    return found
        yield came


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_every_word_arrives(tmp_path, kind):
    address = (str(tmp_path / "notify") if kind == "path"
               else f"@claw-test-{os.getpid()}")
    with manager(address) as came:
        notifier = Notifier({"NOTIFY_SOCKET": address})
        notifier.ready()
        notifier.status("polling\nREADY=0  telegram")
        notifier.watchdog()
        notifier.reloading()
        notifier.stopping()
        words = came()

    assert words[:3] == ["READY=1", "STATUS=polling READY=0 telegram",
                         "WATCHDOG=1"]
    assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", words[3])
    assert words[4:] == ["STOPPING=1"]


def test_a_status_may_hold_anything(tmp_path):
    address = str(tmp_path / "notify")
    with manager(address) as came:
        Notifier({"NOTIFY_SOCKET": address}).status("你好 \ud800")

        assert came() == ["STATUS=你好 ?"]


def test_without_a_manager_nothing_is_said(monkeypatch):
    def no_socket(*_):
        raise AssertionError("a socket was opened")
    monkeypatch.setattr(socket, "socket", no_socket)

    Notifier({}).ready()
    Notifier({"NOTIFY_SOCKET": ""}).ready()


def test_the_environment_is_asked(tmp_path, monkeypatch):
    address = str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with manager(address) as came:
        Notifier().ready()

        assert came() == ["READY=1"]


@pytest.mark.parametrize("address", [
    "/no/such/socket", "relative", "vsock:2:1", "/" + "x" * 300])
def test_a_dead_socket_is_told_of_once(address):
    lines = []
    notifier = Notifier({"NOTIFY_SOCKET": address},
                        lambda event, **fields: lines.append(
                            (event, fields)))
    notifier.ready()
    notifier.watchdog()

    [(event, fields)] = lines
    assert event == "notify_socket_dead"
    assert fields["socket"] == address
    assert fields["error"]


def test_a_manager_that_does_not_read_holds_nobody_up(tmp_path):
    address = str(tmp_path / "notify")
    lines = []
    with manager(address):
        notifier = Notifier({"NOTIFY_SOCKET": address},
                            lambda event, **fields: lines.append(event))
        for _ in range(2000):
            notifier.watchdog()

    assert lines == ["notify_socket_dead"]


@pytest.mark.parametrize(("env", "expected"), [
    ({}, None),
    ({"WATCHDOG_USEC": "30000000"}, 15.0),
    ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
    ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
    ({"WATCHDOG_USEC": "0"}, None),
    ({"WATCHDOG_USEC": "-5"}, None),
    ({"WATCHDOG_USEC": "soon"}, None),
    ({"WATCHDOG_USEC": "٣"}, None),
    ({"WATCHDOG_USEC": "9" * 5000}, None),
])
def test_the_watchdog_is_fed_in_half_its_time(env, expected):
    assert watchdog_interval_s(env) == expected
