"""What a command sees of the environment."""

from collections.abc import Mapping, Sequence
from pathlib import Path

# Names that a command may see; keys and secrets are never among them.
SAFE_VARIABLES = ("PATH", "HOME", "TERM", "LANG", "LC_ALL", "LC_CTYPE",
                  "USER", "SHELL", "TMPDIR")


def safe_environment(env: Mapping[str, str], workspace: Path,
                     passthrough: Sequence[str]) -> dict[str, str]:
    """What a command's environment holds: the safe names and those the
    owner lets through. HOME is the workspace; nothing asks on a terminal.
    """
    kept = {n: env[n] for n in (*SAFE_VARIABLES, *passthrough) if n in env}
    kept.update(HOME=str(workspace), GIT_CONFIG_NOSYSTEM="1",
                GIT_TERMINAL_PROMPT="0", GIT_TEMPLATE_DIR="")
    return kept
