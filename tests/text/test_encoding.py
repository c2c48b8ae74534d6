"""Bytes -> text, or what they are."""

import gzip
import io
import random
import sqlite3
import sys
import tarfile
import zipfile

import pytest

from claw.text.encoding import decode_text, find_binary


def zipped():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "words")
    return file.getvalue()


def tarred():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return file.getvalue()


def database():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a)")
    return connection.serialize()


def program():
    with open(sys.executable, "rb") as file:
        return file.read(100_000)


@pytest.mark.parametrize("text", [
    "", "a", "words\r\n\twith tabs\f", "\x1b[31mred\x1b[0m", "이것은 글이다",
    "柏林办公室八点开门", "ベルリンの店", "המשרד בתל אביב", "Привет, мир",
    "สวัสดี", "🍵 tea", "\ufffd" * 20, "%PDF- is a sign", "BZh", "PK\3\4 too",
    "1234ftyp is a word", "x" * 257 + "ustar", "\ufeffmarked",
])
def test_utf8_of_any_language_is_text(text):
    assert find_binary(text.encode()) is None
    assert decode_text(text.encode()) == text.removeprefix("\ufeff")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("text", ["Grüße", "Привет", "柏林", "🍵 tea"])
def test_a_byte_order_mark_names_the_encoding(text, encoding):
    data = text.encode(encoding)

    assert find_binary(data) is None
    assert decode_text(data) == text


@pytest.mark.parametrize(("data", "text"), [
    ("Grüße aus Köln, schöne Tage".encode("latin-1"),
     "Gr\ufffd\ufffde aus K\ufffdln, sch\ufffdne Tage"),
    (b"./a b.txt\0./and/d.txt\0", "./a b.txt\0./and/d.txt\0"),
    (b"a\0b", "a\0b"), (b"\xff\xfe", "\ufffd\ufffd"),
    (b"one \xff byte of a long line", "one \ufffd byte of a long line")])
def test_a_few_bad_bytes_leave_it_a_text(data, text):
    assert find_binary(data) is None
    assert decode_text(data) == text


@pytest.mark.parametrize(("data", "what"), [
    (b"%PDF-1.7\n1 0 obj\n", "PDF"), (zipped(), "ZIP"), (tarred(), "tar"),
    (gzip.compress(b"words", mtime=0), "gzip"), (database(), "SQLite"),
    (b"\x89PNG\r\n\x1a\n" + bytes(9), "image/png"),
    (b"OggS\0" + bytes(30), "recording"),
    (b"\0\0\0\x20ftypisom" + bytes(30), "video"),
    (bytes(range(256)), "binary data"), (bytes(100), "binary data"),
    (random.Random(7).randbytes(4096), "binary data"),
    ("Привет, как дела".encode("cp1251"), "binary data"),
    (b"\xff\xfe" + bytes(200), "binary data"), (b"a\0b\0c\0", "binary data"),
])
def test_what_is_no_text_is_named(data, what):
    found = find_binary(data)

    assert what in found.what
    assert found.hint


@pytest.mark.parametrize("data", [
    program(), b"\x7fELF\2\1\1" + bytes(90), b"MZ\x90\0\3" + bytes(90),
    b"\xcf\xfa\xed\xfe\7\0\0\1" + bytes(90), b"\0asm\1\0\0\0",
    b"\xca\xfe\xba\xbe\0\0\0\x3d"])
def test_a_program_is_no_text_in_another_encoding(data):
    found = find_binary(data)

    assert "program" in found.what
    assert "encoding" not in found.hint


def test_words_that_begin_like_a_program_are_text():
    assert find_binary(b"MZ is how a Windows program begins") is None


@pytest.mark.parametrize(("data", "whether"), [
    ("Привет, как дела".encode("cp1251"), True),
    ("Привет, как дела".encode("koi8-r"), True),
    ("今日はいい天気です".encode("shift-jis"), True),
    ("今天天气很好".encode("gb18030"), True),
    ("Grüße aus Köln".encode("utf-16-le"), True),
    ("Привет, как дела".encode("utf-16-be"), True),
    ("Привет, как дела. ".encode("utf-16-le") * 900, True),
    (bytes(range(256)), False), (bytes(100), False),
    (random.Random(7).randbytes(4096), False),
    (random.Random(7).randbytes(63), False)])
def test_the_hint_names_encodings_only_where_it_can_be_text(data, whether):
    found = find_binary(data)

    assert found.what == "binary data"
    assert ("iconv" in found.hint) is whether
