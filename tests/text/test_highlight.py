"""The words of a question in a text."""

import pytest

from claw.text.highlight import find_matches


@pytest.mark.each(("text", "query", "expected"), [
    ("Mina likes green teas, and drank TEA.", "which tea does Mina like?",
     ["Mina", "likes", "teas", "TEA"]),
    ("日本語のテキストと東京", "東京 テキスト", ["テキスト", "東京"]),
    ("민아는 녹차를 좋아한다", "녹차", ["녹차"]),
    ("العربية جميلة", "العربية", ["العربية"]),
    ("deployed, redeployed", "deploy*", ["deployed"]),
    ("Café au lait", "cafe", ["Café"]),
    ("nothing of it", "other", []),
    ("tea", "", []),
    ("", "tea", []),
])
def test_words_are_found_in_any_form(text, query, expected):
    assert [text[start:end] for start, end in find_matches(
        text, query)] == expected
