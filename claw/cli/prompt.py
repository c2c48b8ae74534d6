"""What the person asks: words of the command line and what is piped in;
and what a person is asked."""

import sys
from collections.abc import Callable

from claw.cli.attachments.read import Attached, Limits, read_piped
from claw.cli.output import Output, is_terminal
from claw.cli.stdin import is_piped
from claw.core.errors import UsageError


def read_prompt(prompt: str, limits: Limits, *, wants_stdin: bool = False,
                spare_stdin: bool = False,
                say: Callable[[str], None], example: str,
                dry_run: bool = False) -> tuple[str, Attached]:
    """The prompt, and what was piped beside it; without a prompt the piped
    text is it. With `spare_stdin` it is somebody else's (-f -). UsageError,
    with the example, for neither, and for what `read_piped` raises it."""
    if wants_stdin and spare_stdin:
        raise UsageError("standard input can be read once, and - and -f - "
                         "both name it", hint="leave one of them out")
    piped = (read_piped(limits, say=say, dry_run=dry_run)
             if wants_stdin or (is_piped() and not spare_stdin)
             else Attached([], []))
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


def may_ask() -> bool:
    """Whether a person is at the terminal who can be asked."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def confirm(out: Output, question: str, *, default: bool) -> bool:
    """What the person at the terminal says; False at the end of input."""
    out.interrupt_waiting()
    sys.stderr.write(f"{question} [{'Y/n' if default else 'y/N'}] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    said = answer.strip().lower()
    return bool(answer) and (said in {"y", "yes"}
                             or (default and not said))


def split_names(text: str) -> list[str]:
    """The names of a list by comma; "none" is none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    return [] if names == ["none"] else names
