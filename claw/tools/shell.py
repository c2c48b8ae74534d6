"""shell: one command line, through the gate and inside the sandbox."""

import asyncio

from claw.core.errors import DeniedError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    boolean,
    closed_object,
    string,
)
from claw.core.turn import current_turn
from claw.security.approval import approval_key
from claw.security.sandbox import children
from claw.security.shell.origins import label_command
from claw.security.watched.watch import watch
from claw.tools.confined import (
    find_git_of_others,
    refuse_git_of_others,
    run_confined,
)
from claw.tools.offer.checked import CheckedTool
from claw.tools.settings import ShellToolSettings

_MARK = "\n... [output truncated at 1MB]"


class Shell(CheckedTool):
    """Runs `sh -c` in the workspace; output is text, cut at 1 MiB."""

    name = "shell"
    labels_itself = True
    description = ("Run a shell command in the workspace. Only allowed "
                   "commands run, and only those unasked that read, or make, "
                   "copy and move files; no redirection to files, no $ "
                   "expansion, no background jobs. No network.")

    def __init__(self, deps: ToolDeps,
                 settings: ShellToolSettings | None = None) -> None:
        self._policy = deps.policy
        self._timeout_s = (settings or ShellToolSettings()).timeout_secs

    def parameters_schema(self) -> Schema:
        return closed_object(
            command=string("The shell command to execute"),
            approved=boolean("Set true to explicitly approve "
                             "medium/high-risk commands", default=False))

    async def run(self, args: Arguments) -> ToolResult:
        _, result = await self.run_command(
            args["command"], approved=self._is_approved(args))
        return result

    async def run_command(self, command: str, *, approved: bool = False
                          ) -> tuple[children.Finished, ToolResult]:
        """How it ended, and what is told of that. Raises DeniedError."""
        if self._policy.is_limited():
            raise self._policy.rate_limited()
        verdict = self._policy.check_command(command, approved=approved)
        if verdict.refusal:
            detail = f" ({verdict.detail})" if verdict.detail else ""
            raise DeniedError(verdict.refusal + detail)
        if not self._policy.record():
            raise self._policy.rate_limited()
        objects = await find_git_of_others(self._policy)
        if objects and "git" in verdict.executables:
            raise refuse_git_of_others()
        # Before it runs: it may move what it reads.
        label = await asyncio.to_thread(label_command, verdict,
                                        self._policy.workspace)
        turn = current_turn.get()
        async with watch(self._policy) as seen:
            done = await run_confined(
                self._policy, ["sh", "-c", command], self._timeout_s,
                seen.read_only, [objects] if objects else [])
        if turn is not None:
            turn.labels |= {"command", label}
        return done, seen.add_notes(self._build_result(done))

    def _is_approved(self, args: Arguments) -> bool:
        """The owner's yes: given to this very call, or said by himself
        where no model speaks. A model can't approve its own command."""
        key = approval_key(self.name, args, self._policy.workspace)
        if self._policy.take_grant(key):
            return True
        turn = current_turn.get()
        return bool(args["approved"]) and (
            turn is None or (turn.origin == "tool" and not turn.depth))

    def _build_result(self, done: children.Finished) -> ToolResult:
        if done.excess:
            return ToolResult.failure(
                f"The command was ended: {done.excess}",
                _decode(done.stdout, done.stdout_cut))
        if done.code is None:
            return ToolResult.failure(
                f"Command timed out after {self._timeout_s}s and was "
                "killed", _decode(done.stdout, done.stdout_cut))
        stderr = _decode(done.stderr, done.stderr_cut)
        success = done.code == 0
        return ToolResult(
            output=_decode(done.stdout, done.stdout_cut), success=success,
            error=stderr or (None if success else f"exit code {done.code}"))


def _decode(data: bytes, cut: bool) -> str:
    return data.decode("utf-8", errors="replace") + (_MARK if cut else "")
