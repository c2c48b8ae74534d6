"""What the owner sees of a call, and what an answer means."""

import json
from collections.abc import Mapping
from typing import (
    Any,
)

from claw.core.turn import (
    ApprovalRequest,
    Decision,
)
from claw.security.visible import visible

SHOWN_CHARS = 3_000
CARRIED_OUT = ("command", "prompt")  # of a job: shown whole
CALL_CHARS = 200  # of one that is told of afterwards


def prompt(request: ApprovalRequest) -> str:
    """What the owner sees. Nothing in it moves the cursor or turns the
    direction of the text."""
    label = name_content(request)
    always = (" / [a]lways" if request.may_remember else "") + (
        " / for a [w]eek" if request.may_keep else "")
    why = (f"Why: {visible(request.reason)}\n" if request.details
           or request.reason.startswith(("this turn", "medium-risk command:"))
           else "")
    details = "".join(f"  {visible(line)}\n"
                      for line in (*request.details, *request.diff))
    kind = "File" if request.details else "Tool"
    place = f"In: {visible(request.place)}\n" if request.place else ""
    return (f"[claw] {kind}: {visible(request.tool)}\n"
            f"{label}: {show_lines(request)}\n{place}{details}{why}"
            f"[y]es / [n]o{always}: ")


def show_lines(request: ApprovalRequest) -> str:
    """The summary; of a command of several lines each ends in what it
    stands for, and those behind the first are set in."""
    lines = request.summary.split("\n") if request.tool == "shell" \
        else [request.summary]
    return "\\n\n    ".join(map(visible, lines))


def name_content(request: ApprovalRequest) -> str:
    """What the summary of a request is."""
    if request.details or request.diff:
        return "Change"
    return "Command" if request.tool == "shell" else "Arguments"


def parse_decision(answer: str, *, may_remember: bool,
                   may_keep: bool = False) -> Decision:
    """y, yes, a, always, w, week; anything else, the end of input too, is
    no."""
    word = answer.strip().lower()
    if word in ("y", "yes"):
        return "yes"
    if word in ("w", "week") and may_keep:
        return "week"
    return "always" if word in ("a", "always") and may_remember else "no"


def is_answer(answer: str, request: ApprovalRequest) -> bool:
    """Whether a line is one of those asked for; an empty one is a no."""
    return answer.strip().lower() in ("", "n", "no") or parse_decision(
        answer, may_remember=request.may_remember,
        may_keep=request.may_keep) != "no"


def explain_answers(request: ApprovalRequest) -> str:
    """What each answer means, for who wrote another one."""
    return "; ".join([
        "y: this call, once", "n: not now",
        *(["a: this very call, until claw ends"]
          if request.may_remember else []),
        *(["w: this very call, in this folder, for a week"]
          if request.may_keep else [])])


def describe_call(tool: str, args: Mapping[str, Any]) -> str:
    """The call as the owner sees it: whole, since what is not seen is not
    approved. Of a longer value than a person reads both ends are shown,
    and how much is not."""
    command = args.get("command")
    if tool == "shell" and isinstance(command, str):
        return command
    return ", ".join(f"{key}: {_both_ends(write_value(value), key)}"
                     for key, value in args.items())


def is_whole(args: Mapping[str, Any]) -> bool:
    """Whether describe_call leaves nothing of them out."""
    return all(_both_ends(text, key) == text for key, text in (
        (key, write_value(value)) for key, value in args.items()))


def describe_change(args: Mapping[str, Any]) -> str:
    """Which file a diff is of; one of several files names them itself."""
    return f"path: {args['path']}" if "path" in args else "several files"


def summary(args: Mapping[str, Any]) -> str:
    """`key: value` pairs, each value cut at 80 characters."""
    texts = {key: write_value(value) for key, value in args.items()}
    return ", ".join(
        f"{key}: {text[:80]}{'...' if len(text) > 80 else ''}"
        for key, text in texts.items())


def write_call(tool: str, args: Mapping[str, Any]) -> str:
    """A call in a few words, to be told of: the command, or `summary`."""
    text = str(args["command"]) if tool == "shell" and "command" in args \
        else summary(args)
    text = visible(text).replace("`", "'")
    return text if len(text) <= CALL_CHARS else text[:CALL_CHARS] + "..."


def _both_ends(text: str, name: str) -> str:
    left_out = len(text) - SHOWN_CHARS
    if left_out <= 0 or name in CARRIED_OUT:
        return text
    half = SHOWN_CHARS // 2
    return (f"{text[:half]} [... {left_out} characters NOT SHOWN ...] "
            f"{text[-half:]}")


def write_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(
        value, ensure_ascii=False, default=str)
