"""What a command that was killed left of its change of config.toml."""

from claw.cli.invocation import Invocation
from claw.config.store import lock_settings
from claw.config.trial import journal


def take_back_unfinished(run: Invocation) -> None:
    """Say that a change whose writer was killed is taken back, and do it
    before ours."""
    if journal(run.places).exists():
        with lock_settings(run.places) as notice:
            if notice:
                run.out.warn(notice)
