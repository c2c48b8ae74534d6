"""apply_patch over the files of the workspace."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from claw.core.errors import ClawError, NotFoundError, UsageError
from claw.core.tool import Arguments, Schema, ToolResult, closed_object, string
from claw.tools.files.files import MAX_BYTES, FileChange, FileChanger
from claw.tools.files.patch.format import (
    ADD,
    DELETE,
    PatchedFile,
    apply_hunks,
    parse_patch,
)


class ApplyPatch(FileChanger):
    """Works out every new text first; where writing one fails, those that
    were written are put back."""

    name = "apply_patch"
    description = (
        "Change several text files at once, all or none. The patch: "
        "*** Begin Patch, then for each file *** Update File: PATH (with "
        "lines that begin with a space, - or +, and @@ LINE where the place "
        "is not clear), *** Add File: PATH (lines with +) or *** Delete "
        "File: PATH, then *** End Patch.")

    def parameters_schema(self) -> Schema:
        return closed_object(patch=string("The whole patch", minLength=1))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        return await self._watch(args, lambda: self._apply(args))

    def _list_paths(self, args: Mapping[str, Any]) -> Sequence[str]:
        return [path for each in parse_patch(args["patch"])
                for path in (each.path, each.to) if path]

    def _plan(self, args: Mapping[str, Any]) -> Sequence[FileChange]:
        """Each file once. Raises ClawError."""
        changes: dict[str, FileChange] = {}
        for change in self._work_out(parse_patch(args["patch"])):
            root, relative = self._policy.paths.locate(change.path)
            key = f"{root}/{relative}"
            if key in changes:
                raise UsageError(f"{change.path} stands in the patch twice")
            changes[key] = change
        return list(changes.values())

    def _work_out(self, patched: Sequence[PatchedFile]
                  ) -> Iterator[FileChange]:
        for each in patched:
            path, before = each.path, self._read_old(each.path)
            if each.kind == ADD:
                if before is not None:
                    raise UsageError(f"{path} is already there; use "
                                     "*** Update File:")
                yield FileChange(path, None, _encode(each.lines))
                continue
            if before is None:
                raise NotFoundError(f"no such file: {path}")
            if each.kind == DELETE:
                yield FileChange(path, before, None)
                continue
            after = apply_hunks(path, _decode(path, before),
                                each.hunks).encode()
            if each.to is None:
                yield FileChange(path, before, after)
                continue
            if self._read_old(each.to) is not None:
                raise UsageError(f"{each.to} is already there")
            yield FileChange(each.to, None, after)
            yield FileChange(path, before, None)

    def _apply(self, args: Mapping[str, Any]) -> str:
        changes = self._plan(args)
        done: list[FileChange] = []
        try:
            for change in changes:
                self._put(change.path, change.after)
                done.append(change)
        except ClawError as error:
            self._put_back(done, error)
            raise
        return "\n".join(map(_describe, changes))

    def _read_old(self, path: str) -> bytes | None:
        self._find_origin(path)  # what another chat sent is out of reach
        try:
            data: bytes = self._policy.read_beneath(path, MAX_BYTES)
        except NotFoundError:
            return None
        return data

    def _put(self, path: str, data: bytes | None) -> None:
        if data is None:
            self._policy.remove_beneath(path)
        else:
            self._policy.write_beneath(path, data)

    def _put_back(self, done: Sequence[FileChange], why: ClawError) -> None:
        lost = []
        for change in reversed(done):
            try:
                self._put(change.path, change.before)
            except ClawError:
                lost.append(change.path)
        if lost:
            raise type(why)(f"{why.message}; changed and not put back: "
                            + ", ".join(lost)) from why


def _describe(change: FileChange) -> str:
    sign = ("A" if change.before is None
            else "D" if change.after is None else "M")
    return f"{sign} {change.path}"


def _encode(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(
        errors="surrogatepass")


def _decode(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no UTF-8 text") from None
