"""What goes wrong around the process: the network, the platform, the
model. The process itself lives on; "kills" counts the strikes."""

import time
from collections.abc import Callable
from typing import Any

from claw.testing.fake_openai import Reply, failure
from claw.testing.prove.answers import answer_to, ask_for
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.scene import Scene, echo
from claw.testing.prove.stages.telegram import TelegramStage

CUTS = 5
CUT_S = 2.0
# The longest pause between two tries after a short outage, and a poll.
BACK_LIMIT_S = 7.0
RESETS = 40
WEDGE_POLL_S = 1
# Three polls, the look that sees it, the wait before it starts anew.
WEDGE_LIMIT_S = 3 * WEDGE_POLL_S + 1 + 2 + 1
STORM = 6


def network_cut(bench: Bench, channel: str) -> Proof:
    """No network for seconds, then connections that are reset again and
    again while messages are on their way."""
    return cut_and_reset(bench, Proof(f"network-{channel}", channel))


def cut_and_reset(bench: Bench, proof: Proof,
                  off: Callable[[], object] | None = None,
                  on: Callable[[], object] | None = None) -> Proof:
    """`off` and `on` make the network go and come back; without them the
    platform goes."""
    stage = bench.stage(proof.channel)
    server = stage.server
    off, on = off or server.down, on or server.up
    with Scene(bench.root, stage) as scene:
        child = scene.start()
        child.wait_ready()
        back: list[float] = []
        cuts, resets = bench.pick(CUTS, 2), bench.pick(RESETS, 10)
        for cut in range(cuts):
            off()
            if cut % 2:
                scene.post(1001, f"dark{cut}")
            time.sleep(CUT_S)
            on()
            began = time.monotonic()
            scene.post(1002, f"light{cut}")
            if not scene.wait_quiet(30):
                proof.breaks(f"cut {cut + 1}: no answer after the network "
                             f"was back; {child.last_words()}", scene)
            back.append(time.monotonic() - began)
        for reset in range(resets):
            scene.post(1001 + reset % 4, ask_for(
                reset, f"reset{reset}", files=stage.takes_files))
            time.sleep(0.03)
            server.kill_connections()
        finish(proof, scene, bench, kills=cuts + resets)
        _within(proof, "back_ms", back, BACK_LIMIT_S)
    return proof.judge()


def wedged_poll(bench: Bench, channel: str) -> Proof:
    """A poll that never comes back while its connection stays open."""
    proof = Proof("wedge", channel, orderly=True)
    stage = TelegramStage(WEDGE_POLL_S)
    with Scene(bench.root, stage) as scene:
        noticed: list[float] = []
        for number in range(2):
            for old in scene.children[-1:]:
                old.stop()
            scene.start().wait_ready()
            scene.post(1001, f"before{number}")
            scene.wait_quiet()
            stage.platform.wedge()
            began = time.monotonic()
            time.sleep(0.2)
            stage.platform.unwedge()
            scene.post(1001, f"after{number}")
            scene.wait_quiet(60)
            noticed.append(time.monotonic() - began)
        finish(proof, scene, bench, kills=2)
        _within(proof, "back_ms", noticed, WEDGE_LIMIT_S)
    return proof.judge()


def model_down(bench: Bench, channel: str) -> Proof:
    """The model's server is gone, then refuses with 429: who writes then is
    told of the error, once, or gets the answer later."""
    proof = Proof("model-down", channel, may_fail=True, orderly=True)
    refusals = [0]

    def model(body: dict[str, Any]) -> str | Reply:
        if refusals[0] > 0:
            refusals[0] -= 1
            return failure(429, "slow down", Retry_After="1")
        return echo(body)

    with Scene(bench.root, bench.stage(channel), model=model) as scene:
        child = scene.start()
        child.wait_ready()
        scene.post(1001, "before")
        scene.wait_quiet()
        scene.model.__exit__()
        scene.post_each(4, "down", chats=2)
        scene.wait_quiet(5)
        refusals[0] = 2
        scene.model.__enter__()
        scene.post(1001, "refused")
        scene.post(1002, "refused too")
        scene.wait_quiet(20)
        scene.post(1001, "after")
        finish(proof, scene, bench, kills=2)
        if answer_to("after") not in [s.text for s in scene.stage.got()]:
            proof.breaks("no answer although the model was back", scene)
        proof.more.update(told=proof.tally.told)
    return proof.judge()


def rate_limit(bench: Bench, channel: str) -> Proof:
    """429 from the platform in call after call."""
    proof = Proof("rate-limit", channel, orderly=True)
    stage = TelegramStage()
    storm = bench.pick(STORM, 2)
    with Scene(bench.root, stage) as scene:
        for method in ("sendMessage", "sendDocument", "editMessageText"):
            stage.platform.fault(method, "429", times=storm, retry_after=1)
        stage.platform.fault("getUpdates", "429", times=2, retry_after=1)
        child = scene.start()
        child.wait_ready()
        scene.post_each(6, "m")
        scene.post(1001, "file m")
        finish(proof, scene, bench, kills=3 * storm + 2, patience_s=90)
    return proof.judge()


def repeated_updates(bench: Bench, channel: str) -> Proof:
    """A platform that gives the same messages for ever."""
    proof = Proof("repeats", channel)
    stage = TelegramStage()
    with Scene(bench.root, stage) as scene:
        scene.post_each(6, "m")
        stage.platform.repeat_updates = True
        for _ in range(2):
            child = scene.start()
            child.wait_ready()
            scene.wait_quiet()
            time.sleep(1)
            child.kill()
        stage.platform.repeat_updates = False
        scene.post(1001, "last")
        scene.start()
        polls = len(stage.platform.list_calls("getUpdates"))
        finish(proof, scene, bench, kills=2)
        proof.more.update(polls=polls)
    return proof.judge()


def finish(proof: Proof, scene: Scene, bench: Bench, *, kills: int,
            patience_s: float = 45.0) -> None:
    """Until all is answered; then count, and end the process."""
    child = scene.children[-1]
    if not scene.wait_quiet(patience_s, until=lambda: child.code is not None):
        proof.breaks("not all was answered; " + child.last_words(), scene)
    proof.take(scene, kills=kills)
    code = child.stop()
    if code != 0:
        proof.breaks(f"ended with code {code}; {child.last_words()}", scene)
    if not proof.may_fail and not scene.unanswered():
        proof.check_history(scene)
    scene.keep = scene.keep or bench.keep


def _within(proof: Proof, name: str, seconds: list[float],
            limit_s: float) -> None:
    """Note times, and that none is over the limit."""
    proof.recovery_ms += [s * 1000 for s in seconds]
    proof.more.update({f"limit_{name}": limit_s * 1000})
    if max(seconds) > limit_s:
        proof.breaks(f"{max(seconds):.1f} s until it worked again, "
                     f"more than {limit_s:g} s")


