"""A program in the sandbox, as tools run one."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from claw.core.errors import DeniedError, UnavailableError, UsageError
from claw.core.threads import make_on_thread
from claw.core.turn import current_turn
from claw.security import children
from claw.security.confine import FAILED
from claw.security.policy import SecurityPolicy
from claw.security.sandbox import Launch


async def run_confined(policy: SecurityPolicy, command: Sequence[str],
                       timeout_s: float, read_only: Sequence[Path] = ()
                       ) -> children.Finished:
    """Run it in the workspace; `read_only` are paths that it may not
    write. What was sent in another chat than the turn's is out of its
    reach. Raises DeniedError, UsageError where it can't be started,
    UnavailableError where the sandbox could not be set up."""
    sandbox, turn = policy.sandbox, current_turn.get()
    if sandbox is None:
        raise DeniedError("no sandbox is set up, so no command runs")
    # On a thread: the first call looks for what the kernel offers.
    launch = await make_on_thread(
        partial(sandbox.prepare, command, chat=turn.chat if turn else None,
                read_only=read_only), _remove)
    try:
        done = await children.run(launch, timeout_s)
    except (OSError, ValueError) as error:
        raise UsageError(f"the command can't be started: {error}") from error
    stderr = done.stderr.decode(errors="replace")
    if done.code == FAILED and stderr.startswith("claw sandbox:"):
        raise UnavailableError(f"the command was not run: {stderr}")
    return done


def _remove(launch: Launch) -> None:
    shutil.rmtree(launch.scratch, ignore_errors=True)
