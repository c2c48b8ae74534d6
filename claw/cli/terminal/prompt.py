"""What the person asks: words of the command line and what is piped in;
and what a person is asked."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from claw.cli.attachments.read import (
    STDIN,
    Attached,
    Limits,
    is_address,
    is_folder,
    read_piped,
)
from claw.cli.show.output import Output, is_terminal
from claw.cli.terminal.stdin import is_piped
from claw.core.errors import UsageError

NOTHING = Attached([], [])


def read_prompt(prompt: str, limits: Limits, *, wants_stdin: bool = False,
                files: Sequence[str] = (), attached: Attached = NOTHING,
                say: Callable[[str], None], example: str,
                dry_run: bool = False) -> tuple[str, Attached]:
    """The prompt, and what goes with it: what is piped in, then what is
    `attached`. Without a prompt the piped text is it, or the text of one
    file. `files` are the names that were attached; with - among them stdin
    is read. Raises UsageError, with the example, where nothing is asked,
    and what `read_piped` raises."""
    spare_stdin = STDIN in files
    if wants_stdin and spare_stdin:
        raise UsageError("standard input can be read once, and - and -f - "
                         "both name it", hint="leave one of them out")
    piped = (read_piped(limits, say=say, dry_run=dry_run)
             if wants_stdin or (is_piped() and not spare_stdin)
             else NOTHING)
    texts = [p for p in piped.passages if p.text.strip()]
    if prompt:
        return prompt, Attached([*texts, *attached.passages],
                                [*piped.images, *attached.images])
    command = " ".join(example.split()[:2])
    if piped.images:
        raise UsageError(
            "an image was piped in, and nothing was asked about it",
            hint=f'try: {command} "what is in this picture?" < photo.png')
    if texts:
        return texts[0].text.strip(), attached
    if _is_one_text(files, attached):
        return attached.passages[0].text.strip(), NOTHING
    raise UsageError("nothing was asked" + (
        " about what goes with it" if files else ""), hint="try: " + (
        f'{command} -f FILE "what does it say?"'
        if files else example))


def _is_one_text(files: Sequence[str], attached: Attached) -> bool:
    """Whether a file may be the prompt itself: one text of the owner's, as
    it could be piped in; neither a web page nor a folder."""
    return len(files) == 1 and not is_address(files[0]) \
        and not is_folder(files[0]) and not attached.images \
        and len(attached.passages) == 1 \
        and bool(attached.passages[0].text.strip())


def may_ask() -> bool:
    """Whether a person is at the terminal who can be asked."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def confirm(out: Output, question: str, *, default: bool) -> bool:
    """What the person at the terminal says; False at the end of input."""
    out.interrupt_waiting()
    sys.stderr.write(f"{question} [{'Y/n' if default else 'y/N'}] ")
    sys.stderr.flush()
    with ending_the_line():
        answer = sys.stdin.readline()
    said = answer.strip().lower()
    return bool(answer) and (said in {"y", "yes"}
                             or (default and not said))


@contextmanager
def ending_the_line() -> Iterator[None]:
    """Where Ctrl-C ends a question, what comes next has its own line."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        raise


def split_names(text: str) -> list[str]:
    """The names of a list by comma; "none" is none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    return [] if names == ["none"] else names
