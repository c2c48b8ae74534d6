"""What every proof is given, and what it comes to."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claw.testing.prove.scene import Scene
from claw.testing.prove.stages import HERE, STAGES, Stage, open_stage
from claw.testing.prove.verdict import Tally, broken, kept_wrong


@dataclass(slots=True)
class Bench:
    """Options of a run. `say` gets lines about its progress; `points`
    bounds the crash points that are tried (None: all), evenly spread;
    `short` asks for a glance where a proof has two lengths; platform and
    model listen at `host`."""

    root: Path
    kills: int = 50
    seed: int = 1
    pause_s: float = 20.0
    lanes: int = 2
    points: int | None = None
    keep: bool = False
    short: bool = False
    host: str = HERE
    say: Callable[[str], None] = lambda text: None

    def pick(self, long: int, short: int) -> int:
        """How often something is done."""
        return short if self.short else long

    def stage(self, channel: str) -> Stage:
        return open_stage(channel, self.host)


@dataclass(slots=True)
class Proof:
    """One row of the table. Times are milliseconds; `promise` is the
    README's line that it holds; `orderly`: nothing
    may come again, not even with a note; `skipped`: why this
    machine can't do it; `more` is what else was measured."""

    id: str
    channel: str
    tally: Tally = field(default_factory=Tally)
    kills: int = 0
    recovery_ms: list[float] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    orderly: bool = False
    may_fail: bool = False
    skipped: str = ""
    promise: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.broken

    def judge(self) -> "Proof":
        """Hold the promises against the numbers."""
        self.broken += self._hold(self.tally, self.kills)
        return self

    def _hold(self, tally: Tally, kills: int) -> list[str]:
        doubts = 0 if self.orderly else STAGES.load(self.channel).doubts
        return broken(tally, kills=kills, doubts=doubts,
                      may_fail=self.may_fail)

    def breaks(self, what: str, scene: Scene | None = None) -> None:
        """Note a broken promise, and keep the run's folder."""
        self.broken.append(what)
        if scene is not None:
            scene.keep = True
            self.kept.append(str(scene.folder))

    def take(self, scene: Scene, *, kills: int = 0) -> Tally:
        """Add what the people of a scene got; keep its folder where a
        promise is broken there."""
        tally = scene.tally()
        self.tally += tally
        self.kills += kills
        problems = scene.stage.problems()
        if problems:
            self.breaks(f"wrong calls: {problems[0]}", scene)
        elif self._hold(tally, kills):
            scene.keep = True
            self.kept.append(str(scene.folder))
        return tally

    def check_history(self, scene: Scene) -> None:
        """After an orderly end: session files say what was said."""
        wrong = kept_wrong(scene.wrote, scene.sessions())
        if wrong:
            self.breaks(f"{wrong} conversations are not kept as they went",
                        scene)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "channel": self.channel, "ok": self.ok,
            "promise": self.promise, "skipped": self.skipped or None,
            "messages": self.tally.messages, "kills": self.kills,
            "lost": self.tally.lost, "duplicates": self.tally.duplicated,
            "doubled_parts": self.tally.parts,
            "doubled_files": self.tally.files,
            "marked": self.tally.marked,
            "out_of_order": self.tally.out_of_order,
            "wrong_notifications": self.tally.notices,
            "strays": self.tally.strays, "told": self.tally.told,
            "recovery_ms": spread(self.recovery_ms),
            "seconds": round(self.seconds, 1), **self.more,
            "broken": self.broken, "kept": self.kept}


def spread(values: Sequence[float]) -> dict[str, float] | None:
    """Median, 95th percentile and maximum; None of nothing."""
    if not values:
        return None
    p95 = (statistics.quantiles(values, n=20, method="inclusive")[18]
           if len(values) > 1 else values[0])
    return {"p50": round(statistics.median(values), 1),
            "p95": round(p95, 1), "max": round(max(values), 1)}
