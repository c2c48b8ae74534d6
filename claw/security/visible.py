"""Text made safe to look at: what is invisible becomes visible."""

import unicodedata

# Control, format (bidi overrides, zero width), surrogates, private use,
# unassigned, line and paragraph separators.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\x1b": r"\e"}


def visible(text: str) -> str:
    """`text` on one line, with every character that a terminal would act
    on, hide or reorder written as an escape."""
    return "".join(_shown(c) for c in text)


def _shown(char: str) -> str:
    if unicodedata.category(char) not in _HIDDEN:
        return char
    code = ord(char)
    return _SHORT.get(char) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
