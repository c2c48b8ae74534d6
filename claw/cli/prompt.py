"""What the person asks: words of the command line and what is piped in."""

from collections.abc import Callable

from claw.cli.attachments.read import Attached, Limits, read_piped
from claw.cli.stdin import is_piped
from claw.core.errors import UsageError


def read_prompt(prompt: str, limits: Limits, *, wants_stdin: bool = False,
                say: Callable[[str], None], example: str,
                dry_run: bool = False) -> tuple[str, Attached]:
    """The prompt, and what was piped beside it; without a prompt the piped
    text is it. UsageError, with the example, for neither, and for what
    `read_piped` raises it."""
    piped = (read_piped(limits, say=say, dry_run=dry_run)
             if wants_stdin or is_piped() else Attached([], []))
    texts = [p for p in piped.passages if p.text.strip()]
    if prompt:
        return prompt, Attached(texts, piped.images)
    if piped.images:
        command = " ".join(example.split()[:2])
        raise UsageError(
            "an image was piped in, and nothing was asked about it",
            hint=f'try: {command} "what is in this picture?" < photo.png')
    if not texts:
        raise UsageError("nothing was asked", hint=f"try: {example}")
    return texts[0].text.strip(), Attached([], [])


def split_names(text: str) -> list[str]:
    """The names of a list by comma; "none" is none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    return [] if names == ["none"] else names
