"""What the person asks: words of the command line and piped text."""

from collections.abc import Callable

from claw.cli.stdin import LIMIT_BYTES, is_piped, read_text
from claw.core.errors import UsageError
from claw.core.provider import Passage


def read_prompt(prompt: str, *, limit_bytes: int = LIMIT_BYTES,
                wants_stdin: bool = False, say: Callable[[str], None],
                example: str) -> tuple[str, list[Passage]]:
    """The prompt, and what was piped beside it; without a prompt the piped
    text is it. UsageError, with the example, for neither."""
    piped = (read_text(limit_bytes, say=say) if wants_stdin or is_piped()
             else "")
    if prompt:
        return prompt, [Passage("stdin", piped)] if piped.strip() else []
    if not piped.strip():
        raise UsageError("nothing was asked", hint=f"try: {example}")
    return piped.strip(), []


def split_names(text: str) -> list[str]:
    """The names of a list by comma; "none" is none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    return [] if names == ["none"] else names
