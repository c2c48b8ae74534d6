"""The proofs by name."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from claw.testing.prove.backlog import backlog
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.clock import clock_jumps
from claw.testing.prove.far import far_network
from claw.testing.prove.kills import random_kills, restarts
from claw.testing.prove.machine import full_disk, stopped, two_pollers
from claw.testing.prove.points import (
    crash_points,
    draft_points,
    tool_points,
)
from claw.testing.prove.power import power_cuts
from claw.testing.prove.trouble import (
    model_down,
    network_cut,
    rate_limit,
    repeated_updates,
    wedged_poll,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A proof: what it is called in the table, on which channel."""

    title: str
    channel: str
    run: Callable[[Bench, str], Proof]


PROOFS: dict[str, Row] = {
    "points-telegram": Row("every crash point", "telegram", crash_points),
    "points-webhook": Row("every crash point", "webhook", crash_points),
    "drafts-telegram": Row("crash points, growing answers", "telegram",
                           draft_points),
    "tools-telegram": Row("crash points with tools", "telegram",
                          tool_points),
    "kills-telegram": Row("random SIGKILLs", "telegram", random_kills),
    "kills-webhook": Row("random SIGKILLs", "webhook", random_kills),
    "restarts-telegram": Row("orderly restarts", "telegram", restarts),
    "restarts-webhook": Row("orderly restarts", "webhook", restarts),
    "network-telegram": Row("network cut", "telegram", network_cut),
    "network-webhook": Row("network cut", "webhook", network_cut),
    "far-telegram": Row("cable pulled, no loopback", "telegram",
                        far_network),
    "wedge": Row("wedged poll", "telegram", wedged_poll),
    "model-down": Row("model server down", "telegram", model_down),
    "rate-limit": Row("429 storm", "telegram", rate_limit),
    "repeats": Row("updates repeated for ever", "telegram",
                   repeated_updates),
    "disk-full": Row("disk full", "telegram", full_disk),
    "clock": Row("clock jumps by years", "telegram", clock_jumps),
    "pause": Row("SIGSTOP with a standby", "telegram", stopped),
    "power": Row("power lost", "telegram", power_cuts),
    "two-pollers": Row("two pollers, one token", "telegram", two_pollers),
    "backlog": Row("10,000 waiting rows", "telegram", backlog),
}


def names(only: Sequence[str] = (), channel: str | None = None
          ) -> list[str]:
    """The proofs to run. `only` holds names, or their first words
    ("points"); a name that is none is left to the caller."""
    return [name for name, row in PROOFS.items()
            if (not only or name in only or name.partition("-")[0] in only)
            and channel in (None, row.channel)]


def prove(name: str, bench: Bench) -> Proof:
    """Run one."""
    row = PROOFS[name]
    began = time.monotonic()
    try:
        proof = row.run(bench, row.channel)
    except TimeoutError as error:  # it did not even start
        proof = Proof(name, row.channel, broken=[str(error)])
    proof.seconds = time.monotonic() - began
    return proof
