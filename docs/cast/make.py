"""Make the cast and the pictures of the README from real runs.

    python docs/cast/make.py      writes memory.cast, memory.svg, doctor.svg

Each command runs in an empty home. The cast is asciinema's format, version
2; the pictures show the last screen. Source: docs.asciinema.org, read
2026-11.
"""

import json
import os
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from textwrap import wrap

HERE = Path(__file__).parent
COLUMNS = 80
LINE, CHAR, EDGE = 18, 8.4, 16  # pixels
SCENES = {
    "memory": (
        'claw memory store colour "Mina likes green"',
        'claw memory recall "which colour does Mina like"',
        "printf 'Oslo opens at 9.\\nBonn opens at 8.\\n' | "
        'claw ask "when does Bonn open?"',
        "claw memory recall Mina --json | jq -r '.results[].key'"),
    "doctor": ("claw doctor",),
}


def run(command: str, home: Path) -> str:
    """What the command prints, on both streams."""
    done = subprocess.run(
        ["sh", "-c", command], cwd=home, check=False, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env={
            "PATH": f"{home / 'bin'}:{os.environ['PATH']}", "LANG": "C.UTF-8",
            "HOME": str(home), "CLAW_NO_PROBE": "1"})
    return done.stdout.replace(str(home), "~")


def write_cast(path: Path, scene: list[tuple[str, str]]) -> None:
    """The scene as somebody would type it."""
    rows: list[object] = [{"version": 2, "width": COLUMNS, "height": 24}]
    at = 0.5
    for command, printed in scene:
        for text, wait in (("$ ", 0.5), *((c, 0.04) for c in command),
                           ("\r\n", 0.4), (printed.replace("\n", "\r\n"), 1)):
            rows.append([round(at, 2), "o", text])
            at += wait
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n"
                            for row in rows), encoding="utf-8")


def write_picture(path: Path, scene: list[tuple[str, str]]) -> None:
    """The screen as an SVG that needs no font but a monospaced one."""
    lines = [(line, is_command) for command, printed in scene
             for is_command, text in ((True, f"$ {command}"),
                                      (False, printed))
             for row in text.splitlines()
             for line in wrap(row, COLUMNS, replace_whitespace=False,
                              drop_whitespace=False) or [""]]
    width = round(max(len(line) for line, _ in lines) * CHAR) + 2 * EDGE
    height = len(lines) * LINE + 2 * EDGE
    rows = "\n".join(
        f'<text x="{EDGE}" y="{EDGE + LINE * (n + 1) - 5}" '
        f'fill="{"#7ee787" if is_command else "#d7dde3"}" '
        f'xml:space="preserve">{escape(line)}</text>'
        for n, (line, is_command) in enumerate(lines))
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" '
        f'font-size="14">\n<rect width="100%" height="100%" rx="8" '
        f'fill="#0d1117"/>\n{rows}\n</svg>\n', encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        claw = Path(folder) / "bin" / "claw"
        claw.parent.mkdir()
        claw.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m claw "$@"\n')
        claw.chmod(0o755)
        for name, commands in SCENES.items():
            scene = [(command, run(command, Path(folder)))
                     for command in commands]
            write_picture(HERE / f"{name}.svg", scene)
            if name == "memory":
                write_cast(HERE / f"{name}.cast", scene)


if __name__ == "__main__":
    main()
