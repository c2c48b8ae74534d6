"""POST /pair: a device shows a code of the owner's and gets a key.

    POST /pair
    X-Pairing-Code: K7QX-2M9P
    {"device_name": "phone"}                     (may be left out)

    {"paired": true, "persisted": true, "token": "zc_...", ...}

A code has five random bits a character (40 with eight), is good once and
for an hour, and is made by `claw gateway pair` alone. An address that was
wrong five times waits five minutes, whatever it says: guesses stay hopeless
from many addresses too, and the owner, whose commands ask nobody here, can
always make a key.
"""

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from starlette.responses import Response

from claw.core.log import Log, silent
from claw.gateway.endpoint import Call, Endpoint, Refused, parameter, reply
from claw.gateway.room import find_network
from claw.gateway.settings import PairingSettings

MOST_PEERS = 10_000
FORGET_S = 900.0
CODE_HEADER = "x-pairing-code"
_CODE_CHARS = 128


class UsesCodes(Protocol):
    """Where codes and keys are kept."""

    def use_code(self, code: str, device: str) -> tuple[str, str] | None: ...


class Pairing:
    """Who guesses, and how often."""

    def __init__(self, keys: UsesCodes, settings: PairingSettings,
                 log: Log = silent,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._settings = settings
        self._log = log
        self._clock = clock
        # network -> failures, and when the last one was
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self.endpoint = Endpoint("/pair", self.answer, methods=("POST",),
                                 access="open", window="pair",
                                 body_bytes=4096, parameters=(parameter(
                                     CODE_HEADER, {"type": "string"},
                                     place="header", required=True),))

    async def answer(self, call: Call) -> Response:
        peer = find_network(call.peer)
        self._check(peer)
        code = call.request.headers.get(CODE_HEADER, "")
        device = await _read_device(call)
        made = self._keys.use_code(code, device) \
            if 0 < len(code) <= _CODE_CHARS else None
        if made is None:
            self._note_failure(peer)
            raise Refused(403, "the pairing code is wrong, used or too old",
                          hint="claw gateway pair prints one")
        self._failures.pop(peer, None)
        name, token = made
        self._log("gateway.paired", key=name, peer=call.peer)
        return reply({"paired": True, "persisted": True, "token": token,
                      "name": name, "message": "keep this token: it is "
                      "shown once; send it as Authorization: Bearer TOKEN"})

    def _check(self, peer: str) -> None:
        """Raises Refused for one that has to wait."""
        now = self._clock()
        while self._failures:
            oldest, (_, last) = next(iter(self._failures.items()))
            if now - last < max(FORGET_S, self._settings.lockout_secs):
                break
            del self._failures[oldest]
        number, last = self._failures.get(peer, (0, 0.0))
        left_s = last + self._settings.lockout_secs - now
        if number < self._settings.max_failed_attempts:
            return
        if left_s <= 0:
            del self._failures[peer]
            return
        seconds = max(1, round(left_s))
        raise Refused(429, "too many wrong codes from this address",
                      {"Retry-After": str(seconds)},
                      "the owner can make a key without a code: claw "
                      "gateway token add NAME")

    def _note_failure(self, peer: str) -> None:
        number = self._failures.get(peer, (0, 0.0))[0] + 1
        self._failures[peer] = number, self._clock()
        self._failures.move_to_end(peer)
        if len(self._failures) > MOST_PEERS:
            self._failures.popitem(last=False)
        if number == self._settings.max_failed_attempts:
            self._log("gateway.pairing_locked", peer=peer,
                      hint="somebody guesses pairing codes")


async def _read_device(call: Call) -> str:
    """The name that the device gives itself, "device" without one."""
    body = await call.request.body()
    try:
        found = json.loads(body)["device_name"] if body else ""
    except (ValueError, RecursionError, KeyError, TypeError):
        found = ""
    return found if isinstance(found, str) and found else "device"
