"""A line of claw ask: what is wrong with it, and what it asks."""

from collections.abc import Mapping
from typing import Any

from claw.cli.attachments.read import (
    STDIN,
    Attached,
    Limits,
    read_attachments,
)
from claw.cli.commands.ask.schema import read_schema
from claw.cli.invocation import Invocation
from claw.cli.terminal.interrupt import interrupts_as_errors
from claw.cli.terminal.prompt import read_prompt, split_names
from claw.core.errors import UsageError
from claw.providers.wire.options import parse_options
from claw.wiring.ask.question import Question

Line = Mapping[str, Any]  # the parameters of `ask`, by their names


def refuse_conflicts(line: Line) -> None:
    """Raises UsageError for what does not go together."""
    cid = line["cid"]
    name, equals, _ = (line["provider"] or "").partition("=")
    if equals and name.isidentifier():
        raise UsageError(f"-p names a provider, and {name}= is none",
                         hint="a value for a template is -P "
                              + line["provider"])
    if sum(map(bool, (line["continued"], cid is not None,
                      line["session"]))) > 1:
        raise UsageError("--continue, --cid and --session exclude each other",
                         hint="--session NAME and --cid ID go on by "
                              "themselves")
    if cid is not None and not cid.strip():
        raise UsageError("--cid is empty", hint="list ids with: claw log list")
    if line["parameter"] and not (line["template"] or line["save"]):
        raise UsageError("-P gives a value to a template",
                         hint="name the template with -T")
    if line["schema"] is not None and line["schema_multi"] is not None:
        raise UsageError("--schema and --schema-multi exclude each other",
                         hint="--schema-multi takes the schema of one row")
    if line["save"] and line["schema_multi"] is not None:
        raise UsageError("a template keeps no --schema-multi",
                         hint="give it with -T, or keep --schema")


def build_question(run: Invocation, line: Line, body: str) -> Question:
    """The question of a line; `body` is the prompt of its template. Raises
    UsageError, and what reading its files raises."""
    text, goes_with = _read_input(run, line, body)
    rows = line["schema_multi"] is not None
    option, shape = ("--schema-multi", line["schema_multi"]) if rows \
        else ("--schema", line["schema"])
    return Question(
        text,
        passages=goes_with.passages,
        images=goes_with.images,
        tools=split_names(line["tools"]),
        use_memory=not line["no_memory"],
        keep=not line["no_log"],
        schema=None if shape is None else read_schema(shape, option, run),
        rows=rows,
        stream=not line["no_stream"],
        timeout_s=line["timeout"],
        approve_all=line["yes"],
        max_cost_usd=line["max_cost"],
        options=parse_options(line["option"] or []),
        **{name: line[name] for name in (
            "provider", "model", "system", "temperature", "session",
            "continued", "max_tokens", "docs", "cid")})


def _read_input(run: Invocation, line: Line, body: str
                ) -> tuple[str, Attached]:
    """The words that ask, "" where the template alone does, and what goes
    with them. Recordings and addresses take a while."""
    words, files = line["prompt"] or [], line["file"] or []
    asked = " ".join(word for word in words if word != STDIN).strip()
    with interrupts_as_errors(run), \
            run.out.waiting("reading what goes with it"):
        attached = read_attachments(
            files, line["stdin_limit"], run.settings, say=run.out.note,
            dry_run=line["dry_run"], paid=line["max_cost"] is None)
        if line["save"] and STDIN not in words:
            return asked, attached
        text, found = read_prompt(
            asked or body, Limits(line["stdin_limit"], run.settings,
                                  paid=line["max_cost"] is None),
            wants_stdin=STDIN in words, files=files, attached=attached,
            say=run.out.note, example='claw ask "what is 6 * 7?"',
            dry_run=line["dry_run"])
    return text if asked or not body else "", found
