"""image_info, screenshot: pictures in the workspace."""

import asyncio
import base64
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from claw.core.errors import MissingPartError, UnavailableError, UsageError
from claw.core.images import EXTENSIONS, image_size, image_type
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    boolean,
    closed_object,
    optional,
    string,
)
from claw.security.sandbox import children
from claw.security.sandbox.sandbox import Launch
from claw.tools.files.files import FileTool
from claw.tools.offer.checked import CheckedTool

_MAX_BYTES = 5 * 1024 * 1024
# More characters of a result no model gets to read.
_ENCODED_BYTES = 20_000
_SCREENSHOT_BYTES = 64 * 1024 * 1024
_TIMEOUT_S = 15.0
_NAME = re.compile(r"[\w][\w .+-]{0,100}\Z")
_REGION = re.compile(r"(\d{1,5}),(\d{1,5}),(\d{1,5}),(\d{1,5})\Z")
# What a program needs to find the screen.
_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR",
              "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS", "HOME", "LANG")
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin"


class ImageInfo(FileTool):
    """Type and size by the first bytes, never by the name."""

    name = "image_info"
    reads = True
    repeatable = True
    description = "Tell type, width, height and bytes of an image file."

    def parameters_schema(self) -> Schema:
        return closed_object(
            path=self.path(),
            include_base64=boolean("Also the content of a small image",
                                   default=False))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        path = args["path"]
        data = await asyncio.to_thread(self.read, path, _MAX_BYTES)
        kind = image_type(data)
        if kind is None:
            raise UsageError(f"{path} is no image of a known type: "
                             + ", ".join(EXTENSIONS.values()))
        lines = [f"File: {path}", *_describe(data, kind)]
        if args["include_base64"]:
            lines.append(
                f"data:{kind};base64,{base64.b64encode(data).decode()}"
                if len(data) <= _ENCODED_BYTES else
                f"(content left out: over {_ENCODED_BYTES:,} bytes)")
        return ToolResult(output="\n".join(lines))


class Screenshot(CheckedTool):
    """The screen as a picture in the workspace. The program is the
    system's, its words are claw's, and it sees nothing of the model's but
    four numbers."""

    name = "screenshot"
    labels_itself = True
    description = ("Take a picture of the screen and keep it in the "
                   "workspace.")

    def __init__(self, deps: ToolDeps, env: Mapping[str, str] = os.environ,
                 path: str = _PATH) -> None:
        self._policy = deps.policy
        self._path = path
        self._env = {name: env[name] for name in _VARIABLES if name in env}

    def parameters_schema(self) -> Schema:
        return closed_object(
            filename=string("Name of the file", default="screenshot.png"),
            region=optional(string("left,top,width,height in pixels; all "
                                   "if left out")))

    async def run(self, args: Arguments) -> ToolResult:
        name = args["filename"]
        if not _NAME.match(name):
            raise UsageError(f"filename: a plain name, not {name[:100]!r}")
        name += "" if name.endswith(".png") else ".png"
        region = _read_region(args.get("region"))
        self._policy.enforce("act")
        program, words = self._find_program(region)
        with tempfile.TemporaryDirectory(prefix="claw-") as folder:
            picture = Path(folder) / "screen.png"
            await self._take([program, *words(str(picture), region)])
            data = await asyncio.to_thread(_read_picture, picture, program)
        await asyncio.to_thread(self._policy.write_beneath, name, data)
        return ToolResult(output="\n".join(
            [f"Saved: {name}", *_describe(data, "image/png")]))

    def _find_program(self, region: "_Region | None"
                      ) -> tuple[str, "_Words"]:
        known = _MAC if sys.platform == "darwin" else _LINUX
        for name, (words, can_cut) in known.items():
            found = shutil.which(name, path=self._path)
            if found and (can_cut or region is None):
                return found, words
        raise MissingPartError(
            "no program that takes pictures of the screen is installed: "
            + ", ".join(known), hint="install one of them")

    async def _take(self, command: list[str]) -> None:
        scratch = Path(tempfile.mkdtemp(prefix="claw-"))  # run removes it
        done = await children.run(Launch(
            tuple(command), {**self._env, "PATH": self._path}, scratch,
            scratch), _TIMEOUT_S)
        if done.code != 0:
            said = done.stderr.decode(errors="replace").strip()[-300:]
            raise UnavailableError(
                f"{Path(command[0]).name} took no picture: "
                + (said or (f"exit code {done.code}" if done.code is not None
                            else f"no answer in {_TIMEOUT_S:.0f} s")))


_Region = tuple[str, str, str, str]
_Words = Callable[[str, _Region | None], list[str]]


def _read_region(text: str | None) -> _Region | None:
    if text is None:
        return None
    found = _REGION.match(text.replace(" ", ""))
    if found is None:
        raise UsageError("region: left,top,width,height in pixels")
    left, top, width, height = found.groups()
    return left, top, width, height


def _scrot(path: str, region: _Region | None) -> list[str]:
    return [*(["-a", ",".join(region)] if region else []), "-o", path]


def _import(path: str, region: _Region | None) -> list[str]:
    crop = ["-crop", "{2}x{3}+{0}+{1}".format(*region)] if region else []
    return ["-window", "root", *crop, f"png:{path}"]


def _screencapture(path: str, region: _Region | None) -> list[str]:
    return ["-x", *(["-R", ",".join(region)] if region else []), path]


# The program's words, and whether it can take a part of the screen.
_LINUX: dict[str, tuple[_Words, bool]] = {
    "gnome-screenshot": (lambda path, _: ["-f", path], False),
    "scrot": (_scrot, True),
    "import": (_import, True)}
_MAC: dict[str, tuple[_Words, bool]] = {
    "screencapture": (_screencapture, True)}


def _read_picture(path: Path, program: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_SCREENSHOT_BYTES + 1)
    except OSError:
        data = b""
    if image_type(data) is None:
        raise UnavailableError(f"{Path(program).name} made no picture")
    if len(data) > _SCREENSHOT_BYTES:
        raise UnavailableError("the picture is too large")
    return data


def _describe(data: bytes, kind: str) -> list[str]:
    size = image_size(data)
    return [f"Type: {kind}",
            *([f"Dimensions: {size[0]}x{size[1]}"] if size else []),
            f"Size: {len(data)} bytes"]
