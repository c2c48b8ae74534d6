"""Make the casts and the pictures of the README from real runs.

    python docs/cast/make.py [NAME]...     all without a name

Each scene's commands run on a terminal of 80 columns in an empty home, that of
the status beside a claw listen whose platform and model are the fakes of
claw.testing. The cast is asciinema's format, version 2 (docs.asciinema.org,
read 2026-11), the picture its last screen, as tmux shows it; keys are pressed,
and pauses end, after fixed times.
"""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from html import escape
from pathlib import Path

from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_telegram import FakeTelegram

HERE = Path(__file__).parent
COLUMNS, ROWS = 80, 24
LINE, CHAR, EDGE = 18, 8.4, 16  # pixels
SCENES = {
    "memory": (
        'claw memory store colour "Mina likes green"',
        'claw memory recall "which colour does Mina like"',
        "echo 'Oslo opens at 9. Bonn opens at 8.' | "
        'claw ask "when does Bonn open?"',
        "claw memory recall Mina --json | jq -r '.results[].key'"),
    "doctor": ("claw doctor",),
    "status": ("claw status", "claw status | grep ^fail"),
}
CONFIG = """default_provider = "custom:{model}"
default_model = "small"
[cost.prices.small]
input = 20.0
output = 80.0
[channels_config.telegram]
bot_token = "{token}"
api_base_url = "{url}"
allowed_users = [1001]
[channels_config.mattermost]
url = "http://127.0.0.1:9"
bot_token = "a-token-of-nothing-at-all"
allowed_users = ["mina"]
"""
# SGR parameter -> attributes of a tspan (ECMA-48); colours of a dark theme.
FILLS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "35": "#d2a8ff",
         "36": "#79c0ff"}
STYLES = {"1": 'font-weight="bold"', "2": 'opacity="0.6"',
          "3": 'font-style="italic"', "4": 'text-decoration="underline"',
          **{code: f'fill="{fill}"' for code, fill in FILLS.items()}}
PROMPT = "\x1b[32m$ \x1b[0m"


def main(names: list[str]) -> None:
    for name in names or SCENES:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            write_program(home)
            with serve(home) if name == "status" else nullcontext():
                scene = [(command, run(command, home))
                         for command in SCENES[name]]
        write_picture(HERE / f"{name}.svg", scene)
        if name != "doctor":
            write_cast(HERE / f"{name}.cast", scene)


def write_program(home: Path) -> None:
    """This claw, on the PATH of the scene."""
    claw = home / "bin" / "claw"
    claw.parent.mkdir()
    claw.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m claw "$@"\n')
    claw.chmod(0o755)


def build_environment(home: Path) -> dict[str, str]:
    return {"PATH": f"{home / 'bin'}:{os.environ['PATH']}",
            "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm",
            "CLAW_NO_PROBE": "1", "XDG_RUNTIME_DIR": str(home),
            "PYTHONPATH": str(HERE.parents[1])}


@contextmanager
def serve(home: Path) -> Iterator[None]:
    """A claw listen that has answered, and has a channel whose server is
    away."""
    with FakeTelegram() as platform, FakeOpenAI(["At eight."] * 9) as model:
        config = home / ".claw" / "config.toml"
        config.parent.mkdir(mode=0o700)
        config.touch(mode=0o600)
        config.write_text(CONFIG.format(
            model=model.url, token=platform.token, url=platform.url))
        for key, text in (("colour", "Mina likes green"),
                          ("town", "Mina lives in Bonn")):
            run(f'claw memory store {key} "{text}"', home)
        with subprocess.Popen(
                [home / "bin" / "claw", "-q", "listen"],
                env=build_environment(home), stderr=subprocess.DEVNULL
                ) as listen:
            platform.post("when does Bonn open?")
            platform.wait_until(lambda: platform.answers())
            time.sleep(6)  # until it has written how its channels are
            yield
            listen.terminate()


def run(command: str, home: Path) -> str:
    """What the command prints on a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ,
                struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with subprocess.Popen(
            ["sh", "-c", command], cwd=home, stdin=subprocess.DEVNULL,
            stdout=theirs, stderr=theirs, env=build_environment(home)):
        os.close(theirs)
        printed = b"".join(iter(lambda: read(ours), b""))
    os.close(ours)
    return printed.decode().replace("\r\n", "\n").replace(str(home), "~")


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # nobody writes any more
        return b""


def write_cast(path: Path, scene: list[tuple[str, str]]) -> None:
    """The scene as somebody would type it."""
    rows: list[object] = [{"version": 2, "width": COLUMNS, "height": ROWS}]
    at = 0.5
    for command, printed in scene:
        for text, wait in ((PROMPT, 0.5), *((c, 0.04) for c in command),
                           ("\r\n", 0.4), (printed.replace("\n", "\r\n"), 2)):
            rows.append([round(at, 2), "o", text])
            at += wait
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n"
                            for row in rows), encoding="utf-8")


def write_picture(path: Path, scene: list[tuple[str, str]]) -> None:
    """The screen as an SVG that needs no font but a monospaced one."""
    lines = draw(show("".join(f"{PROMPT}{command}\n{printed}"
                              for command, printed in scene)))
    width = round(COLUMNS * CHAR) + 2 * EDGE
    height = len(lines) * LINE + 2 * EDGE
    rows = "\n".join(
        f'<text x="{EDGE}" y="{EDGE + LINE * (n + 1) - 5}" '
        f'xml:space="preserve">{line}</text>'
        for n, line in enumerate(lines))
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" '
        f'font-size="14" fill="#d7dde3">\n<rect width="100%" height="100%" '
        f'rx="8" fill="#0d1117"/>\n{rows}\n</svg>\n', encoding="utf-8")


def show(printed: str) -> str:
    """What a terminal shows of it in the end, colours as escapes: tmux is
    the terminal."""
    tmux = ["tmux", "-L", f"cast-{os.getpid()}", "-f", os.devnull]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(printed)
        file.flush()
        subprocess.run([*tmux, "new-session", "-d", "-x", str(COLUMNS), "-y",
                        "200", f"cat {file.name}; sleep 60"], check=True)
        time.sleep(1)
        screen = subprocess.run([*tmux, "capture-pane", "-e", "-p"],
                                check=True, capture_output=True, text=True)
    subprocess.run([*tmux, "kill-server"], check=True)
    return screen.stdout.rstrip()


def draw(screen: str) -> list[str]:
    """Lines with their escapes as spans; a style lasts until it is ended."""
    lines, styles = [""], set[str]()
    for codes, text in re.findall(
            r"(?:\x1b\[([0-9;]*)m)?([^\x1b\n]*\n?)", screen):
        for code in codes.split(";") if codes else ():
            if code == "0":
                styles.clear()
            elif code == "39" or code in FILLS:
                styles -= FILLS.keys()
            if code in STYLES:
                styles.add(code)
        attributes = " ".join(STYLES[code] for code in sorted(styles))
        words = escape(text.rstrip("\n"))
        lines[-1] += f"<tspan {attributes}>{words}</tspan>" \
            if attributes and words else words
        lines += [""] * text.endswith("\n")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
