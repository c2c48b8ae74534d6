"""Real shells in a pseudo-terminal: a line is typed, Tab pressed, and the
line that the shell then holds is read back."""

import contextlib
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "completions"
DUMP = "\x18\x04"  # Ctrl-X Ctrl-D

BASH = """PS1='> '
source {scripts}/claw.bash
bind 'set bell-style none'
bind -x '"\\C-x\\C-d":printf %s "$READLINE_LINE" >{out}.t; mv {out}.t {out}'
touch {ready}
"""
ZSH = """PS1='> '
autoload -U compinit; compinit -u -D
source {scripts}/_claw
dump() {{ print -rn -- "$BUFFER" >{out}.t; mv {out}.t {out} }}
zle -N dump
bindkey -e
bindkey '^X^D' dump
touch {ready}
"""
FISH = """function fish_greeting; end
function fish_prompt; echo '> '; end
set -g fish_autosuggestion_enabled 0
source {scripts}/claw.fish
bind \\cx\\cd 'commandline >{out}.t; mv {out}.t {out}'
touch {ready}
"""
STARTS = {"bash": (BASH, "rc", ["bash", "--noprofile", "--rcfile"]),
          "zsh": (ZSH, ".zshrc", ["zsh", "-i"]),
          "fish": (FISH, ".config/fish/config.fish", ["fish", "-i"])}


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request):
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here")
    return request.param


@pytest.fixture
def complete(shell, tmp_path, environment):
    """complete("claw mem", cwd=...): the line after a Tab."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    program = bin_ / "claw"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m claw "$@"\n')
    program.chmod(0o700)
    root = str(SCRIPTS.parent)
    seen = {**environment, "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path),
            "PATH": f"{bin_}:{environment['PATH']}", "TERM": "xterm",
            "LANG": "C.UTF-8", "PYTHONPATH": root}
    text, name, command = STARTS[shell]
    ready, out = tmp_path / "ready", tmp_path / "line"
    rc = tmp_path / name
    rc.parent.mkdir(parents=True, exist_ok=True)
    rc.write_text(text.format(scripts=SCRIPTS, ready=ready, out=out))
    if shell == "bash":
        command = [*command, str(rc), "-i"]

    def run(line, cwd=tmp_path):
        with _terminal(command, seen, cwd) as wait:
            assert wait("", ready.exists), "the shell did not start"
            wait("", None, 0.3)
            wait(line + "\t", None, 2.5)
            assert wait(DUMP, out.exists), "no line came back"
        return out.read_text().rstrip("\n")
    return run


@contextlib.contextmanager
def _terminal(command, env, cwd):
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvpe(command[0], command, env)
    fcntl.ioctl(master, termios.TIOCSWINSZ,
                struct.pack("HHHH", 50, 120, 0, 0))

    def wait(keys, done, seconds=30.0):
        os.write(master, keys.encode())
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (done and done()):
            if select.select([master], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    os.read(master, 65536)
        return done is None or done()
    try:
        yield wait
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)
