"""A question that is asked with a template."""

from collections.abc import Mapping

from claw.core.errors import UsageError
from claw.core.value import replace
from claw.wiring.ask.question import Question
from claw.wiring.templates.template import (
    Template,
    fill_system,
    fill_template,
    split_template,
)


def apply_template(template: Template, values: Mapping[str, str],
                   question: Question, *, no_tools: bool = False
                   ) -> Question:
    """The question in the words of a template, and asked as it says where
    the question does not; `no_tools`: also not with its tools.

    $input is the piped text, else the prompt. Piped text without $input
    stays under it, and so does a prompt beside piped text. Raises
    UsageError for a parameter that is missing or unknown, and for a
    template without its text.
    """
    merged = overlay(template, question, no_tools=no_tools)
    system = question.system
    if system is None:
        system = fill_system(template, values)
    question = replace(
        question, provider=merged.provider, model=merged.model,
        system=system, tools=merged.tools or (), options=merged.options,
        temperature=merged.temperature, schema=merged.schema)
    prompt, pieces = question.prompt, split_template(template, values)
    if len(pieces) == 1 or not question.piped:
        if len(pieces) > 1 and not (prompt or question.passages
                                    or question.images):
            raise UsageError(
                f"template {template.name} works on a text, and there is "
                "none", hint=f"claw ask -T {template.name} < FILE")
        return replace(question, prompt=fill_template(template, values,
                                                      prompt))
    if prompt:
        pieces[-1] += f"\n\n{prompt}"
    return replace(question, frame=pieces, prompt="".join(pieces).strip())


def overlay(template: Template, question: Question, *,
            no_tools: bool = False) -> Template:
    """A template with what a question says in place of what it says. Its
    model goes with its provider: another one does not have it."""
    is_other = template.provider is not None \
        and question.provider not in (None, template.provider)
    return replace(
        template, provider=question.provider or template.provider,
        model=question.model or (None if is_other else template.model),
        system=template.system if question.system is None
        else question.system,
        tools=question.tools or ([] if no_tools else template.tools),
        schema=template.schema if question.schema is None
        else question.schema,
        temperature=template.temperature if question.temperature is None
        else question.temperature,
        options={**template.options, **question.options})


def save_as(name: str, template: Template | None,
            values: Mapping[str, str], question: Question, *,
            no_tools: bool = False) -> Template:
    """What `--save` keeps: the question over the template, if one was
    named. `values` become the defaults."""
    template = template or Template(name)
    return replace(
        overlay(template, question, no_tools=no_tools), name=name,
        parameters={**template.parameters, **values},
        body=question.prompt or template.body)
