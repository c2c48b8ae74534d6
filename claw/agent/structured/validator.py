"""JSON Schema in our words, by the package jsonschema.

Loaded where there is a schema and only there. References lead within the
schema: nothing is fetched. Without `$schema` it is draft 2020-12; `format`
is an annotation, as there. Source: json-schema.org.
"""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
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
            validator = _choose_class(schema)(
                # a draft that stands inside would undo `_choose_class`
                {k: v for k, v in schema.items() if k != "$schema"},
                registry=Registry())
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
            raise UsageError(f"--schema: {_explain(error)}",
                             hint="correct the schema") from None
        specification = specification_with(
            kind.ID_OF(kind.META_SCHEMA), default=DRAFT202012)
        resource = specification.create_resource(schema)
        known = _WITHOUT_TEST | (kind.VALIDATORS.keys() - {"format"})
        return sorted(set(_find_unknown(
            resource, Registry().resolver_with_root(resource), known)))


def _choose_class(schema: dict[str, Any]) -> Any:
    draft = schema.get("$schema")
    return _our_class(Draft202012Validator if not isinstance(draft, str)
                      else validator_for(schema, Draft202012Validator))


@cache
def _our_class(kind: Any) -> Any:
    return extend(kind, {"multipleOf": _check_multiple, **{
        key: _keep_place(kind.VALIDATORS[key])
        for key in ("properties", "patternProperties")}})


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


def _find_unknown(resource: Any, resolver: Any,
                  known: frozenset[str]) -> Iterator[str]:
    schema = resource.contents
    if not isinstance(schema, dict):
        return
    for key in ("$ref", "$dynamicRef"):
        if key in schema:
            resolver.lookup(schema[key])
    yield from schema.keys() - known
    for part in resource.subresources():
        yield from _find_unknown(part, resolver.in_subresource(part), known)


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
