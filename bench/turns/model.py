"""The model of bench/turn.py, in a process of its own.

    python -m turns.model WIRE SEED FOLDER

Prints its address, answers as turns/script.py says, and looks at each request.
Each is kept in FOLDER, to be sent again; at the end of its stdin it prints
what it found, as JSON. FOLDER "-" keeps and checks nothing.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from turns.script import MARK, Step, kind_of, step
from turns.wires import (
    Said,
    build_server,
    find_faults,
    read,
    write_reply,
)

from claw.agent.rounds.outcome import CORRECTION

Json = dict[str, Any]
_CORRECTION = CORRECTION.rpartition("}")[2]


class Model:
    """Knows how far the session is from the request alone, but for the
    turns whose overflow it has answered with."""

    def __init__(self, wire: str, seed: int, folder: Path | None) -> None:
        self._wire = wire
        self._seed = seed
        self._folder = folder
        self._struck: dict[int, int | None] = {}
        self._corrected: set[int] = set()
        self._server: Any = None
        self.requests = 0
        self.faults: list[str] = []
        self.kinds: Counter[str] = Counter()
        self.longest = 0

    def serve(self) -> None:
        with build_server(self._wire, self.answer) as self._server:
            print(self._server.url, flush=True)
            sys.stdin.read()
        print(json.dumps({"requests": self.requests, "faults": self.faults,
                          "kinds": self.kinds, "longest": self.longest}))

    def answer(self, body: Json) -> Any:
        said = read(self._wire, body)
        number, rounds, corrected = _where(said)
        self._corrected |= {number} if corrected else set()
        if self._folder is not None:
            self._look(body, said, number, rounds)
        now = step(self._seed, number, rounds, corrected,
                   number in self._struck)
        if now.fault == "overflow":
            self._struck[number] = len(json.dumps(body))
        if self._folder is not None:
            self._keep(number, now)
        self._server.requests.clear()
        return write_reply(self._wire, now)

    def _look(self, body: Json, said: list[Said], number: int,
              rounds: int) -> None:
        self.requests += 1
        self.kinds[kind_of(self._seed, number)] += 1
        self.longest = max(self.longest, len(said))
        found = find_faults(self._wire, body, self._seed, number)
        before = self._struck.get(number)
        self._struck |= {number: None} if before else {}
        if before and len(json.dumps(body)) >= before:
            found.append("it is no shorter after an overflow")
        if kind_of(self._seed, number) == "malformed" and rounds \
                and number not in self._corrected:
            found.append("a call that can't be read was run")
        self.faults += [f"turn {number} ({kind_of(self._seed, number)}): "
                        f"{one}" for one in found]

    def _keep(self, number: int, now: Step) -> None:
        assert self._folder is not None
        last = self._server.requests[-1]
        name = f"{self.requests:05}-{number}-{now.fault or 'whole'}"
        # Gemini's fake keeps the query beside the path.
        query = urlencode(getattr(last, "query", {}), doseq=True)
        (self._folder / name).write_bytes(json.dumps({
            "path": f"{last.path}?{query}" if query else last.path,
            "headers": dict(last.headers)}).encode() + b"\n" + last.raw)


def _where(said: list[Said]) -> tuple[int, int, bool]:
    """The turn, its rounds of tools so far, and whether the model was told
    that a call can't be read."""
    start = max(place for place, one in enumerate(said)
                if one.role == "user" and MARK.search(one.text))
    number = int(MARK.findall(said[start].text)[-1][0])
    after = said[start + 1:]
    rounds = sum(bool(one.results) and not (
        place and after[place - 1].results)
        for place, one in enumerate(after))
    # Wires that want roles in turns put it under the person's message.
    return number, rounds, any(
        one.role == "user" and _CORRECTION in one.text
        for one in said[start:])


def main() -> None:
    wire, seed, folder = sys.argv[1:]
    Model(wire, int(seed), None if folder == "-" else Path(folder)).serve()


if __name__ == "__main__":
    main()
