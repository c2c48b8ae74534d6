"""`claw ask` against aimock, someone else's idea of the OpenAI API."""

import json

import pytest

pytestmark = pytest.mark.peers

LONG = "Hello from the other side, a longer answer that comes in pieces. 안녕"
CALL = json.dumps({"name": "file_read", "arguments": {"path": "note.txt"}})


def reads(path):
    return {"toolCalls": [{"id": "call_1", "name": "file_read",
                           "arguments": json.dumps({"path": path})}]}


FIXTURES = [
    # results first: the first fixture that matches is played
    {"match": {"toolCallId": "call_1"},
     "response": {"content": "It says: green."}},
    {"match": {"userMessage": "<tool_result"},
     "response": {"content": "The file says: green."}},
    {"match": {"userMessage": "native note"}, "response": reads("note.txt")},
    {"match": {"userMessage": "prompted note"}, "response": {
        "content": f"I look.\n<tool_call>\n{CALL}\n</tool_call>"}},
    {"match": {"userMessage": "too fast"}, "response": {
        "error": {"message": "slow down", "type": "rate_limit_error"},
        "status": 429}},
    {"match": {"userMessage": "too long"}, "response": {
        "error": {"message": "This model's maximum context length is 8192 "
                             "tokens.", "type": "invalid_request_error",
                  "code": "context_length_exceeded"}, "status": 400}},
    {"match": {"userMessage": "again"}, "response": {"content": "Yes."}},
    {"match": {"userMessage": "hello"}, "response": {"content": LONG}},
    {"match": {"userMessage": "as JSON"}, "response": {
        "content": '```json\n{"yes": true}\n```'}},
]


@pytest.fixture(scope="module")
def url(aimock, tmp_path_factory):
    with aimock(tmp_path_factory.mktemp("aimock"), FIXTURES,
                "--chunk-size", "7") as address:
        yield address


@pytest.fixture
def asks(asks_at, url):
    made = asks_at(url, "gpt-4o")
    made.workspace.mkdir(parents=True)
    (made.workspace / "note.txt").write_text("green\n")
    return made


def test_an_answer_is_all_that_is_printed(asks):
    assert asks.ask("hello") == (0, LONG + "\n", "")


def test_piped_text_reaches_the_model(asks):
    assert asks.ask("what?", stdin="hello\n")[1] == LONG + "\n"


def test_json_holds_the_answer(asks):
    answer = asks.answer("hello")

    assert (answer["text"], answer["model"]) == (LONG, "gpt-4o")
    assert answer["tool_calls"] == []


@pytest.mark.parametrize(("dispatcher", "question", "text"), [
    ("native", "native note", "It says: green."),
    ("xml", "prompted note", "The file says: green."),
])
def test_a_tool_turn_and_its_result(asks, dispatcher, question, text):
    answer = asks.answer("--tools", "file_read", question,
                         AGENT__TOOL_DISPATCHER=dispatcher)

    (call,) = answer["tool_calls"]
    assert call == {"name": "file_read", "arguments": {"path": "note.txt"},
                    "success": True}
    assert answer["text"] == text


def test_nothing_said_before_a_tool_call_is_printed(asks):
    code, out, err = asks.ask("--tools", "file_read", "prompted note",
                              AGENT__TOOL_DISPATCHER="xml")

    assert (code, out, err) == (0, "The file says: green.\n", "")


def test_a_tool_that_is_not_offered_is_not_run(asks):
    (call,) = asks.answer("--tools", "memory_recall",
                          "native note")["tool_calls"]

    assert call["success"] is False


def test_a_session_keeps_a_tool_turn_and_goes_on(asks):
    asks.answer("--session", "s", "--tools", "file_read", "native note")

    assert asks.answer("--session", "s", "hello again")["text"] == "Yes."


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_rate_limit_is_worth_trying_later(asks, json_too):
    code, out, err = asks.ask(*json_too, "too fast")

    assert code == 5
    assert "(429): slow down" in err
    assert json_too or out == ""
    if json_too:
        assert "slow down" in json.loads(out)["error"]["message"]


def test_too_long_a_question_is_refused_with_its_reason(asks):
    code, out, err = asks.ask("too long")

    assert (code, out) == (5, "")
    assert "maximum context length is 8192" in err


def test_a_schema_takes_the_json_out_of_the_answer(asks, tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps({
        "type": "object", "required": ["yes"],
        "properties": {"yes": {"type": "boolean"}}}))

    assert asks.ask("--schema", "schema.json", "as JSON")[:2] == (
        0, '{"yes": true}\n')
