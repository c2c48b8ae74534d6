"""Every crash point: the scenario is played once for each, and the process
ends there.

A point is passed at each commit and each network call, before and after.
How many there are is counted in a run without a crash; threads make the
number vary a little, so a point may not be reached (it is counted as such)
and one kind of place is met under several numbers.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from claw.core.failpoint import KILLED
from claw.testing.fake_openai import Playable, Reply
from claw.testing.prove.answers import FILE, LONG
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.effects import Effects
from claw.testing.prove.scene import Scene, echo
from claw.testing.prove.stages.telegram import TelegramStage

CHATS = (1001, 1002, 1003)
SPARE = 4


def crash_points(bench: Bench, channel: str) -> Proof:
    """Die at every point; nothing may be lost, doubled or swapped."""
    return _Points(bench, Proof(f"points-{channel}", channel)).run()


def draft_points(bench: Bench, channel: str) -> Proof:
    """The same where an answer grows in the chat while it is made."""
    return _Points(bench, Proof(f"drafts-{channel}", channel),
                   drafts=True).run()


def tool_points(bench: Bench, channel: str) -> Proof:
    """The same with a model that changes a file in each turn: no change
    is silently made twice."""
    return _Points(bench, Proof(f"tools-{channel}", channel),
                   tools=True).run()


class _Points:
    """The runs of one proof."""

    def __init__(self, bench: Bench, proof: Proof, *,
                 tools: bool = False, drafts: bool = False) -> None:
        self._bench = bench
        self._proof = proof
        self._tools = tools
        self._drafts = drafts
        self._lock = threading.Lock()
        self._done = self._repeated = self._unknown = 0
        self._unreached: list[int] = []

    def run(self) -> Proof:
        bench, proof = self._bench, self._proof
        total = self._count() + SPARE
        chosen = choose_points(total, bench.points)
        bench.say(f"{proof.id}: {len(chosen)} of {total} crash points")
        with ThreadPoolExecutor(bench.lanes) as lanes:
            for _ in lanes.map(self._play, chosen):
                self._done += 1
                if self._done % 25 == 0:
                    bench.say(f"{proof.id}: {self._done} of {len(chosen)}")
        proof.more.update(points=total, unreached=len(self._unreached))
        if self._tools:
            proof.more.update(effects_unknown=self._unknown)
        return proof.judge()

    def _scene(self) -> tuple[Scene, Effects | None]:
        stage = (TelegramStage(drafts=True) if self._drafts
                 else self._bench.stage(self._proof.channel))
        effects = Effects() if self._tools else None
        model: Playable = (effects.model if effects
                           else slowly if self._drafts else echo)
        scene = Scene(self._bench.root, stage, model=model)
        return scene, effects

    def _count(self) -> int:
        """How many points the scenario passes."""
        scene, effects = self._scene()
        with scene:
            log = scene.folder / "points"
            self._first(scene, effects)
            child = scene.start({"CLAW_FAILPOINT_LOG": str(log)})
            child.wait_ready()
            self._second(scene)
            if not scene.wait_quiet():
                self._proof.breaks("the run without a crash did not end; "
                                   + child.last_words(), scene)
            child.stop()
            self._proof.take(scene)
            return len(log.read_text("utf-8").splitlines())

    def _first(self, scene: Scene, effects: Effects | None) -> None:
        if effects is not None:
            effects.prepare(scene.workspace, CHATS)
        self._write(scene, ("", FILE, LONG), "a")

    def _second(self, scene: Scene) -> None:
        self._write(scene, (LONG, "", FILE), "b")

    def _write(self, scene: Scene, kinds: Sequence[str], name: str) -> None:
        """One message in each chat, for all kinds of answers; for short
        ones where a tool is called."""
        for chat, kind in zip(CHATS, kinds, strict=True):
            kind = "" if self._tools or (
                kind == FILE and not scene.stage.takes_files) else kind
            scene.post(chat, f"{kind}{name}{chat}")

    def _play(self, number: int) -> None:
        """One run: die at the point, then serve on."""
        scene, effects = self._scene()
        with scene:
            trail = scene.folder / "points"
            self._first(scene, effects)
            child = scene.start({"CLAW_FAILPOINT": str(number),
                                 "CLAW_FAILPOINT_LOG": str(trail)})
            child.wait_ready()
            self._second(scene)
            scene.wait_quiet(until=lambda: child.code is not None)
            code = child.stop() if child.code is None else child.code
            died = code == KILLED
            where = f"point {number}" + _last(trail.read_text(
                "utf-8").splitlines() if trail.exists() else ())
            if died:
                self._serve_on(scene, where)
            with self._lock:
                self._note(scene, effects, number, code, where)

    def _serve_on(self, scene: Scene, where: str) -> None:
        clean = scene.start()
        ready = clean.wait_ready()
        quiet = scene.wait_quiet(until=lambda: clean.code is not None)
        with self._lock:
            if ready is not None:
                self._proof.recovery_ms.append(ready * 1000)
            if not quiet:
                self._proof.breaks(f"{where}: not all was answered after "
                                   "the restart; " + clean.last_words(),
                                   scene)
        clean.stop()

    def _note(self, scene: Scene, effects: Effects | None, number: int,
              code: int, where: str) -> None:
        proof = self._proof
        if code not in (0, KILLED):
            proof.breaks(f"{where}: ended by itself with code {code}; "
                         + scene.children[0].last_words(), scene)
        if code != KILLED:
            self._unreached.append(number)
        proof.take(scene, kills=int(code == KILLED))
        proof.check_history(scene)
        if scene.keep:
            self._bench.say(f"{proof.id}: {where} broke a promise: "
                            f"{scene.folder}")
        elif self._bench.keep:
            scene.keep = True
        if effects is not None:
            for wrong in effects.wrong(scene.workspace, scene.wrote):
                proof.breaks(f"{where}: {wrong}", scene)
            self._unknown += len(effects.unknown)


def slowly(body: dict[str, Any]) -> Reply:
    """A model whose answer takes a moment, so that a draft is shown."""
    answer = echo(body)
    return Reply(answer, chunk_size=max(2, len(answer) // 9), delay_s=0.05)


def _last(names: Sequence[str]) -> str:
    return f" ({names[-1]})" if names else ""


def choose_points(total: int, most: int | None) -> list[int]:
    """The points to try, from 1, evenly spread."""
    count = total if most is None else min(most, total)
    return [1 + (2 * n + 1) * total // (2 * count) for n in range(count)]
