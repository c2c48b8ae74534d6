"""What is forgotten is taken out of what was said, and not out of the form
of the files."""

import json

import pytest

from claw.memory.forgetting.spans import MARK
from claw.memory.forgetting.texts import Texts

SESSION = "".join(json.dumps(line) + "\n" for line in (
    {"session": "work", "created_at": "2026-11-23T06:25:30Z"},
    {"n": 1, "at": "2026-11-23T06:25:30Z", "type": "Chat",
     "data": {"role": "user", "content": "the assistant is default"}},
    {"n": 2, "at": "2026-11-23T06:25:30Z", "type": "AssistantToolCalls",
     "data": {"tool_calls": [{"name": "file_read", "arguments": "{}"}]}}))


@pytest.mark.parametrize("text", [
    "assistant", "conversation", "forgotten", "created_at", "2026-11-2",
    "2026-11-23T06:25", '"role": "assistant"', 'content": "'])
def test_a_word_of_every_record_shreds_no_session(text):
    texts = Texts([text])

    assert texts.short == [text]
    assert texts.clean_bytes(SESSION.encode()) == SESSION.encode()


@pytest.mark.parametrize("text", [
    '"created_at": "2026-11', '30Z"}\n{"n": 1, "at": "', "file_read",
    '}\n{"n": ', '": {"role": "user'])
def test_a_text_that_is_the_form_of_a_file_leaves_it_as_it_is(text):
    assert Texts([text]).clean_bytes(SESSION.encode()) == SESSION.encode()


def test_what_was_said_goes_and_every_other_byte_stays():
    data = SESSION.replace("the assistant is default",
                           "see file_read, \\u00fcber there").encode()
    clean = Texts(["file_read", "über there"]).clean_bytes(data)

    assert clean == SESSION.replace(
        "the assistant is default", f"see {MARK}, {MARK}").encode()


def test_a_torn_line_among_records_is_cleaned_too():
    torn = SESSION + '{"n": 3, "data": {"content": "my locker 7731'
    clean = Texts(["my locker 7731"]).clean_bytes(torn.encode())

    assert clean == torn.replace("my locker 7731", MARK).encode()
