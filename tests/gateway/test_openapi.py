"""The route table as an OpenAPI description."""

from claw.gateway.endpoint import Endpoint, objects_with, parameter
from claw.gateway.openai.errors import render_error
from claw.gateway.openapi import describe_rows


async def answer(call):
    raise NotImplementedError


def describe(path, **more):
    method = more.get("methods", ("GET",))[0].lower()
    found = describe_rows([Endpoint(path, answer, **more)], "/claw")
    [(name, rows)] = found["paths"].items()
    return name, rows[method]


def shape(row, status):
    return row["responses"][status]["content"]["application/json"]["schema"]


def test_a_row_with_a_key_and_a_body():
    body = objects_with({"message": {"type": "string"}})
    _, row = describe("/say", methods=("POST",), body=body,
                      parameters=(parameter("x", {}, place="header"),))

    assert row["security"] == [{"key": []}]
    assert row["requestBody"]["content"]["application/json"] == {
        "schema": body}
    assert row["parameters"] == [
        {"name": "x", "in": "header", "required": False, "schema": {}}]
    assert {"200", "400", "401", "403", "404", "409", "413", "421", "422",
            "429", "5XX"} <= set(row["responses"])


def test_parameters_of_the_path_have_their_names():
    name, row = describe("/v1/models/{name:path}")

    assert name == "/v1/models/{name}"
    assert [one["name"] for one in row["parameters"]] == ["name"]


def test_the_error_has_the_shape_of_the_row():
    _, plain = describe("/x")
    _, openai = describe("/x", render_error=render_error)

    assert shape(plain, "404")["properties"]["error"] == {"type": "string"}
    assert shape(openai, "404")["properties"]["error"]["required"] == [
        "message", "type", "param", "code"]


def test_who_signs_needs_no_key():
    _, row = describe("/hook", methods=("POST",), access="signed")

    assert row["security"] == []
    assert "401" in row["responses"]


def test_the_first_row_of_a_path_answers():
    first, second = (Endpoint("/x", answer, parameters=(parameter(name, {}),))
                     for name in "ab")

    found = describe_rows([first, second])

    assert found["paths"]["/x"]["get"]["parameters"][0]["name"] == "a"
