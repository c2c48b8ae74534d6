"""Each of the 82 attack cases has a test of its own number."""

import re
from pathlib import Path

_NUMBER = re.compile(
    r"^def test_case_(\d+)_|\bcase\(\s*(\d+),|pytest\.param\((\d+), \(",
    re.MULTILINE)


def test_no_case_is_missing():
    found = {int(next(filter(None, match))) for path in
             Path(__file__).parent.glob("test_*.py")
             for match in _NUMBER.findall(path.read_text(encoding="utf-8"))}

    assert found == set(range(1, 83))
