"""Secrets at rest: the reference's format, exactly."""

import os
import stat
import threading
from itertools import cycle

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import given
from hypothesis import strategies as st

from claw.config.secrets import (
    SecretError,
    create_key,
    read_key,
    seal,
    unseal,
)
from claw.core.errors import ConfigError, StorageError

KEY = bytes(range(32))
NONCE = bytes(range(12))


def test_the_format_is_nonce_ciphertext_tag_in_hex():
    stored = seal("sk-1", KEY, random=lambda n: NONCE[:n])

    assert stored.startswith("enc2:" + NONCE.hex())
    data = bytes.fromhex(stored[5:])
    assert len(data) == 12 + 4 + 16
    assert ChaCha20Poly1305(KEY).decrypt(data[:12], data[12:], None) \
        == b"sk-1"


def test_each_sealing_uses_a_fresh_nonce():
    assert seal("same", KEY) != seal("same", KEY)


def test_the_empty_text_stays_empty():
    assert seal("", KEY) == ""


@given(st.text(st.characters(), min_size=1), st.binary(min_size=32,
                                                       max_size=32))
def test_any_text_comes_back(text, key):
    stored = seal(text, key)

    assert stored.isascii()
    assert unseal(stored, key) == text


@given(st.text(min_size=1))
def test_legacy_values_are_read(text):
    data = bytes(a ^ b for a, b in zip(text.encode(), cycle(KEY),
                                       strict=False))

    assert unseal("enc:" + data.hex(), KEY) == text


@pytest.mark.parametrize(("stored", "message"), [
    ("enc2:abc", "Failed to decode encrypted secret (corrupt hex)"),
    ("enc2:zz", "Failed to decode encrypted secret (corrupt hex)"),
    ("enc2:ａｂ", "Failed to decode encrypted secret (corrupt hex)"),
    ("enc2:ab cd", "Failed to decode encrypted secret (corrupt hex)"),
    ("enc2:é" * 20, "Failed to decode encrypted secret (corrupt hex)"),
    ("enc:é", "Failed to decode encrypted secret (corrupt hex)"),
    ("enc2:", "Encrypted value too short (missing nonce)"),
    ("enc2:" + "00" * 12, "Encrypted value too short (missing nonce)"),
    ("enc2:" + "00" * 13, "Decryption failed — wrong key or tampered data"),
    ("enc2:" + "00" * 60, "Decryption failed — wrong key or tampered data"),
])
def test_what_cannot_be_read(stored, message):
    with pytest.raises(SecretError) as caught:
        unseal(stored, KEY)

    assert str(caught.value) == message


@given(st.integers(0, 31), st.integers(1, 255))
def test_one_changed_byte_is_noticed(place, flip):
    data = bytearray.fromhex(seal("sk-1", KEY)[5:])
    data[place] ^= flip

    with pytest.raises(SecretError):
        unseal("enc2:" + data.hex(), KEY)


def test_a_legacy_value_with_another_key_is_an_error_not_garbage():
    stored = "enc:" + bytes(b ^ 0xFF for b in KEY[:8]).hex()

    with pytest.raises(SecretError, match="not UTF-8"):
        unseal(stored, KEY)


def test_the_key_file_is_private_from_the_start(tmp_path):
    old = os.umask(0)
    try:
        key = create_key(tmp_path / ".secret_key")
    finally:
        os.umask(old)

    path = tmp_path / ".secret_key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == key.hex()
    assert len(key) == 32
    assert read_key(path) == key
    assert os.listdir(tmp_path) == [".secret_key"]


def test_an_existing_key_is_never_replaced(tmp_path):
    path = tmp_path / ".secret_key"
    key = create_key(path)

    assert create_key(path) == key
    assert read_key(path) == key


def test_many_creators_agree_on_one_key(tmp_path):
    path = tmp_path / ".secret_key"
    keys: list[bytes] = []
    threads = [threading.Thread(target=lambda: keys.append(create_key(path)))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(keys) == {read_key(path)}
    assert len(keys) == 8


@pytest.mark.parametrize("text", ["", "zz" * 32, "ab" * 31, "한" * 64,
                                  "\xff\xfe"])
def test_an_odd_key_file_is_named(tmp_path, text):
    path = tmp_path / ".secret_key"
    path.write_text(text, "utf-8")

    with pytest.raises(ConfigError) as caught:
        read_key(path)

    assert str(path) in caught.value.message
    assert "64 hex digits" in caught.value.message


@pytest.mark.parametrize("make", [
    os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_key_that_is_no_file_is_refused_at_once(tmp_path, make):
    make(tmp_path / ".secret_key")

    with pytest.raises(ConfigError, match=r"\.secret_key"):
        read_key(tmp_path / ".secret_key")


def test_a_missing_key_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="is missing"):
        read_key(tmp_path / ".secret_key")


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(StorageError, match="cannot be written"):
        create_key(tmp_path / "nowhere" / ".secret_key")


def test_a_final_newline_in_the_key_file_is_fine(tmp_path):
    path = tmp_path / ".secret_key"
    path.write_text(KEY.hex() + "\n")

    assert read_key(path) == KEY
