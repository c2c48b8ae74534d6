"""Reading a template: a TOML head between two lines `+++`, then the prompt.

Without a first line `+++` all of the file is the prompt. An error names
file and line.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claw.config.lines import line_table
from claw.config.parse import parse
from claw.core.errors import ConfigError, UsageError
from claw.core.registry import nearest
from claw.providers.wire.options import check_options
from claw.wiring.templates.template import INPUT, NAME, Template, find_names

FENCE = "+++"
_YAML = "---"
# key -> the types it may have, and how they are called
_KEYS: dict[str, tuple[tuple[type, ...], str]] = {
    "description": ((str,), "a text"),
    "model": ((str,), "a text"),
    "provider": ((str,), "a text"),
    "system": ((str,), "a text"),
    "tools": ((list,), 'a list of names, as in ["file_read"]'),
    "schema": ((dict, str), "a table, the name of a file beside the "
                            "template, or the short form"),
    "temperature": ((int, float), "a number from 0 to 2"),
    "options": ((dict,), "a table"),
    "parameters": ((dict,), "a table"),
}


def parse_template(text: str, name: str, path: Path) -> Template:
    """The template in a text; `path` is what errors call it. A schema in a
    file is not read. Raises ConfigError."""
    head, body = _split(text.replace("\r\n", "\n"), path)
    raw = parse(head, str(path))
    checks = _Checks(path, line_table(head))
    checks.check_types(raw)
    checks.check_options(raw.get("options", {}))
    declared = checks.read_defaults(raw.pop("parameters", {}))
    system = raw.get("system", "")
    if not (body or system):
        raise ConfigError(f"{path}: the template is empty",
                          hint='write a prompt, or system = "..." in its '
                               "head")
    if INPUT in find_names(system, declared):
        raise checks.wrong("$input can stand in the prompt only", "system",
                           hint="for a dollar write $$input")
    if isinstance(raw.get("schema"), str):
        raw["short_schema"] = raw.pop("schema")
    parameters = _find_parameters(declared, system, body)
    checks.check_used(declared, parameters)
    return Template(name, **{**raw, "parameters": parameters},
                    body=body, path=path)


class _Checks:
    """What is wrong in a head, with its line."""

    def __init__(self, path: Path, lines: Mapping[tuple[str, ...], int]
                 ) -> None:
        self._path = path
        self._lines = lines

    def wrong(self, problem: str, *key: str, hint: str | None = None
              ) -> ConfigError:
        line = self._lines.get(key) or self._lines.get(key[:1], 1)
        return ConfigError(f"{self._path}:{line}: {problem}", hint=hint)

    def check_types(self, raw: Mapping[str, Any]) -> None:
        for key, value in raw.items():
            if key not in _KEYS:
                near = nearest(key, _KEYS)
                raise self.wrong(f"unknown key {key!r}", key,
                                 hint=f'did you mean "{near}"?' if near
                                 else "one of: " + ", ".join(_KEYS))
            if not _fits(key, value):
                raise self.wrong(f"{key} is {_KEYS[key][1]}", key)

    def check_options(self, options: Mapping[str, Any]) -> None:
        try:
            json.dumps(options, allow_nan=False)
            check_options(options)
        except UsageError as error:
            raise self.wrong(error.message.removeprefix("-o "), "options",
                             hint=error.hint) from error
        except (TypeError, ValueError) as error:
            raise self.wrong("options hold what JSON can't say: dates, inf "
                             "or nan", "options") from error

    def read_defaults(self, table: Mapping[str, Any]) -> dict[str, str]:
        """The defaults of [parameters], as text."""
        for key, value in table.items():
            if key == INPUT or not re.fullmatch(NAME, key):
                raise self.wrong(
                    f"a parameter can't be called {key!r}", "parameters",
                    key, hint="$input is the text at hand"
                    if key == INPUT else "a name is of letters, digits, _")
            if not isinstance(value, str | int | float):
                raise self.wrong(f"the default of {key} is a text, a number "
                                 "or true or false", "parameters", key)
        return {key: value if isinstance(value, str) else json.dumps(value)
                for key, value in table.items()}

    def check_used(self, declared: Mapping[str, str],
                   parameters: Mapping[str, str | None]) -> None:
        for key in declared:
            if key not in parameters:
                raise self.wrong(
                    f"${key} stands nowhere in the template", "parameters",
                    key, hint="the other keys stand above [parameters]"
                    if key in _KEYS else "use it, or take it out")


def _fits(key: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, _KEYS[key][0]):
        return False
    if isinstance(value, list):
        return all(isinstance(tool, str) for tool in value)
    return not isinstance(value, int | float) or 0 <= value <= 2


def _find_parameters(declared: Mapping[str, str], *texts: str
                     ) -> dict[str, str | None]:
    """Name -> default of all that the texts name, those with a default
    first and in the order of the head."""
    names = [name for text in texts for name in find_names(text, declared)]
    found = {name: declared.get(name) for name in
             sorted(set(declared) & set(names), key=list(declared).index)}
    return found | {name: None for name in names
                    if name != INPUT and name not in declared}


def _split(text: str, path: Path) -> tuple[str, str]:
    """Head and prompt. The head has an empty line for its first one, so
    that its lines are counted as the file's."""
    first, _, rest = text.partition("\n")
    lines = rest.split("\n")
    fences = [i for i, line in enumerate(lines) if line.rstrip() == FENCE]
    if first.rstrip() == FENCE:
        if not fences:
            raise ConfigError(f"{path}:1: the head has no end",
                              hint=f"close it with a second line {FENCE}")
        return ("\n" + "\n".join(lines[:fences[0]]),
                "\n".join(lines[fences[0] + 1:]).strip())
    if first.rstrip() == _YAML and _YAML in map(str.rstrip, lines):
        raise ConfigError(f"{path}:1: the head is no YAML",
                          hint=f"write it as TOML (key = \"value\") between "
                               f"two lines {FENCE}")
    return "", text.strip()
