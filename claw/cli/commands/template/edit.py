"""claw template edit, save."""

from pathlib import Path
from typing import Annotated

import typer

from claw.cli.commands.template.keep import keep_template
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.editor import edit_copy
from claw.cli.terminal.stdin import (
    LIMIT_BYTES,
    is_piped,
    read_past,
    read_text,
    read_words,
)
from claw.config.parse import decode_text, read_file
from claw.core.errors import ConfigError, NotFoundError, UsageError
from claw.wiring.templates import (
    find_template,
    own_path,
    parse_template,
    save_template,
)

# Every line but the last is a comment: as it is it says nothing.
_START = b"""\
+++
# TOML; every key may be left out.
# description = "What it is for"
# system = "What the system prompt begins with"
# model = ""    provider = ""    temperature = 0.7    tools = ["file_read"]
# [parameters]
# lang = "English"
+++
"""

NameArgument = Annotated[str, typer.Argument(
    metavar="NAME", help="A name of your choice; it may be one of claw's.")]


@examples("claw template edit commit", "claw template edit standup")
def edit(context: typer.Context, name: NameArgument) -> None:
    """Open a template in an editor and check it before it counts.

    $VISUAL, else $EDITOR, gets a copy. One of claw's own becomes yours
    with the first change; a name that is new begins with an empty head. A
    copy with errors is kept and replaces nothing (exit 3).
    """
    run = Invocation.of(context)
    own = own_path(run.places, name)
    was = None
    try:
        path = find_template(run.places, name)
        text = read_file(path)[0]
        was = text if path == own else None
    except NotFoundError as error:
        text = _START
        run.out.note(f"{name} is new" + (
            f" ({error.hint})" if error.hint else ""))

    def find_problem(copy: Path) -> ConfigError | None:
        try:
            parse_template(decode_text(copy.read_bytes(), copy), name, copy)
        except ConfigError as error:
            return error
        return None

    def put(data: bytes) -> None:
        save_template(run.places, name, data, was=was)
    changed = edit_copy(run, own.name, text, find_problem, put)
    if run.as_json:
        run.out.document({"name": name, "path": str(own),
                          "changed": changed})
    elif changed:
        run.out.note(f"kept in {own}")


@examples("claw template save standup standup.md",
          "claw template save standup < standup.md",
          'claw ask -s "You answer in one line." --save brief')
def save(context: typer.Context, name: NameArgument,
         file: Annotated[str, typer.Argument(
             metavar="[FILE]", help="A Markdown file; - or nothing: "
                                    "standard input.", show_default=False
         )] = "-",
         force: Annotated[bool, typer.Option(
             "--force", help="Replace a template of this name.")] = False,
         ) -> None:
    """Save a file as a template and print its path.

    A template is Markdown: a head in TOML between two lines +++, then the
    prompt. The head may have model, provider, system, tools, schema,
    temperature, description, [options] for the vendor and [parameters]
    with defaults. In the prompt $input is the text at hand, $NAME a
    parameter, $$ a dollar. A name that [parameters] does not have is a
    parameter if it begins with a small letter, and then -P has to give it;
    any other dollar stays as it is: $5, $HOME, $(date).
    """
    run = Invocation.of(context)
    if file != "-":
        text = _read_file(file)
    elif is_piped():
        text = read_text(say=run.out.note)
    else:
        raise UsageError("no file was given and nothing is piped in",
                         hint=f"to write one: claw template edit {name}")
    keep_template(run, name, text, force=force)


def _read_file(name: str) -> str:
    try:
        with open(name, "rb") as file:
            data = read_past(file, LIMIT_BYTES)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}",
                         hint="name a Markdown file") from error
    return read_words(name, data)
