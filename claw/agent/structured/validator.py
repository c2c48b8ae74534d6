"""JSON Schema in our words, by the package jsonschema.

Loaded where there is a schema and only there. References lead within the
schema: nothing is fetched. Without `$schema` it is draft 2020-12. A `format`
is a test, where it needs no further package. Source: json-schema.org.
"""

import re
from collections.abc import Container, Iterator
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any

from jsonschema import (  # type: ignore[import-untyped]
    Draft202012Validator,
    FormatChecker,
)
from jsonschema.exceptions import (  # type: ignore[import-untyped]
    SchemaError,
    ValidationError,
)
from jsonschema.validators import (  # type: ignore[import-untyped]
    extend,
    validator_for,
)
from referencing import Registry
from referencing.jsonschema import DRAFT202012, specification_with

from claw.agent.structured.following import follow_schema
from claw.agent.structured.sentences import (
    describe_place,
    describe_problem,
    is_multiple,
)
from claw.core.errors import UsageError

_DATE_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:(?:[0-5]\d|60))(?:\.\d+)?"
    r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII)
_KEPT = 100  # an answer may be wrong in every item
_WITHOUT_TEST = frozenset((
    "$schema", "$id", "id", "$defs", "definitions", "$comment", "$anchor",
    "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "title",
    "description", "default", "examples", "deprecated", "readOnly",
    "writeOnly", "then", "else", "minContains", "maxContains"))


def problems(value: Any, schema: Any) -> list[str]:
    """What is wrong with a value, each as "path: sentence"; [] if nothing.

    Raises UsageError where the schema itself can not be followed.
    """
    with follow_schema():
        if isinstance(schema, dict):
            kind = _choose_class(schema)
            validator = kind(
                # a draft that stands inside would undo `_choose_class`
                {k: v for k, v in schema.items() if k != "$schema"},
                registry=Registry(), format_checker=_our_formats(kind))
        else:
            validator = _our_class(Draft202012Validator)(schema)
        found = islice(validator.iter_errors(value), _KEPT)
        return list(dict.fromkeys(
            sentence for error in found for sentence in _say(error)))


def check_schema(schema: dict[str, Any]) -> list[str]:
    """The keywords without effect in a schema, sorted.

    Raises UsageError for the first keyword whose value can't be and for a
    reference that leads nowhere or back to itself.
    """
    unknown = _check_form(schema)
    problems(None, schema)  # a loop shows with any value
    return unknown


def _check_form(schema: dict[str, Any]) -> list[str]:
    with follow_schema():
        kind = _choose_class(schema)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            raise UsageError(f"schema: {_explain(error)}",
                             hint="correct the schema") from None
        specification = specification_with(
            kind.ID_OF(kind.META_SCHEMA), default=DRAFT202012)
        resource = specification.create_resource(schema)
        known = _WITHOUT_TEST | kind.VALIDATORS.keys()
        return sorted(set(_find_unknown(
            resource, Registry().resolver_with_root(resource), known,
            _our_formats(kind).checkers)))


def _choose_class(schema: dict[str, Any]) -> Any:
    draft = schema.get("$schema")
    return _our_class(Draft202012Validator if not isinstance(draft, str)
                      else validator_for(schema, Draft202012Validator))


@cache
def _our_class(kind: Any) -> Any:
    return extend(kind, {"multipleOf": _check_multiple, **{
        key: _keep_place(kind.VALIDATORS[key])
        for key in ("properties", "patternProperties")}})


@cache
def _our_formats(kind: Any) -> Any:
    """Those that jsonschema tests by itself, and the one that most schemas
    name."""
    formats = FormatChecker()
    formats.checkers = {**kind.FORMAT_CHECKER.checkers,
                        "date-time": (_is_date_time, ValueError)}
    return formats


def _is_date_time(value: Any) -> bool:
    """Whether it is as RFC 3339 writes it, e.g. 2026-11-23T16:25:00Z; a
    leap second counts. Raises ValueError for a day that there is not."""
    if not isinstance(value, str):
        return True
    found = _DATE_TIME.fullmatch(value)
    return found is not None and bool(
        datetime.fromisoformat(f"{found[1]}T{found[2].replace(':60', ':59')}"))


def _keep_place(check: Any) -> Any:
    """What jsonschema says of a part whose schema is false has no path."""
    def check_parts(validator: Any, parts: Any, value: Any,
                    schema: Any) -> Any:
        return check(validator, {
            name: {"not": {}} if part is False else part
            for name, part in parts.items()}, value, schema)
    return check_parts


def _check_multiple(validator: Any, of: Any, value: Any,
                    schema: Any) -> Iterator[ValidationError]:
    """As the numbers are written: 19.99 is a multiple of 0.01."""
    if validator.is_type(value, "number") and not is_multiple(value, of):
        yield ValidationError("no multiple")


def _find_unknown(resource: Any, resolver: Any, known: frozenset[str],
                  formats: Container[str]) -> Iterator[str]:
    schema = resource.contents
    if not isinstance(schema, dict):
        return
    for key in ("$ref", "$dynamicRef"):
        if key in schema:
            resolver.lookup(schema[key])
    yield from schema.keys() - known
    if "format" in schema and schema["format"] not in formats:
        yield f"format {schema['format']}"
    for part in resource.subresources():
        yield from _find_unknown(part, resolver.in_subresource(part), known,
                                 formats)


def _say(error: ValidationError) -> list[str]:
    place = describe_place(error.absolute_path)
    return [f"{place}: {words}" for words in describe_problem(
        error.validator, error.validator_value, error.instance,
        error.schema, error.message, len(error.context))]


def _explain(error: SchemaError) -> str:
    place = "/".join(("#", *map(str, error.absolute_path)))
    if place.endswith("/type"):
        return (f"{place} must be one of object, array, string, number, "
                "integer, boolean, null, or a list of them")
    return f"{place}: " + describe_problem(
        error.validator, error.validator_value, error.instance,
        error.schema, error.message, len(error.context))[0]
