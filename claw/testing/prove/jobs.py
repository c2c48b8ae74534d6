"""Scheduled jobs while processes die: two `claw listen` in one place, the
one that works is killed again and again. Each time of a job is run once at
most, none is passed over, and what came of it is told once."""

import random
import time
from collections import Counter
from datetime import datetime

from claw.core.value import replace
from claw.storage.jobs.model import Delivery, JobSpec, Run
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.store import SqliteJobs
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.child import Child
from claw.testing.prove.scene import Scene, echo
from claw.testing.prove.verdict import MARK, Tally

EVERY_MS = 400
CHATS = (1001, 1002)
EARLIEST_S, LATEST_S = 0.2, 1.5
PATIENCE_S = 45.0  # longer than the lease of a run


class Model:
    """Answers each request of a job with a word of its own; what it asks
    for are the runs. People get the answer that they expect."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, body: dict[str, object]) -> str:
        job = str(body["messages"]).partition("[cron:")[2][:12]
        if not job:
            return echo(body)
        self.asked[job] += 1
        return f"{job}-{self.asked[job]}."


def killed_jobs(bench: Bench, channel: str) -> Proof:
    """Kills while jobs run, with a process that stands by."""
    proof = Proof("jobs", channel)
    chance, model = random.Random(bench.seed), Model()
    with Scene(bench.root, bench.stage(channel), model=model) as scene:
        jobs = SqliteJobs(scene.workspace / "state" / "jobs.db",
                          channels=lambda: [channel], history=10**6)
        (scene.home / "config.toml").write_text(
            "cron.max_run_history = 1000000\n"
            + (scene.home / "config.toml").read_text("utf-8"), "utf-8")
        for chat in CHATS:
            scene.post(chat, f"hello{chat}")  # or it may not be written to
            jobs.add(JobSpec(
                Schedule("every", every_ms=EVERY_MS), "agent", prompt="go",
                missed="all", delivery=Delivery("announce", channel,
                                                str(chat))))
        children = [scene.start(), scene.start()]
        kills = bench.pick(max(4, bench.kills // 4), 3)
        for _ in range(kills):
            _find_leader(children).wait_for("job.ended", 60)
            time.sleep(chance.uniform(EARLIEST_S, LATEST_S))
            leader = _find_leader(children)
            leader.kill()
            children.remove(leader)
            children.append(scene.start())
        _finish(proof, scene, jobs, children)
        _hold(proof, scene, jobs, model, kills)
        proof.kills = kills
        scene.keep = scene.keep or bench.keep
    return proof


def _find_leader(children: list[Child]) -> Child:
    """Who works now; the other one stands by."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for child in children:
            if child.events("started"):
                return child
        time.sleep(0.02)
    raise TimeoutError("no claw listen works")


def _finish(proof: Proof, scene: Scene, jobs: SqliteJobs,
            children: list[Child]) -> None:
    """Let what was begun end, and what is owed be told."""
    for job in jobs.list_jobs():
        jobs.update(job.id, _pause)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        runs = [run for job in jobs.list_jobs()
                for run in jobs.list_runs(job.id, 10**6)]
        if all(run.status != "running" and run.delivery != "owed"
               for run in runs) and scene.is_quiet():
            break
        time.sleep(0.2)
    else:
        proof.breaks("runs were not over, or not told, in the end; "
                     + children[-1].last_words(), scene)
    for child in children:
        child.stop()


def _pause(spec: JobSpec) -> JobSpec:
    return replace(spec, enabled=False)


def _hold(proof: Proof, scene: Scene, jobs: SqliteJobs, model: Model,
          kills: int) -> None:
    """What was promised, against what people got."""
    texts = Counter(got.text for got in scene.stage.got() if not got.gone)
    total = 0
    for job in jobs.list_jobs():
        runs = jobs.list_runs(job.id, 10**6)
        total += len(runs)
        if model.asked[job.id] > len(runs):
            proof.breaks(f"{model.asked[job.id]} runs for {len(runs)} times",
                         scene)
        if len(runs) - 1 != _span(runs) // EVERY_MS:
            proof.breaks("a time of a job was passed over", scene)
        lost = [run for run in runs if run.status == "interrupted"]
        if len(lost) > kills or {run.status for run in runs} - {
                "ok", "interrupted"}:
            proof.breaks("a run did not end well", scene)
        for run in runs:
            words = run.slot if run in lost else str(run.output)
            told = sum(count for text, count in texts.items()
                       if words in text and not text.startswith(MARK.strip()))
            if told > 1 or not any(words in text for text in texts):
                proof.breaks(f"what came of a run was told {told} times",
                             scene)
    # What jobs say answers nobody: the verdict of messages counts it as
    # noise, so that only what was asked counts here.
    tally = scene.tally()
    proof.tally += Tally(messages=tally.messages, lost=tally.lost,
                         duplicated=tally.duplicated)
    if tally.lost or tally.duplicated:
        proof.breaks("a message was lost or answered twice", scene)
    proof.more["runs"] = total


def _span(runs: list[Run]) -> int:
    """Milliseconds from the first time to the last."""
    first, last = (datetime.fromisoformat(run.slot) for run in (
        min(runs, key=lambda run: run.slot),
        max(runs, key=lambda run: run.slot)))
    return round((last - first).total_seconds() * 1000)
