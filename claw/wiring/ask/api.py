"""claw.ask: one question from a program."""

from collections.abc import Mapping, Sequence
from typing import Any

from claw.config.places import Places, locate
from claw.config.tree import load
from claw.core.errors import UsageError
from claw.core.provider import Passage
from claw.core.value import replace
from claw.providers.wire.options import check_options
from claw.wiring.ask.answer import answer
from claw.wiring.ask.question import Question
from claw.wiring.ask.templated import apply_template
from claw.wiring.templates import load_template
from claw.wiring.workspace.trust import settle_trust


def ask(prompt: str = "", *, stdin: str | None = None,
        provider: str | None = None, model: str | None = None,
        system: str | None = None, temperature: float | None = None,
        tools: Sequence[str] = (), memory: bool = True,
        session: str | None = None, template: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        schema: dict[str, Any] | str | None = None,
        max_tokens: int | None = None, timeout_s: float | None = None,
        max_cost_usd: float | None = None, docs: str | None = None,
        workspace: str | None = None,
        config_dir: str | None = None) -> dict[str, Any]:
    """The answer to a prompt, as `claw ask --json` prints it.

    `stdin` is text to put under the prompt. Nothing is kept unless a
    `session` is named. The model may cost at most `max_cost_usd`. `docs`
    names documents to answer from. `template` is the name of a saved
    prompt, `parameters` are the values of its $names, `options` the
    vendor's own. With a `schema`, a JSON Schema or its short form ("name,
    age int"), the text is JSON that fits it. Raises the errors of
    claw.core.errors.
    """
    if parameters and template is None:
        raise UsageError("parameters are values of a template",
                         hint="name it with template=")
    check_options(options or {})
    passages = [Passage("stdin", stdin)] if stdin else []
    question = Question(
        prompt, passages, provider=provider, model=model, system=system,
        temperature=temperature, tools=tools, use_memory=memory,
        session=session, keep=session is not None,
        schema=_check_schema(schema), options=options or {},
        max_tokens=max_tokens, timeout_s=timeout_s,
        max_cost_usd=max_cost_usd, docs=docs)
    places = settle_trust(locate(config_dir, workspace),
                          adopts=question.keep)
    if template is not None:
        question = _fill(question, places, template, parameters or {})
    if not (question.prompt.strip() or question.piped.strip()):
        raise UsageError("nothing was asked", hint="give a prompt")
    return answer(load(places), question)


def _fill(question: Question, places: Places, name: str,
          parameters: Mapping[str, Any]) -> Question:
    """The question in the words of a template."""
    template = load_template(places, name)
    template = replace(template, short_schema=None, schema=_check_schema(
        template.schema or template.short_schema))
    return apply_template(template, {
        key: str(value) for key, value in parameters.items()}, question)


def _check_schema(given: dict[str, Any] | str | None
                  ) -> dict[str, Any] | None:
    """A schema as it is asked with. Raises UsageError for what is none."""
    if given is None:
        return None
    from claw.agent.structured.answer import parse_schema
    if isinstance(given, str):
        return parse_schema(given)[0]
    from claw.agent.structured.validator import check_schema
    check_schema(given)
    return given
