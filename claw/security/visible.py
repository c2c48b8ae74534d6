"""Text made safe to look at: what is invisible becomes visible."""

import unicodedata

# Control, format (bidi overrides, zero width), surrogates, private use,
# unassigned, separators; letters and marks that are drawn as nothing.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
_BLANK = frozenset(map(chr, (
    0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0,
    *range(0x180B, 0x180E), *range(0xFE00, 0xFE0E),
    *range(0xE0100, 0xE01F0))))
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\x1b": r"\e"}


def visible(text: str) -> str:
    """`text` on one line, with every character that a terminal would act
    on, hide or reorder written as an escape."""
    if text.isprintable() and _BLANK.isdisjoint(text):
        return text
    return "".join(_escape(c) for c in text)


def _escape(char: str) -> str:
    if char == " " or (char not in _BLANK and unicodedata.category(char)
                       not in _HIDDEN):
        return char
    code = ord(char)
    return _SHORT.get(char) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
