"""The reader of attributedBody, against real bytes and torn ones."""

import random

import pytest

from claw.channels.imessage.typedstream import MOST_BYTES, read_text
from claw.testing.fake_imessage.store import archive

# A message of a real database, as published in a question about the format.
REAL = bytes.fromhex(
    "040B73747265616D747970656481E803840140848484124E53417474726962757465"
    "64537472696E67008484084E534F626A656374008592848484084E53537472696E67"
    "019484012B064665736B6572868402694901069284848"
    "40C4E5344696374696F6E617279009484016901928496961D5F5F6B494D4D65737361"
    "6765506172744174747269627574654E616D658692848484084E534E756D62657200"
    "8484074E5356616C7565009484012A84999900868686")


def test_a_real_body_is_read():
    assert read_text(REAL) == "Fesker"


@pytest.mark.parametrize("mutable", [False, True])
@pytest.mark.parametrize("text", [
    "", "hi", "x" * 127, "x" * 128, "x" * 129, "안녕 👋" * 3000,
    "y" * 65_535, "z" * 65_536, "\x01+ 84 \x86"])
def test_any_length_is_read_whole(text, mutable):
    assert read_text(archive(text, mutable=mutable)) == text


@pytest.mark.parametrize("blob", [
    b"", b"streamtyped", b"\x04\x0bstreamtyped", REAL[:40],
    b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x85",
    b"\x04\x0bstreamtyped\x81\xe8\x03\xff", bytes(MOST_BYTES + 1),
    # the mark of a text inside of an object that is none
    REAL.replace(b"NSString", b"NSStrinx")])
def test_what_is_no_body_is_refused(blob):
    with pytest.raises(ValueError, match=r"typedstream|number|object|type"):
        read_text(blob)


def test_torn_and_changed_bytes_raise_nothing_else():
    rng = random.Random(19)
    for _ in range(20_000):
        blob = bytearray(rng.choice((REAL, archive("x" * 300, mutable=True))))
        for _ in range(rng.randint(1, 6)):
            blob[rng.randrange(len(blob))] = rng.randrange(256)
        try:
            assert isinstance(read_text(bytes(
                blob[:rng.randint(0, len(blob))])), str)
        except ValueError:
            pass
