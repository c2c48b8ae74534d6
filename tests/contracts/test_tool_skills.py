"""The tools for skills keep the contract."""

import os

import pytest

from claw.core.value import replace
from claw.security.settings import ResourceSettings, SandboxSettings
from claw.testing.contracts.tool import ToolContract
from claw.tools import REGISTRY
from claw.tools.skills.access import Access
from claw.tools.skills.catalog import Catalog
from claw.tools.skills.run import Runner
from claw.tools.skills.tool import Skills

FILES = {"SKILL.md": "---\nname: tea\ndescription: Tea.\n---\nWarm it.\n",
         "scripts/say.py": "print('tea')\n",
         "scripts/wait.py": "import time\ntime.sleep(30)\n"}


class OverSkills(ToolContract):
    @pytest.fixture(autouse=True)
    def _find_home(self, tmp_path_factory):
        self.home = tmp_path_factory.mktemp("home")

    def make(self, deps):
        home = self.home
        for name, text in FILES.items():
            path = home / "skills/tea" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        catalog = Catalog(home, deps.workspace, home)
        catalog.find("tea").accept(Access(), 1.0)
        return REGISTRY.build(self.name, replace(deps, skills=Skills(
            catalog, Runner(home, deps.workspace, SandboxSettings(),
                            ResourceSettings(), os.environ))))


class TestReadSkill(OverSkills):
    name = "read_skill"
    arguments = {"name": "tea"}


class TestRunSkill(OverSkills):
    name = "run_skill"
    arguments = {"name": "tea", "script": "scripts/say.py"}
    slow = {"name": "tea", "script": "scripts/wait.py"}
