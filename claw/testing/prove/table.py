"""The proofs by name."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from claw.testing.prove.backlog import backlog
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.clock import clock_jumps
from claw.testing.prove.far import far_network
from claw.testing.prove.jobs import killed_jobs
from claw.testing.prove.kills import random_kills, restarts
from claw.testing.prove.machine import full_disk, stopped, two_pollers
from claw.testing.prove.points import (
    crash_points,
    draft_points,
    tool_points,
)
from claw.testing.prove.power import power_cuts
from claw.testing.prove.stages import STAGES
from claw.testing.prove.trouble import (
    model_down,
    network_cut,
    rate_limit,
    repeated_updates,
    wedged_poll,
)

# What the README promises of `claw listen`, line by line.
PROMISES = {
    "kill": "Killed at any moment, it answers each message once and in "
            "order. What may have arrived already comes again only with "
            '"(possibly repeated)" in front.',
    "restart": "A restart repeats nothing.",
    "notice": "A phone shows the answer itself: no placeholder, no half "
              "answer, nothing left behind.",
    "tool": "A tool's change is not silently made twice.",
    "power": "After a power cut, each message that the platform was told "
             "we received is answered.",
    "network": "When the network comes back, so does it, within seconds.",
    "platform": "A platform that refuses, repeats itself or falls silent "
                "costs no message.",
    "model": "While the model is away, people are told so or answered "
             "later.",
    "disk": "A full disk loses nothing: when there is room again, all is "
            "answered.",
    "clock": "A clock that jumps by years loses and swaps nothing.",
    "standby": "A second `claw listen` stands by and takes over when the "
               "first one dies.",
    "jobs": "Killed while jobs run, it runs each time of a job once at "
            "most, passes none over, and tells once what came of it.",
    "backlog": "Ten thousand waiting messages hold up a start by less than "
               "a second.",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A proof: what it is called in the table, on which channel, which
    promise it holds, and whether it is one of the short set."""

    title: str
    channel: str
    run: Callable[[Bench, str], Proof]
    promise: str
    short: bool = False


# One that asks its platform, and one that is asked.
_FIRST, _LAST = STAGES.names()[0], STAGES.names()[-1]

PROOFS: dict[str, Row] = {
    **{f"points-{name}": Row("every crash point", name, crash_points, "kill",
                             short=name == _FIRST)
       for name in STAGES.names()},
    "drafts-telegram": Row("crash points, growing answers", "telegram",
                           draft_points, "notice", short=True),
    "tools-telegram": Row("crash points with tools", "telegram",
                          tool_points, "tool", short=True),
    **{f"kills-{name}": Row("random SIGKILLs", name, random_kills, "kill",
                            short=name in (_FIRST, _LAST))
       for name in STAGES.names()},
    "power": Row("power cuts", "telegram", power_cuts, "power", short=True),
    **{f"restarts-{name}": Row("orderly restarts", name, restarts, "restart",
                               short=name == _FIRST)
       for name in STAGES.names()},
    **{f"network-{name}": Row("network cut", name, network_cut, "network",
                              short=name == _FIRST)
       for name in STAGES.names()},
    "far-telegram": Row("cable pulled, no loopback", "telegram",
                        far_network, "network", short=True),
    "wedge": Row("wedged poll", "telegram", wedged_poll, "platform"),
    "model-down": Row("model server down", "telegram", model_down, "model",
                      short=True),
    "rate-limit": Row("429 storm", "telegram", rate_limit, "platform",
                      short=True),
    "repeats": Row("updates repeated for ever", "telegram",
                   repeated_updates, "platform"),
    "disk-full": Row("disk full", "telegram", full_disk, "disk",
                     short=True),
    "clock": Row("clock jumps by years", "telegram", clock_jumps, "clock",
                 short=True),
    "pause": Row("SIGSTOP with a standby", "telegram", stopped, "standby"),
    "two-pollers": Row("two pollers, one token", "telegram", two_pollers,
                       "standby", short=True),
    "jobs": Row("kills while jobs run", "telegram", killed_jobs, "jobs",
                short=True),
    "backlog": Row("10,000 waiting rows", "telegram", backlog, "backlog",
                   short=True),
}


def names(only: Sequence[str] = (), channel: str | None = None, *,
          short: bool = False) -> list[str]:
    """The proofs to run. `only` holds names, or their first words
    ("points"); a name that is none is left to the caller. `short`: the
    short set alone."""
    return [name for name, row in PROOFS.items()
            if (not only or name in only or name.partition("-")[0] in only)
            and channel in (None, row.channel) and row.short >= short]


def prove(name: str, bench: Bench) -> Proof:
    """Run one."""
    row = PROOFS[name]
    began = time.monotonic()
    try:
        proof = row.run(bench, row.channel)
    except TimeoutError as error:  # it did not even start
        proof = Proof(name, row.channel, broken=[str(error)])
    proof.promise = PROMISES[row.promise]
    proof.seconds = time.monotonic() - began
    return proof
