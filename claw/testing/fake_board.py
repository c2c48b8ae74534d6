"""A microcontroller on a pseudo terminal, for tests: real bytes both ways.

    with FakeBoard() as board:
        SerialBoard(BoardSettings(board="x", path=board.path))

`before` gives bytes that it writes ahead of each answer, `answer` takes the
place of its own answers. `unplug` pulls the cable.
"""

import json
import os
import pty
import select
import threading
import tty
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

Request = dict[str, Any]
_LOOK_S = 0.02


class FakeBoard:
    """gpio 0 to 13, a light at 13."""

    def __init__(self, answer: Callable[[Request], bytes | None] | None = None,
                 before: bytes = b"") -> None:
        self.pins = dict.fromkeys(range(14), 0)
        self.asked: list[Request] = []
        self._answer = answer or self.do
        self._before = before
        self._own, self._line = pty.openpty()
        tty.setraw(self._line)
        os.set_blocking(self._own, False)
        self.path = os.ttyname(self._line)
        self._gone = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "FakeBoard":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.unplug()
        self._thread.join(5)

    def unplug(self) -> None:
        """The line is gone, in the middle of whatever it says."""
        self._gone.set()

    def write(self, data: bytes) -> None:
        """Bytes of the board's own accord, lost where nobody reads."""
        with suppress(BlockingIOError):
            os.write(self._own, data)

    def do(self, request: Request) -> bytes | None:
        """What the firmware answers; None for nothing."""
        args = request.get("args", {})
        pin, name = args.get("pin"), request["cmd"]
        if name.startswith("gpio") and pin not in self.pins:
            return self.say(request, ok=False, error=f"no pin {pin}")
        if name == "gpio_write":
            self.pins[pin] = args["value"]
        return self.say(request, ok=True, result={
            "ping": "pong", "gpio_write": "done",
            "gpio_read": self.pins.get(pin, 0),
            "capabilities": {"gpio": list(self.pins), "led_pin": 13}}[name])

    def say(self, request: Request, **fields: Any) -> bytes:
        """One answer to a request."""
        return json.dumps({"id": request["id"], **fields}).encode() + b"\n"

    def _serve(self) -> None:
        waiting = b""
        try:
            while not self._gone.is_set():
                if not select.select([self._own], [], [], _LOOK_S)[0]:
                    continue
                waiting += os.read(self._own, 4096)
                while b"\n" in waiting:
                    line, _, waiting = waiting.partition(b"\n")
                    self._take(json.loads(line))
        finally:
            os.close(self._own)
            os.close(self._line)

    def _take(self, request: Request) -> None:
        self.asked.append(request)
        answer = self._answer(request)
        if answer is not None:
            self.write(self._before + answer)
