"""git_operations: a repository of the workspace.

git runs in the sandbox, whatever the repository's settings, aliases, hooks
and file monitor name, and what it leaves there is watched as after a
command of the shell.
"""

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from claw.core.errors import UsageError
from claw.core.labels import ATTACHMENT
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    boolean,
    closed_object,
    integer,
    optional,
    string,
)
from claw.core.turn import current_turn
from claw.security.shell.origins import FILES, find_attachments
from claw.security.watched.watch import watch
from claw.tools.confined import (
    find_git_of_others,
    refuse_git_of_others,
    run_confined,
)
from claw.tools.offer.checked import CheckedTool

_TIMEOUT_S = 60.0
_MESSAGE_CHARS = 2_000
_SHELL = re.compile(r"[`|;>\n\0]|\$\(")
_BAD_BRANCH = re.compile(r"\.\.|[@^~\s:?*\[\\]")
# Where the repository and its owner say no address for commits.
_ENV = ("env", "EMAIL=claw@localhost")
# status would write the index anew.
_NO_LOCKS = "GIT_OPTIONAL_LOCKS=0"

# What was sent in other chats: a chat's sandbox hides it, so that git takes
# it for deleted, and would show it whole.
_NOT_SENT = f":(top,exclude,glob)**/*{FILES}/**"


class GitOperations(CheckedTool):
    """One verb of git at a time, each with words of its own."""

    name = "git_operations"
    labels_itself = True
    description = ("Work with the git repository of the workspace: status, "
                   "diff, log, branch (lists, or makes the one named), add, "
                   "commit, checkout, stash. status, diff, log and lists "
                   "run unasked.")

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy

    def parameters_schema(self) -> Schema:
        strings = {"type": "array", "items": {"type": "string"}}
        return closed_object(
            operation=string("What to do", enum=list(_OPERATIONS)),
            message=optional(string("Of a commit or stash")),
            paths=optional({**strings, "description": "Files to add"}),
            files=optional({**strings, "description":
                            "Files that diff and log look at"}),
            branch=optional(string("Branch, tag or commit")),
            cached=boolean("diff: what is added", default=False),
            limit=integer("Commits of log", default=10, minimum=1,
                          maximum=1_000),
            action=string("Of stash", default="list", enum=[
                "push", "pop", "list", "drop"]),
            index=integer("Number of the stash", default=0, minimum=0),
            path=string("Folder of the repository", default="."))

    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Whether this call changes nothing."""
        operation = args.get("operation")
        return (operation in ("status", "diff", "log")
                or (operation == "branch" and not args.get("branch"))
                or (operation == "stash"
                    and args.get("action", "list") == "list"))

    async def run(self, args: Arguments) -> ToolResult:
        words = _OPERATIONS[args["operation"]](args)
        reads = self.only_reads(args)
        self._policy.enforce("read" if reads else "act")
        folder = self._policy.name_place(args["path"])
        for path in args.get("files", ()):
            # Of such as are in no repository git compares any two.
            self._policy.name_place(os.path.join(folder, path))
        turn = current_turn.get()
        if turn is not None and turn.chat:
            if args["operation"] in ("status", "diff", "add"):
                words.append(_NOT_SENT)
            elif args["operation"] == "commit":
                words.append("--quiet")  # it would list their names
            elif args["operation"] in ("checkout", "stash") and not reads \
                    and await find_git_of_others(self._policy, folder):
                raise refuse_git_of_others()
        command = [*_ENV, *([_NO_LOCKS] if reads else []), "git", "-C",
                   folder, "--no-pager", *words]
        # A diff may hold what others sent.
        sent = await asyncio.to_thread(find_attachments,
                                       self._policy.workspace)
        async with watch(self._policy) as seen:
            # What a repository's settings name runs for a look as well.
            done = await run_confined(
                self._policy, command, _TIMEOUT_S,
                self._policy.paths.roots if reads else seen.read_only)
        if turn is not None:
            turn.labels.add("command")
            if sent:
                turn.labels.add(ATTACHMENT)
        output = done.stdout.decode(errors="replace")
        said = done.stderr.decode(errors="replace")
        if done.code != 0:
            return seen.add_notes(ToolResult.failure(
                said or done.excess or (
                    f"git took over {_TIMEOUT_S:.0f} s and was stopped"
                    if done.code is None else f"exit code {done.code}"),
                output))
        return seen.add_notes(ToolResult(output=output + said or "done"))


def _check_name(what: str, value: str) -> str:
    """A name that git can't take for an option. Raises UsageError."""
    if not value or value.startswith("-") or _SHELL.search(value):
        raise UsageError(f"not a possible {what}: {value[:100]!r}")
    return value


def _branch(args: Arguments) -> str:
    name = args.get("branch")
    if not name:
        raise UsageError(f"{args['operation']} needs branch")
    if _BAD_BRANCH.search(name):
        raise UsageError(f"not a possible branch: {name[:100]!r}")
    return _check_name("branch", name)


def _files(args: Arguments, name: str) -> list[str]:
    return ["--", *(_check_name("file", path)
                    for path in args.get(name, ()))]


def _diff(args: Arguments) -> list[str]:
    return ["diff", "--no-ext-diff", "--no-color",
            *(["--cached"] if args["cached"] else []), *_files(args, "files")]


def _log(args: Arguments) -> list[str]:
    return ["log", f"-n{args['limit']}", "--no-color",
            "--date=iso-strict", "--pretty=format:%h %ad %an: %s%d",
            *_files(args, "files")]


def _list_or_make_branch(args: Arguments) -> list[str]:
    if args.get("branch"):
        return ["branch", "--", _branch(args)]
    return ["branch", "--list", "--all", "--no-color", "-v"]


def _add(args: Arguments) -> list[str]:
    if not args.get("paths"):
        raise UsageError("add needs paths")
    return ["add", *_files(args, "paths")]


def _commit(args: Arguments) -> list[str]:
    message = args.get("message", "").strip()
    if not message:
        raise UsageError("commit needs a message")
    return ["commit", "--message", message[:_MESSAGE_CHARS]]


def _checkout(args: Arguments) -> list[str]:
    return ["checkout", _branch(args), "--"]


def _stash(args: Arguments) -> list[str]:
    action = args["action"]
    if action == "push":
        message = args.get("message", "")[:_MESSAGE_CHARS]
        return ["stash", "push", *(["--message", message]
                                   if message else [])]
    if action == "list":
        return ["stash", "list"]
    return ["stash", action, f"stash@{{{args['index']}}}"]


_OPERATIONS: dict[str, Callable[[Arguments], list[str]]] = {
    "status": lambda args: ["status", "--short", "--branch", "--"],
    "diff": _diff,
    "log": _log,
    "branch": _list_or_make_branch,
    "add": _add,
    "commit": _commit,
    "checkout": _checkout,
    "stash": _stash,
}
