"""Settings -> the skills of these places, and what runs their scripts."""

import os
from collections.abc import Mapping
from pathlib import Path

from claw.config.tree import Tree
from claw.security.settings import ResourceSettings, SandboxSettings
from claw.tools.settings import ShellToolSettings
from claw.tools.skills.catalog import Catalog
from claw.tools.skills.run import Runner
from claw.tools.skills.tool import Skills


def build_skills(tree: Tree, env: Mapping[str, str] = os.environ) -> Skills:
    """Nothing is read before it is asked for. In a workspace that does not
    count none of its skills does."""
    places = tree.places
    home = Path(env.get("HOME") or places.home.parent)
    workspace = places.workspace.resolve()
    return Skills(
        Catalog(places.home, places.workspace if places.trusted else None,
                home),
        Runner(places.home.resolve(), workspace,
               tree.decode("security.sandbox", SandboxSettings),
               tree.decode("security.resources", ResourceSettings), env),
        tree.decode("shell_tool", ShellToolSettings).timeout_secs)
