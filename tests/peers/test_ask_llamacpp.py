"""`claw ask` against a real llama.cpp server with a random model.

What the model says means nothing; how it arrives does.
"""

import json
import urllib.request

import pytest

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def server(llama_cpp, tmp_path_factory):
    """(URL, model) of a server with room for the tools' descriptions."""
    with (llama_cpp(tmp_path_factory.mktemp("llama"), 4096) as url,
          urllib.request.urlopen(f"{url}/models", timeout=30) as answer):
        yield url, json.load(answer)["data"][0]["id"]


@pytest.fixture
def asks(asks_at, server):
    return asks_at(*server)


def test_an_answer_is_printed_as_text(asks):
    code, out, err = asks.ask("-t", "0", "hello")

    assert (code, err) == (0, "")
    assert out.strip()


def test_json_holds_text_and_usage(asks):
    answer = asks.answer("-t", "0", "hello")

    assert answer["text"]
    assert answer["usage"]["input_tokens"] > 0
    assert 0 < answer["usage"]["output_tokens"] <= 24


@pytest.mark.parametrize("dispatcher", ["native", "xml"])
def test_tools_are_taken_in_both_ways(asks, dispatcher):
    code, out, err = asks.ask(
        "--tools", "file_read,memory_recall", "-t", "0", "hello",
        AGENT__TOOL_DISPATCHER=dispatcher)

    assert (code, err) == (0, "")
    assert out.strip()


def test_a_result_of_a_tool_is_taken(asks):
    """A conversation with a call in it, as an earlier turn left it."""
    sessions = asks.workspace / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "s.jsonl").write_text("".join(
        json.dumps(record) + "\n" for record in (
            {"type": "Chat", "data": {"role": "user", "content": "read"}},
            {"type": "AssistantToolCalls", "data": {
                "text": None, "tool_calls": [
                    {"id": "call_1", "name": "file_read",
                     "arguments": '{"path": "a.txt"}'}]}},
            {"type": "ToolResults", "data": [
                {"tool_call_id": "call_1", "content": "green"}]})))

    answer = asks.answer("--session", "s", "--tools", "file_read",
                         "-t", "0", "and now?")
    assert answer["text"]


def test_too_long_a_question_is_refused_with_its_reason(asks):
    code, out, err = asks.ask("what is it?", stdin="word " * 9000)

    assert (code, out) == (5, "")
    assert "context" in err
