"""A command on a terminal of its own, driven by keys."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

_START = ("import fcntl, os, sys, termios; "
          "fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
          "os.execv(sys.executable, [sys.executable, '-m', 'claw', "
          "*sys.argv[1:]])")


class Terminal:
    """`shown` is everything that came; `wait_for` goes on behind what it
    found last."""

    def __init__(self, env, *arguments, columns=80):
        self.shown = ""
        self._seen = 0
        self._master, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, *arguments], stdin=end,
            stdout=end, stderr=end, env=env, start_new_session=True)
        os.close(end)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    def wait_for(self, text, patience_s=40.0):
        until = time.monotonic() + patience_s
        while (at := self.shown.find(text, self._seen)) < 0:
            assert self._read(until - time.monotonic()), (
                f"{text!r} never came: {self.shown[self._seen:]!r}")
        self._seen = at + len(text)

    def wait_for_prompt(self, patience_s=40.0):
        """Until it waits for a line: a signal that comes after Python's
        last look for one and before its read is seen at the next key."""
        until = time.monotonic() + patience_s
        while not self.shown.endswith((": ", "] ")):
            assert self._read(until - time.monotonic()), self.shown
        while self._is_running():
            assert time.monotonic() < until, self.shown
            time.sleep(0.01)

    def answer(self, keys):
        """Type once it waits for a line: what comes before a secret is
        asked for is thrown away."""
        self.wait_for_prompt()
        self.type(keys)

    def type(self, keys):
        os.write(self._master, keys.encode())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self, patience_s=40.0):
        """The exit code, once it has ended."""
        until = time.monotonic() + patience_s
        while self._read(until - time.monotonic()):
            pass
        return self.process.wait(max(1.0, until - time.monotonic()))

    def _is_running(self):
        """Whether its first thread does something."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "R"

    def _read(self, seconds):
        """Whether something more came."""
        if not select.select([self._master], [], [], max(seconds, 0))[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other end is closed
            return False
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)
