"""Lets the owner's own channels be found."""

from pathlib import Path

from claw.channels import REGISTRY
from claw.config.places import Places
from claw.config.tree import load
from claw.security.owned import refuse_foreign


def find_owned(places: Places) -> None:
    """From now on what lies in <home>/channels is a channel."""
    def refuse(path: Path) -> None:
        from claw.wiring.tools.build import build_policy
        policy = build_policy(load(places))
        refuse_foreign(path, (*policy.paths.roots, *policy.granted),
                       policy.paths.home)
    REGISTRY.look_in(places.home / "channels", refuse)
