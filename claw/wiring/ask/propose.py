"""One shell command for a task, asked of a model."""

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claw.agent.structured.answer import UnfitAnswerError
from claw.config.tree import Tree
from claw.core.errors import ConfigError, DeniedError
from claw.core.provider import Passage
from claw.core.value import Value, replace
from claw.providers.catalog.choice import Choice
from claw.providers.factory import OFFLINE
from claw.providers.offline import NO_MODEL, WAYS
from claw.security.visible import visible
from claw.wiring.ask.answer import answer
from claw.wiring.ask.question import Question, Watch
from claw.wiring.ask.templated import apply_template
from claw.wiring.templates import Template, load_template

_TEMPLATE = "shell"
# The template asks for a bare command, and the schema for more.
_FORM = ("The command stands in the field command of your answer, and in the "
         "field explanation what each part of it does.")
_SCHEMA: dict[str, Any] = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "command": {"type": "string", "description": "one line, no prompt "
                    "sign, no code fence"},
        "explanation": {"type": "string", "description":
                        "what each part of it does, in short"}},
    "required": ["command", "explanation"]}


MOST_CHARS = 4000


class Proposal(Value):
    """A command on one line that shows all it holds."""

    command: str
    explanation: str


def propose_command(tree: Tree, task: str, passages: Sequence[Passage], *,
                    shell: str, cwd: str, model: str | None,
                    provider: str | None, timeout_s: float | None,
                    notify: Callable[[str], None]) -> Proposal:
    """Ask for the command with the template "shell", the owner's before
    claw's; nothing of it is kept. ConfigError where there is no model or
    the template is of no use, DeniedError for an answer that is not one
    plain line."""
    question = Question(
        task, provider=provider, model=model, use_memory=False, keep=False,
        schema=_SCHEMA, timeout_s=timeout_s)
    question = _apply(load_template(tree.places, _TEMPLATE), question, {
        "shell": shell, "system": _name_system(), "folder": cwd})
    try:
        found = json.loads(answer(
            tree, replace(question, passages=passages), Watch(
                on_choice=_refuse_offline, notify=notify))["text"])
    except UnfitAnswerError as error:
        raise UnfitAnswerError(
            "the model gave no command", hint="try another model with -m, or "
            "say the task in other words") from error
    return Proposal(require_one_line(found["command"]), found["explanation"])


def _apply(template: Template, question: Question,
           values: Mapping[str, str]) -> Question:
    """The task in the words of the template. Only the form is not its
    own: nothing of it runs a tool, and the answer is that of the schema."""
    missing = [name for name, default in template.parameters.items()
               if default is None and name not in values]
    if missing:
        raise ConfigError(
            f"{template.path}: claw do has no value for ${missing[0]}",
            hint=f"give it a default: claw template edit {template.name}")
    asked = apply_template(template, {
        name: value for name, value in values.items()
        if name in template.parameters}, question, no_tools=True)
    return replace(
        asked, system=f"{asked.system or ''}\n\n{_FORM}".strip(),
        temperature=asked.temperature or 0.0)


def require_one_line(command: str) -> str:
    """The command, where what is shown of it is what would run. Raises
    DeniedError."""
    command = command.strip(" ")
    if len(command) > MOST_CHARS:
        raise DeniedError(
            f"the proposed command has {len(command):,} characters, more "
            f"than the {MOST_CHARS:,} that can be looked through",
            hint="ask for a script: claw ask")
    if command[:1] in ("-", "+"):  # the shell would take it for options
        raise DeniedError(f"no command begins with {command[0]}",
                          hint="say the task in other words")
    if not command:
        raise DeniedError("the model proposed no command",
                          hint="say the task in other words")
    if visible(command) != command:
        raise DeniedError(
            "the proposed command is not one plain line: "
            + visible(command), hint="say the task in other words")
    return command


def _refuse_offline(choice: Choice) -> None:
    if choice.provider_name == OFFLINE:
        raise ConfigError(f"{NO_MODEL}, and a command needs one",
                          hint=f"to add one: {WAYS}")


def _name_system() -> str:
    return f"{platform.system()} {platform.release()}"
