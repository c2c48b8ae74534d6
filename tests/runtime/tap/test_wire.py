"""What the far end of a tap writes."""

import pytest

from claw.core.errors import UsageError
from claw.runtime.tap.wire import Word, read_word


@pytest.mark.parametrize(("line", "word"), [
    ("", None),
    ("  \r", None),
    ("ab12\r", Word("ab12")),
    ('{"id": "ab12"}', Word("ab12")),
    ('{"id": "ab12", "reply": "h\u00e9"}', Word("ab12", "h\u00e9")),
    ('{"id": "ab12", "reply": "\\ud800"}', Word("ab12", "?")),
    ('{"id": "ab12", "error": "no", "more": 1}', Word("ab12", None, "no")),
])
def test_a_line_names_a_message_and_may_say_more(line, word):
    assert read_word(line) == word


@pytest.mark.parametrize("line", [
    "{", "{}", '{"id": 5}', '{"id": "a", "reply": 5}', '{"id": null}',
    '{"id": "a", "error": ["x"]}', "{" * 100_000,
    '{"id": ' + '{"a":' * 100_000])
def test_what_names_no_message_is_wrong_usage(line):
    with pytest.raises(UsageError, match="stdin"):
        read_word(line)
