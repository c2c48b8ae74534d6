"""What a file of another agent may say before it is taken for damaged. Pure.
"""

from typing import Any

_DEEPEST = 100
_LARGEST = 10 ** 1_000  # Python writes no number of 4,300 digits


def check_values(tree: Any) -> None:
    """Raise ValueError for tables too deep to walk, and for whole numbers
    too long to be written."""
    level, depth = [tree], 0
    while level:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += value.values()
            elif isinstance(value, list):
                below += value
            elif isinstance(value, int) and not (
                    -_LARGEST < value < _LARGEST):
                raise ValueError("it holds a number that is too large")
        level, depth = below, depth + 1
