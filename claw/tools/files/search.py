"""glob_search, content_search: files by name, and what stands in them."""

import asyncio
import re
import shutil
import stat
from collections.abc import Iterator
from functools import cache

from claw.core.errors import UnavailableError, UsageError
from claw.core.labels import ATTACHMENT
from claw.core.tool import (
    Arguments,
    Schema,
    ToolResult,
    boolean,
    closed_object,
    integer,
    optional,
    string,
)
from claw.core.value import Value
from claw.security.files.paths import refuse_path
from claw.security.shell.origins import FILES
from claw.text.documents.ignore import compile_glob
from claw.tools.confined import run_confined
from claw.tools.files.files import FileTool

MOST = 1_000
_PATTERN_CHARS = 4_096
_TIMEOUT_S = 30.0
_CONTEXT_LINES = 100
# Every machine's, so that the sandbox shows them.
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
# A line that was found, or one around it: path, NUL, number, sign, text.
_LINE = re.compile(r"([^\0\n]+)\0(\d+)([:-])(.*)")


class GlobSearch(FileTool):
    """Names of files; links are not followed."""

    name = "glob_search"
    reads = True
    repeatable = True
    description = ("Find files by name, such as **/*.py. Links are not "
                   "followed.")

    def parameters_schema(self) -> Schema:
        return closed_object(pattern=string(
            "Glob from the workspace on: *, ?, [a-z], ** for any folders",
            minLength=1))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        found, cut = await asyncio.to_thread(self._find, args["pattern"])
        self.label("file")
        more = "; there are more files than were looked at" if cut else ""
        return ToolResult(output="\n".join(
            [*found[:MOST], f"Total: {len(found)} files{more}"
             + ("" if len(found) <= MOST else f"; the first {MOST} shown")]))

    def _find(self, pattern: str) -> tuple[list[str], bool]:
        """The paths in order, and whether not all was looked at."""
        if len(pattern) > _PATTERN_CHARS:
            raise UsageError(f"pattern: at most {_PATTERN_CHARS} characters")
        if ".." in pattern.split("/"):
            raise refuse_path(pattern)
        if pattern.startswith("/"):
            root, prefix, inside = self._split(pattern)
        else:
            root, prefix, inside = ".", "", pattern
        fits = compile_glob(inside)
        walk = self._policy.walk_beneath(root)
        return sorted(prefix + path for path in walk if fits(path)), walk.cut

    def _split(self, pattern: str) -> tuple[str, str, str]:
        """Root, what stands before each result, and the rest of a pattern
        that begins in the workspace or an allowed root."""
        for number, root in enumerate(map(str, self._policy.paths.roots)):
            if pattern.startswith(root + "/"):
                inside = pattern[len(root) + 1:]
                return root, f"{root}/" if number else "", inside
        raise refuse_path(pattern)


class _Found(Value):
    """One line of what the program found."""

    path: str
    text: str
    is_match: bool


class ContentSearch(FileTool):
    """Lines of files, by ripgrep where the system has it, else by grep;
    both in the sandbox, since a pattern can take all the time there is."""

    name = "content_search"
    reads = True
    repeatable = True
    description = ("Search the text of files by regular expression. "
                   "ripgrep, where it is installed, leaves out what "
                   ".gitignore names.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            pattern=string("Regular expression", minLength=1),
            path=string("Folder or file", default="."),
            output_mode=string("What to return", default="content", enum=[
                "content", "files_with_matches", "count"]),
            include=optional(string("Names to search, e.g. *.py")),
            case_sensitive=boolean("Case counts", default=True),
            context_before=integer("Lines before", default=0, minimum=0,
                                   maximum=_CONTEXT_LINES),
            context_after=integer("Lines after", default=0, minimum=0,
                                  maximum=_CONTEXT_LINES),
            multiline=boolean("Over line ends, ripgrep only",
                              default=False),
            max_results=integer("Most lines", default=MOST, minimum=1,
                                maximum=MOST))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        place = await asyncio.to_thread(self._find_place, args["path"])
        has_rg = shutil.which("rg", path=_SYSTEM_PATH) is not None
        if args["multiline"] and not has_rg:
            raise UnavailableError("multiline needs ripgrep (rg), which is "
                                   "not installed")
        options = _ripgrep(args) if has_rg else _grep(args)
        done = await run_confined(
            self._policy, [*options, "-e", args["pattern"], "--", place],
            _TIMEOUT_S)
        if done.code is None:
            return ToolResult.failure(
                done.excess or f"the search took over {_TIMEOUT_S:.0f} s; "
                "search in a smaller folder")
        if done.code > 1 and not done.stdout:
            return ToolResult.failure(_explain(done.stderr))
        text = done.stdout.decode(errors="replace")
        return await asyncio.to_thread(
            self._render, text, args, cut=done.stdout_cut)

    def _find_place(self, path: str) -> str:
        """Where to search; nobody may ever write into a named pipe."""
        place: str = self._policy.name_place(path)
        try:
            mode = (self._policy.workspace / place).stat().st_mode
        except (OSError, ValueError):
            return place  # the program says what is wrong with it
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise UsageError(f"{path} is not a regular file or folder")
        return place

    def _render(self, text: str, args: Arguments, *, cut: bool) -> ToolResult:
        """What was found, each path judged again."""
        policy = self._policy
        reaches = cache(lambda path: policy.reaches(policy.workspace / path))
        lines, matches, files = [], 0, set()
        for found in _parse(text, args["output_mode"]):
            if not reaches(found.path):
                continue
            if found.is_match and matches == args["max_results"]:
                cut = True
                break
            matches += found.is_match
            files.add(found.path)
            lines.append(found.text)
        for path in files:
            self.label(ATTACHMENT if path.partition("/")[0].endswith(FILES)
                       else "file")
        if not lines:
            return ToolResult(output="No matches found.")
        unit = "lines" if args["output_mode"] == "content" else "files"
        more = "; there are more" if cut else ""
        return ToolResult(output="\n".join(
            [*lines, f"Total: {matches} {unit}{more}"]))


def _ripgrep(args: Arguments) -> list[str]:
    """ripgrep's words, but for pattern and place."""
    return ["rg", "--no-config", "--color=never",
            "--no-heading", "--null", "--hidden", "--glob=!.git",
            "--sort=path", *_shared(args),
            *(["--multiline", "--multiline-dotall"]
              if args["multiline"] else []),
            *([f"--glob={args['include']}"] if args.get("include") else [])]


def _grep(args: Arguments) -> list[str]:
    """grep's: extended expressions, text files only."""
    return ["grep", "-rIEH", "--null", "--color=never",
            "--exclude-dir=.git", *_shared(args),
            *([f"--include={args['include']}"]
              if args.get("include") else [])]


def _shared(args: Arguments) -> Iterator[str]:
    if not args["case_sensitive"]:
        yield "-i"
    if args["output_mode"] == "files_with_matches":
        yield "-l"
    elif args["output_mode"] == "count":
        yield "-c"
    else:
        yield "-n"
        yield f"-B{args['context_before']}"
        yield f"-A{args['context_after']}"


def _parse(text: str, mode: str) -> Iterator[_Found]:
    """What both programs print with --null, line by line."""
    if mode == "files_with_matches":
        for path in map(_tidy, filter(None, text.split("\0"))):
            yield _Found(path, path, is_match=True)
        return
    for line in text.split("\n"):
        if mode == "count":
            path, _, count = line.partition("\0")
            if count.isdigit() and count != "0":
                yield _Found(_tidy(path), f"{_tidy(path)}:{count}",
                             is_match=True)
        elif found := _LINE.fullmatch(line.removesuffix("\r")):
            path, number, sign, said = found.groups()
            yield _Found(_tidy(path), f"{_tidy(path)}{sign}{number}{sign}"
                         f"{said}", is_match=sign == ":")


def _tidy(path: str) -> str:
    return path.removeprefix("./")


def _explain(stderr: bytes) -> str:
    said = stderr.decode(errors="replace").strip()
    return said[:500] or "the search failed; is the path right?"
