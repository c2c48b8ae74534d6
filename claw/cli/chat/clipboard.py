"""Text to the clipboard of the person: by the desktop's own command, else
through the terminal (OSC 52), which also reaches over SSH.

Source: XTerm control sequences, "Operating System Commands", Ps = 52.
"""

import base64
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import TextIO

# (a variable that must be set, the command)
_WAYS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
    ("WSL_DISTRO_NAME", ("clip.exe",)),
)
_WAIT_S = 5.0
_MOST_BYTES = 74_000  # xterm takes no longer sequence


def copy_text(text: str, terminal: TextIO, *,
              env: Mapping[str, str] = os.environ,
              find: Callable[[str], str | None] = shutil.which) -> str:
    """Copy, and say what was done. Of another machine (SSH) the terminal's
    clipboard is meant."""
    data = text.encode("utf-8", "replace")
    if "SSH_CONNECTION" not in env:
        for variable, command in _WAYS:
            if (not variable or env.get(variable)) and find(command[0]) \
                    and _run(command, data):
                return f"{len(text):,} characters copied with {command[0]}"
    if len(data) > _MOST_BYTES:
        return ("not copied: it is too long for the terminal, and neither "
                "wl-copy, xclip, xsel nor pbcopy could take it; /save FILE "
                "writes it")
    code = base64.b64encode(data).decode()
    terminal.write(f"\x1b]52;c;{code}\x07")
    terminal.flush()
    return (f"{len(text):,} characters sent to the terminal's clipboard "
            "(OSC 52; in tmux: set -g set-clipboard on)")


def _run(command: tuple[str, ...], data: bytes) -> bool:
    """These stay behind and serve the clipboard: nothing of ours may be
    left open in them."""
    try:
        return subprocess.run(
            command, input=data, timeout=_WAIT_S, check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
