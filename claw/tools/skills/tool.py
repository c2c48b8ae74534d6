"""read_skill and run_skill: what accepted skills say, and their scripts.

Names and descriptions of accepted skills stand in the prompt, their names in
read_skill's own description too (which vendors cut at 1,024 characters); the
text and the files of one come on demand. Only text that
the owner has accepted is ever returned, so it is not foreign; what a script
prints is, as every tool's output. Where nothing was ever accepted there are
no such tools.
"""

import asyncio

from claw.core.errors import NotFoundError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    optional,
    string,
)
from claw.core.turn import current_turn
from claw.core.value import Value
from claw.security.watched.watch import watch
from claw.tools.mcp.foreign import clean_text
from claw.tools.offer.checked import CheckedTool
from claw.tools.skills.catalog import Catalog, Skill
from claw.tools.skills.folder import Files
from claw.tools.skills.manifest import SKILL_MD, SKILL_TOML
from claw.tools.skills.run import Runner

_NAMES_CHARS = 1_000
_LIST_CHARS = 6_000
_SHORTEST = 60
_TEXT_BYTES = 512 << 10
_SHOWN_FILES = 60


class Skills(Value):
    """What the tools are given; `timeout_s` is for one script."""

    catalog: Catalog
    runner: Runner
    timeout_s: float = 60.0


class SkillTool(CheckedTool):
    """What both share: the accepted skills."""

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy
        self._skills: Skills = deps.skills

    def _find(self, name: str) -> Skill:
        if self._skills is None:
            raise UsageError("no skill was accepted yet",
                             hint="claw skill list")
        return self._skills.catalog.find_offered(name)


class ReadSkill(SkillTool):
    """The text of a skill, or of a file in it."""

    name = "read_skill"
    description = ("Read a skill: instructions for a kind of task. Read the "
                   "one that fits before you begin; file names one of its "
                   "files.")
    reads = True
    repeatable = True
    labels_itself = True

    def __init__(self, deps: ToolDeps) -> None:
        super().__init__(deps)
        names = ", ".join(skill.name for skill in (
            self._skills.catalog.offered() if self._skills else ()))
        if names:
            self.description = (f"{type(self).description} There are: "
                                f"{names}")[:_NAMES_CHARS]

    def parameters_schema(self) -> Schema:
        return closed_object(
            name=string("Name of the skill", minLength=1),
            file=optional(string("A file in it", minLength=1)))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        return ToolResult(output=await asyncio.to_thread(
            self._read, args["name"], args.get("file")))

    def _read(self, name: str, file: str | None) -> str:
        skill = self._find(name)
        if file is None or file in (SKILL_MD, SKILL_TOML):
            body = skill.manifest.body
            return clean_text(body, len(body) + 1) + _list_files(skill.files)
        path = _clean_path(file)
        if path not in skill.files:
            raise NotFoundError(f"the skill {skill.name} has no file "
                                f"{path!r:.200}{_list_files(skill.files)}")
        data = skill.files[path]
        if len(data) > _TEXT_BYTES or b"\0" in data:
            raise UsageError(f"{file} is no text, or has more than "
                             f"{_TEXT_BYTES >> 10} KiB")
        text = data.decode("utf-8-sig", errors="replace")
        return clean_text(text, len(text) + 1)


class RunSkill(SkillTool):
    """A script of a skill, in the sandbox with what it was granted."""

    name = "run_skill"
    description = ("Run a script of a skill, as its text says. It reaches "
                   "nothing but what its owner has granted.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            name=string("Name of the skill", minLength=1),
            script=string("Path in the skill: scripts/x.py", minLength=1),
            args={"type": "array", "items": {"type": "string"},
                  "description": "Words behind the script", "default": []})

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        skill = await asyncio.to_thread(self._find, args["name"])
        turn = current_turn.get()
        async with watch(self._policy) as seen:
            finished = await self._skills.runner.run(
                skill.files, _clean_path(args["script"]),
                args["args"], skill.record.pinned, self._skills.timeout_s,
                chat=turn.chat if turn else None, read_only=seen.read_only)
        done = finished.done
        out, err = (data.decode(errors="replace")
                    for data in (done.stdout, done.stderr))
        if done.code is None:
            why = done.excess or "it took more than " \
                f"{self._skills.timeout_s:g} s"
            return seen.add_notes(ToolResult.failure(
                f"the script was ended: {why}", out))
        return seen.add_notes(ToolResult(
            output=out, success=done.code == 0,
            error=err or (f"exit code {done.code}" if done.code else None)))


def write_section(skills: Skills) -> str:
    """The prompt's section of what is accepted now; "" for nothing."""
    return list_skills([(skill.name, skill.record.description)
                        for skill in skills.catalog.offered()])


def list_skills(skills: list[tuple[str, str]]) -> str:
    """The prompt's section: names and descriptions, a line each; shorter
    ones where there are many. Nothing in them can end the list."""
    if not skills:
        return ""
    room = max(_SHORTEST, _LIST_CHARS // len(skills))
    lines = [f"- {name}: " + clean_text(" ".join(text.split()), room)
             .replace("<", "(").replace(">", ")") for name, text in skills]
    listed = "\n".join(lines)
    if len(listed) > _LIST_CHARS:
        listed = "\n".join(f"- {name}" for name, _ in skills)[:_LIST_CHARS]
    return "## Skills\n\nRead the one that fits with read_skill, first.\n" \
        + listed


def _list_files(files: Files) -> str:
    names = [name for name in files if name not in (SKILL_MD, SKILL_TOML)]
    if not names:
        return ""
    more = len(names) - _SHOWN_FILES
    return "\n\nFiles of this skill (read_skill with file; run_skill runs " \
        "scripts/): " + ", ".join(
            clean_text(name, 200) for name in names[:_SHOWN_FILES]) \
        + (f" and {more} more" if more > 0 else "")


def _clean_path(path: str) -> str:
    """A path as the skill's files are named. One that leads out names
    none of them."""
    return path.removeprefix("./")
