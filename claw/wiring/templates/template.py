"""A template, and its text with the parameters put in.

In the prompt and the system prompt `$name` and `${name}` stand for a
parameter, `$input` in the prompt for the text at hand, `$$` for a dollar.
A name is a parameter where [parameters] has it, or where it begins with a
small letter (or one of a script without capitals). Every other dollar stays
as it is: $5, $HOME, $(date).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from claw.core.errors import UsageError
from claw.core.registry import nearest
from claw.core.value import Value, made

INPUT = "input"
# A Latin name ends where Latin letters end: $inputを is $input.
_MARK = (r"\$(?:(?P<dollar>\$)|\{(?P<braced>%(name)s)\}|(?P<known>%(known)s)"
         r"(?![A-Za-z0-9_])|(?P<word>[A-Za-z_][A-Za-z0-9_]*|[^\W\d]\w*))")
# A letter, _ or what is not ASCII, then digits too. Said by what it is not: a
# class up to U+10FFFF takes 2 ms to compile.
NAME = (r"[^\x00-\x40\x5b-\x5e\x60\x7b-\x7f]"
        r"[^\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]*")


class Template(Value):
    """A saved prompt and whom it asks; None where it does not say.

    `parameters` are name -> default, None for one that has to be given.
    `schema` is a JSON Schema, `short_schema` one in its short form.
    `options` go to the vendor. Without `body` it is a role: the words of
    the command line are the prompt.
    """

    name: str
    description: str = ""
    model: str | None = None
    provider: str | None = None
    system: str | None = None
    tools: Sequence[str] | None = None
    schema: dict[str, Any] | None = None
    short_schema: str | None = None
    temperature: float | None = None
    options: Mapping[str, Any] = made(factory=dict)
    parameters: Mapping[str, str | None] = made(factory=dict)
    body: str = ""
    path: Path | None = None

    @property
    def takes_input(self) -> bool:
        """Whether $input stands in the prompt."""
        return INPUT in find_names(self.body, self.parameters)


def fill_template(template: Template, values: Mapping[str, str],
                  text: str = "") -> str:
    """The prompt: parameters put in, `text` where $input stands, else
    under it. Raises UsageError for a parameter that is missing or unknown.
    """
    pieces = split_template(template, values)
    if len(pieces) == 1 and text:
        pieces.append(text)
        text = "\n\n" if pieces[0] else ""
    return text.join(pieces)


def split_template(template: Template, values: Mapping[str, str]
                   ) -> list[str]:
    """The prompt in the pieces between which $input stands. Raises as
    `fill_template`."""
    return _fill(template.body, settle_values(template, values))


def fill_system(template: Template, values: Mapping[str, str]) -> str | None:
    """The system prompt with parameters put in. Raises as
    `fill_template`."""
    settled = settle_values(template, values)
    return None if template.system is None else "".join(_fill(
        template.system, settled))


def settle_values(template: Template, values: Mapping[str, str]
                  ) -> dict[str, str]:
    """A value for each parameter: the one given, else its default."""
    for name in values:
        if name not in template.parameters:
            raise _unknown_parameter(template, name)
    settled = {**template.parameters, **values}
    missing = [name for name, value in settled.items() if value is None]
    if missing:
        first = missing[0]
        raise UsageError(
            f"template {template.name}: no value for "
            + ", ".join(f"${name}" for name in missing),
            hint=f"give one with: -P {first}=VALUE (where a dollar is meant, "
                 f"the template says $${first})")
    return {name: value for name, value in settled.items()
            if value is not None}


def find_names(text: str, declared: Iterable[str]) -> list[str]:
    """The names that stand for something in a text, in their order."""
    names = (_name(found, declared) for found in _marks(declared).finditer(
        text))
    return list(dict.fromkeys(name for name in names if name))


def _fill(text: str, values: Mapping[str, str]) -> list[str]:
    """In one pass: what is put in is not looked at again. A new piece
    begins at each $input."""
    pieces, at = [""], 0
    for found in _marks(values).finditer(text):
        pieces[-1] += text[at:found.start()]
        at = found.end()
        name = _name(found, values)
        if name == INPUT:
            pieces.append("")
        else:
            pieces[-1] += "$" if found["dollar"] else found[0] \
                if name is None else values[name]
    pieces[-1] += text[at:]
    return pieces


def _marks(declared: Iterable[str]) -> re.Pattern[str]:
    known = sorted({INPUT, *declared}, key=len, reverse=True)
    return re.compile(_MARK % {
        "name": NAME, "known": "|".join(map(re.escape, known))})


def _name(found: re.Match[str], declared: Iterable[str]) -> str | None:
    """What a dollar names; None where it stays as it is."""
    if found["dollar"]:
        return None
    name = found["known"] or found["braced"] or found["word"]
    if name == INPUT or name in declared:
        return name
    first = name[0]
    return name if first.isalpha() and first == first.lower() else None


def _unknown_parameter(template: Template, name: str) -> UsageError:
    known = list(template.parameters)
    near = nearest(name, known)
    return UsageError(
        f"template {template.name} has no parameter {name!r}",
        hint=f'did you mean "{near}"?' if near else
        "it has: " + ", ".join(known) if known else "it has none")
