"""What claw map asks: a prompt or a template, and the options with it."""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from claw.cli.commands.ask.schema import read_schema
from claw.cli.commands.ask.templates import parse_parameters, read_template
from claw.cli.invocation import Invocation
from claw.core.errors import UsageError
from claw.core.value import replace
from claw.providers.wire.options import parse_options, require_unpaid
from claw.wiring.ask.question import Question
from claw.wiring.map.task import Task
from claw.wiring.templates import Template, fill_system, fill_template

_INPUT = "$input"


def build_task(run: Invocation, words: Sequence[str], name: str | None,
                parameters: Sequence[str]) -> tuple[Task, Sequence[str]]:
    """What is asked, and the names of files. Raises UsageError."""
    if name is not None:
        return _fill_template(read_template(name, run),
                              parse_parameters(parameters), words)
    if parameters:
        raise UsageError("-P gives a value to a template",
                         hint="name the template with -T")
    return _take_words(words)


def _take_words(words: Sequence[str]) -> tuple[Task, Sequence[str]]:
    """The prompt that stands first, and what stands behind it."""
    if not words or not words[0].strip():
        raise UsageError(
            "nothing is asked of the inputs",
            hint='try: cat names.txt | claw map "translate to German"')
    if os.path.isfile(words[0]):
        name = shlex.quote(words[0])
        others = " ".join(map(shlex.quote, words[2:]))
        raise UsageError(
            f"{words[0]} is a file, and the prompt stands before the files",
            hint="write: claw map " + (
                f"{shlex.quote(words[1])} {name} {others}".rstrip()
                if len(words) > 1 and not os.path.exists(words[1])
                else f'"what to ask of it" {name}'))
    return _fill_words(words[0]), words[1:]


def _fill_words(prompt: str) -> Task:
    title = prompt if _INPUT in prompt else f"{prompt}\n\n{_INPUT}"
    return Task(Question(""), lambda text: title.replace(_INPUT, text),
                title)


def _fill_template(template: Template, values: dict[str, str],
                   words: Sequence[str]) -> tuple[Task, Sequence[str]]:
    if template.tools:
        raise UsageError(f"template {template.name} wants tools, and claw "
                         "map gives none", hint="use it with claw ask")
    if not template.body:  # a role: the words are the prompt
        task, words = _take_words(words)
    else:
        task = Task(Question(""),
                    lambda text: fill_template(template, values, text),
                    fill_template(template, values, _INPUT))
    return replace(task, question=Question(
        "", provider=template.provider, model=template.model,
        system=fill_system(template, values),
        temperature=template.temperature, options=template.options,
        schema=template.schema)), words


def set_options(run: Invocation, task: Task, given: Mapping[str, Any],
                schema: str | None, options: Sequence[str]) -> Task:
    """The task with what the command line says of the question; None leaves
    what the template says. Raises UsageError."""
    question = replace(
        task.question,
        **{name: value for name, value in given.items() if value is not None},
        options={**task.question.options, **parse_options(options)})
    if schema is not None:
        question = replace(question, schema=read_schema(
            schema, "--schema", run))
    if question.max_cost_usd is not None:
        require_unpaid(question.options)
    return replace(task, question=question)
