"""A conversation as Markdown, and as numbers."""

import os
import stat
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from claw.core.errors import StorageError, UsageError
from claw.core.provider import estimate_tokens
from claw.wiring.workspace.sessions import SpokenMessage

_NAMES = {"user": "You", "assistant": "claw", "tool": "Tool"}
_PARTS = {"system": "instructions", "user": "your words",
          "assistant": "answers", "tool": "what tools gave"}


def write_transcript(messages: Iterable[SpokenMessage]) -> str:
    """What was said under a heading for each; calls and what tools gave as
    blocks of code, whatever they hold."""
    parts = []
    for message in messages:
        if message.role == "system":
            continue
        lines = [f"## {_NAMES.get(message.role, message.role)}", ""]
        if message.role == "tool":
            lines.append(_fence(message.text))
        elif message.text.strip():
            lines.append(message.text.strip())
        lines += [_fence(f"{name} {arguments}")
                  for name, arguments in message.calls]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _fence(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def count_tokens(messages: Iterable[SpokenMessage]) -> dict[str, int]:
    """About how many tokens each part of the conversation has."""
    found: Counter[str] = Counter()
    for message in messages:
        found[_PARTS.get(message.role, message.role)] += estimate_tokens(
            message.text)
        for name, arguments in message.calls:
            found["tool calls"] += estimate_tokens(name + arguments)
    return dict(found)


def find_path(name: str) -> Path:
    """The file that a person names, there or not. Raises UsageError for
    what is no file, StorageError for a name that can't be one."""
    path = Path(os.path.expanduser(name))
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return path
    except (OSError, ValueError) as error:
        raise _explain(path, error) from error
    if stat.S_ISDIR(mode):
        raise UsageError(f"{path} is a folder",
                         hint=f"try: /save {path / 'talk.md'}")
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is no regular file",
                         hint="name another file")
    return path


def write_new_file(path: Path, text: str) -> bool:
    """Write a file where nothing stands; False where something does.
    Raises StorageError."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return False
    except (OSError, ValueError) as error:
        raise _explain(path, error) from error
    try:
        with open(number, "w", encoding="utf-8",
                  errors="replace") as file:
            file.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)  # half a conversation is none
        raise _explain(path, error) from error
    return True


def replace_file(path: Path, text: str) -> None:
    """Write a file in the place of another, whole or not at all. Raises
    StorageError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    if not write_new_file(draft, text):
        raise StorageError(f"{draft} is in the way", hint="remove it")
    try:
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise _explain(path, error) from error


def _explain(path: Path, error: OSError | ValueError) -> StorageError:
    why = getattr(error, "strerror", None) or str(error)
    return StorageError(f"{path}: {why}", hint="name another file")
