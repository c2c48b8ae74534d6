"""GET /openapi.json: the route table as an OpenAPI description. Pure but for
the row.

What a row takes stands in the row, as a JSON schema beside the parser.
Source: spec.openapis.org/oas/v3.1.1, read 2026-11.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from starlette.responses import Response

from claw.gateway.endpoint import Call, Endpoint, reply
from claw.version import __version__

_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")
_SECURITY: dict[str, list[dict[str, list[str]]]] = {
    "key": [{"key": []}], "local": [{"key": []}, {}], "open": [],
    "signed": []}
_JSON_TYPES = {str: "string", int: "integer", dict: "object"}


def build_openapi(list_rows: Callable[[], Iterable[Endpoint]],
                  prefix: str) -> Endpoint:
    """The row."""
    async def answer(call: Call) -> Response:
        return reply(describe_rows(list_rows(), prefix))
    return Endpoint("/openapi.json", answer)


def describe_rows(rows: Iterable[Endpoint], prefix: str = ""
                  ) -> dict[str, Any]:
    """The document. Of rows with one path and method the first answers."""
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        place = paths.setdefault(_PARAMETER.sub(r"{\1}", row.path), {})
        for method in row.methods:
            place.setdefault(method.lower(), _describe(row, method))
    return {"openapi": "3.1.0",
            "info": {"title": "claw", "version": __version__},
            "servers": [{"url": prefix or "/"}],
            "components": {"securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"}}},
            "paths": paths}


def _describe(row: Endpoint, method: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "security": _SECURITY[row.access],
        "parameters": [*(
            {"name": name, "in": "path", "required": True,
             "schema": {"type": "string"}}
            for name in _PARAMETER.findall(row.path)), *row.parameters],
        "responses": {"200": {"description": "the answer"},
                      **dict(_list_refusals(row, method))}}
    if row.access == "signed":
        found["description"] = "Signed as the platform signs that posts here."
    if row.body is not None:
        found["requestBody"] = {"required": True, "content": {
            "application/json": {"schema": row.body}}}
    return found


def _list_refusals(row: Endpoint, method: str
                   ) -> Iterator[tuple[str, dict[str, Any]]]:
    """The statuses that it can have beside 200, the shape of an error with
    those of 4xx (an unwell /health is a 503 of another shape)."""
    statuses = {400, 404, 413, 429}
    if row.access != "open":
        statuses.add(401)
    if row.access != "signed":
        statuses |= {402, 403, 421}
    if method == "POST":
        statuses |= {409, 422}
    error = {"schema": _describe_shape(row.render_error(400, "", None))}
    for status in sorted(statuses):
        yield str(status), {"description": "refused", **(
            {} if method == "HEAD" else
            {"content": {"application/json": error}})}
    yield "5XX", {"description": "not to be had just now"}


def _describe_shape(value: Any) -> dict[str, Any]:
    """The schema of what is like this example; None is anything."""
    if isinstance(value, Mapping):
        return {"type": "object", "required": list(value), "properties": {
            name: _describe_shape(one) for name, one in value.items()}}
    return {"type": _JSON_TYPES[type(value)]} if value is not None else {}
