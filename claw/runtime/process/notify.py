"""Word to the service manager, over the datagram socket it names.

Silent without NOTIFY_SOCKET. A path or "@name" (Linux's abstract sockets).
A socket that does not answer is no reason to stop: it is logged once.
Source: sd_notify(3), sd_watchdog_enabled(3).
"""

import os
import re
import socket
import time
from collections.abc import Mapping

from claw.core.errors import describe
from claw.core.log import Log, silent

_VARIABLE = "NOTIFY_SOCKET"
_NUMBER = re.compile("[0-9]{1,18}")


class Notifier:
    """Tells the service manager how we are."""

    def __init__(self, env: Mapping[str, str] | None = None,
                 log: Log = silent
                 ) -> None:
        self._address = (os.environ if env is None else env).get(
            _VARIABLE, "")
        self._log = log
        self._told_dead = False

    def ready(self) -> None:
        """The start, or a reload, is over."""
        self._send("READY=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def reloading(self) -> None:
        """Call `ready` when that is done."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send(f"RELOADING=1\nMONOTONIC_USEC={now}")

    def status(self, text: str) -> None:
        """What `systemctl status` shows, on one line."""
        self._send("STATUS=" + " ".join(text.split()))

    def watchdog(self) -> None:
        """We are alive."""
        self._send("WATCHDOG=1")

    def _send(self, state: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.setblocking(False)
                sock.connect(_place(self._address))
                sock.send(state.encode("utf-8", "replace"))
        except (OSError, ValueError) as error:
            if not self._told_dead:
                self._told_dead = True
                self._log("notify_socket_dead", socket=self._address,
                          error=describe(error))


def _place(address: str) -> str:
    """The address as a socket takes it."""
    if address[0] == "@":
        return "\0" + address[1:]
    if address[0] == "/":
        return address
    raise ValueError(f"{_VARIABLE} is neither a path nor an @name")


def watchdog_interval_s(env: Mapping[str, str] | None = None
                        ) -> float | None:
    """How often `watchdog` has to be called: half of WATCHDOG_USEC; None
    where nobody waits, or for another process (WATCHDOG_PID)."""
    env = os.environ if env is None else env
    pid = env.get("WATCHDOG_PID", "").strip()
    if pid and pid != str(os.getpid()):
        return None
    usec = env.get("WATCHDOG_USEC", "").strip()
    return (int(usec) / 2_000_000 if _NUMBER.fullmatch(usec) and int(usec)
            else None)
