"""file_read, file_write, file_edit: text files in the workspace."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claw.core.errors import (
    ClawError,
    DeniedError,
    NotFoundError,
    UsageError,
)
from claw.core.labels import ATTACHMENT
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    integer,
    optional,
    string,
)
from claw.core.turn import ReachesOwner, TurnContext, current_turn
from claw.core.value import Value
from claw.security.confine.attachments import is_of_another_chat
from claw.security.files.paths import WATCHED_FILES
from claw.security.shell.effects.movers import find_settings
from claw.security.shell.origins import FILES
from claw.security.watched.diff import SHOWN_CHARS, compare
from claw.security.watched.watch import watch
from claw.tools.offer.checked import CheckedTool

MAX_BYTES = 10 * 1024 * 1024
_DIFFED_BYTES = 256 * 1024  # of both together; a diff costs their product


class FileChange(Value):
    """A file before and after a call; None: it is not there."""

    path: str
    before: bytes | None
    after: bytes | None


class FileTool(CheckedTool):
    """The sandbox's tools share the policy and the path's description."""

    labels_itself = True

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy

    def read(self, path: str, max_bytes: int) -> bytes:
        """The bytes of a file; the turn has read them then. Raises as
        SecurityPolicy.read_beneath."""
        origin = self._find_origin(path)
        data: bytes = self._policy.read_beneath(path, max_bytes)
        self.label(origin)
        return data

    @staticmethod
    def label(origin: str) -> None:
        turn = current_turn.get()
        if turn is not None:
            turn.labels.add(origin)

    def _find_origin(self, path: str) -> str:
        """Whose text it is: what people sent lies in <channel>_files, as
        <channel>_<chat>_<message>_<name>. Raises DeniedError for what was
        sent in another chat than the one that asks."""
        _, relative = self._policy.paths.locate(path)
        folder, _, name = relative.partition("/")
        turn = current_turn.get()
        chat = None if turn is None else turn.chat
        if chat and is_of_another_chat(folder, name, chat):
            raise DeniedError("this file was sent in another chat")
        return ATTACHMENT if folder.endswith(FILES) else "file"

    @staticmethod
    def path() -> Schema:
        return string("Path inside the workspace", minLength=1)


class FileRead(FileTool):
    """The text of one file, with line numbers."""

    name = "file_read"
    repeatable = True
    description = ("Read a text file with line numbers. offset and limit "
                   "select lines of a long one.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            path=self.path(),
            offset=optional(integer("First line to return, from 1",
                                    minimum=1)),
            limit=optional(integer("How many lines", minimum=1)))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        data = await asyncio.to_thread(self.read, args["path"], MAX_BYTES)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return ToolResult(output=data.decode("utf-8", errors="replace"))
        return ToolResult(output=number_lines(
            text, args.get("offset", 1), args.get("limit")))


class FileChanger(FileTool):
    """Changes are watched as a command's are: git's settings and hooks
    always, what stands in later prompts where the turn has read foreign
    text. The owner is asked once, with a diff, and not before."""

    def asks_owner(self, args: Arguments, context: TurnContext) -> bool:
        approver = self._policy.approver
        if not context.labels or not isinstance(approver, ReachesOwner) \
                or not approver.can_ask() \
                or self.name in self._policy.settings.always_ask:
            return False
        try:
            places = [self._policy.paths.locate(path)
                      for path in self._list_paths(args)]
        except ClawError:
            return False
        watched = [(self._policy.workspace, n) for n in WATCHED_FILES]
        return all(place in watched for place in places)

    def writes_settings(self, args: Mapping[str, Any]) -> bool:
        """Whether a program would load a file of the call by itself, by
        its name or by where a link leads. Paths that can't be had the call
        refuses."""
        try:
            places = [self._policy.paths.locate(path)
                      for path in self._list_paths(args)]
        except ClawError:
            return False
        return any(find_settings(relative) or find_settings(
            os.path.relpath(os.path.realpath(root / relative), root))
            for root, relative in places)

    def preview(self, args: Mapping[str, Any]) -> tuple[str, ...]:
        """What the call would change; nothing where a file can't be read
        or all is too large to be shown whole."""
        try:
            changes = self._plan(args)
        except ClawError:
            return ()
        if sum(len(text or b"") for change in changes
               for text in (change.before, change.after)) > _DIFFED_BYTES:
            return ()
        lines = [line for change in changes for line in (
            *([f"{change.path}:"] if len(changes) > 1 else []),
            *compare(change.before, change.after))]
        return tuple(lines) if sum(map(len, lines)) <= SHOWN_CHARS else ()

    def _list_paths(self, args: Mapping[str, Any]) -> Sequence[str]:
        """The files that the call names. Raises ClawError."""
        return [args["path"]]

    def _plan(self, args: Mapping[str, Any]) -> Sequence[FileChange]:
        """What the call changes. Raises ClawError."""
        raise NotImplementedError

    async def _watch(self, args: Mapping[str, Any],
                     change: Callable[[], str]) -> ToolResult:
        """Make the change on a thread; it returns the sentence about it."""
        turn = current_turn.get()
        named = {self._policy.paths.locate(path)[1].lower()
                 for path in self._list_paths(args)}
        hold = turn is not None and (bool(turn.labels) or any(
            name.lower() in named and self._policy.is_left_to_owner(name)
            for name in WATCHED_FILES))
        async with watch(self._policy, hold=hold) as seen:
            output = await asyncio.to_thread(change)
        return seen.add_notes(ToolResult(output=output))


class FileWrite(FileChanger):
    """Writes one file whole."""

    name = "file_write"
    description = ("Write a text file, replacing what was there; missing "
                   "directories are made.")

    def parameters_schema(self) -> Schema:
        return closed_object(path=self.path(),
                             content=string("The whole new text"))

    def _plan(self, args: Mapping[str, Any]) -> Sequence[FileChange]:
        try:
            before = self._policy.read_beneath(args["path"], MAX_BYTES)
        except NotFoundError:
            before = None
        return [FileChange(args["path"], before, _encode(args["content"]))]

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        path, data = args["path"], _encode(args["content"])

        def write() -> str:
            self._policy.write_beneath(path, data)
            return f"Written {len(data)} bytes to {path}"
        return await self._watch(args, write)


class FileEdit(FileChanger):
    """Replaces one passage of a file."""

    name = "file_edit"
    description = ("Replace a passage of a text file. old_string must occur "
                   "exactly once.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            path=self.path(),
            old_string=string("The passage as it stands", minLength=1),
            new_string=string("What takes its place"))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        return await self._watch(args, lambda: self._edit(args))

    def _plan(self, args: Mapping[str, Any]) -> Sequence[FileChange]:
        data = self._policy.read_beneath(args["path"], MAX_BYTES)
        return [FileChange(args["path"], data, self._replace(args, data))]

    @staticmethod
    def _replace(args: Mapping[str, Any], data: bytes) -> bytes:
        """Bytes, so that line ends and what is no UTF-8 stay as they
        are."""
        old, new = _encode(args["old_string"]), _encode(args["new_string"])
        if b"\r\n" in data and b"\n" not in data.replace(b"\r\n", b""):
            # file_read shows no \r, so neither passage has one
            old, new = _use_crlf(old), _use_crlf(new)
        times = data.count(old)
        if times == 0:
            raise UsageError("old_string not found in file")
        if times > 1:
            raise UsageError(f"old_string matches {times} times; must match "
                             "exactly once")
        return data.replace(old, new)

    def _edit(self, args: Mapping[str, Any]) -> str:
        path = args["path"]
        edited = self._replace(args, self._policy.read_beneath(
            path, MAX_BYTES))
        self._policy.write_beneath(path, edited)
        return (f"Edited {path}: replaced 1 occurrence ({len(edited)} "
                "bytes)")


def number_lines(text: str, offset: int = 1, limit: int | None = None) -> str:
    """Lines as `N: line` and a closing line that says which they are."""
    if not text:
        return ""
    lines = text.removesuffix("\n").split("\n")
    total = len(lines)
    end = total if limit is None else min(total, offset - 1 + limit)
    if offset > total:
        return f"[No lines in range, file has {total} lines]"
    shown = [f"{number}: {lines[number - 1].removesuffix(chr(13))}"
             for number in range(offset, end + 1)]
    whole = len(shown) == total
    shown.append(f"[{total} lines total]" if whole
                 else f"[Lines {offset}-{end} of {total}]")
    return "\n".join(shown)


def _use_crlf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _encode(text: str) -> bytes:
    """UTF-8; a lone surrogate is kept rather than lost."""
    return text.encode("utf-8", errors="surrogatepass")
