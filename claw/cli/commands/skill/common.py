"""What the commands of `claw skill` share."""

from collections.abc import Sequence
from typing import Any

from claw.cli.invocation import Invocation
from claw.cli.show.output import visible
from claw.text.plural import plural
from claw.tools import REGISTRY
from claw.tools.skills.catalog import Skill
from claw.tools.skills.manifest import list_scripts
from claw.tools.skills.scan import Finding
from claw.tools.skills.tool import Skills
from claw.wiring.tools.skills import build_skills

NAME_HELP = "A skill's name, see claw skill list."


def open_skills(run: Invocation) -> Skills:
    return build_skills(run.settings)


def scan(skill: Skill) -> list[Finding]:
    """What is to be remarked, what forbids first."""
    return sorted(skill.scan(REGISTRY.names()),
                  key=lambda finding: not finding.forbids)


def render_findings(findings: Sequence[Finding]) -> list[str]:
    return [("refused: " if each.forbids else "careful: ")
            + visible(each.render()) for each in findings]


def finding_json(finding: Finding) -> dict[str, Any]:
    return {"kind": finding.kind, "file": finding.file,
            "line": finding.line or None, "excerpt": finding.excerpt,
            "forbids": finding.forbids}


def describe(skill: Skill) -> list[str]:
    """Its head, its text as it is, and its other files. Raises
    RefusedError."""
    manifest = skill.manifest
    head = [("name", skill.name), ("in", str(skill.path)),
            ("description", manifest.description),
            ("license", manifest.license),
            ("needs", manifest.compatibility),
            ("wants tools", manifest.allowed_tools and
             f"{manifest.allowed_tools} (a wish, no grant)"),
            *manifest.metadata.items()]
    lines = [f"{key}: {' '.join(value.split())}"
             for key, value in head if value]
    lines += ["", *("    " + line
                    for line in manifest.body.rstrip().split("\n")), ""]
    lines += [f"{name} ({plural(len(data), 'byte')})"
              for name, data in skill.files.items()]
    scripts = list_scripts(skill.files)
    if scripts and skill.record.seen_digest != skill.digest:
        lines += ["", "its scripts were not tried yet: "
                  f"claw skill test {skill.name}"]
    return [visible(line) for line in lines]
