"""The words of attributedBody."""

import random

import pytest

from claw.channels.imessage.typedstream import MOST_BYTES, read_text
from claw.testing.fake_imessage.store import archive

# As NSArchiver writes NSAttributedString "Hello!".
HELLO = bytes.fromhex(
    "040b73747265616d747970656481e803840140848484124e534174747269627574656453"
    "7472696e67008484084e534f626a656374008592848484084e53537472696e6701948401"
    "2b0648656c6c6f21868402694901069284848" "40c4e5344696374696f6e617279")


def test_real_bytes_give_their_words():
    assert read_text(HELLO) == "Hello!"


@pytest.mark.parametrize("mutable", [False, True])
@pytest.mark.parametrize("text", [
    "", "a", "日本語 👩‍👩‍👧", "x" * 127, "x" * 128, "é" * 20_000, "y" * 70_000,
    "+\x84\x01+ looks like a mark", "\x86\x92"])
def test_any_text_comes_back(text, mutable):
    assert read_text(archive(text, mutable=mutable)) == text


def test_every_cut_is_an_error_and_no_crash():
    blob = archive("Hello, 世界" * 40)
    for end in range(len(blob)):
        try:
            assert read_text(blob[:end]) == "Hello, 世界" * 40
        except ValueError:
            pass


def test_no_bytes_bring_another_error():
    draw = random.Random(7)
    for _ in range(4_000):
        blob = bytearray(archive("Hello"))
        for _ in range(draw.randint(1, 4)):
            blob[draw.randrange(len(blob))] = draw.randrange(256)
        try:
            read_text(bytes(blob))
        except ValueError:
            pass


def test_what_is_too_large_is_not_read():
    with pytest.raises(ValueError, match="too large"):
        read_text(archive("x" * MOST_BYTES))
