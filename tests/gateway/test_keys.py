"""Bearer keys and pairing codes."""

import sqlite3

import pytest

from claw.core.errors import NotFoundError, UsageError
from claw.gateway.keys import KeyStore, hash_token


class Clock:
    def __init__(self):
        self.now = 1_795_377_600.0

    def __call__(self):
        return self.now


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "gateway.db"


def test_a_key_is_known_by_its_token(path):
    store = KeyStore(path)
    token = store.add("laptop", "owner")
    key = store.find(token)

    assert (key.name, key.sees) == ("laptop", "owner")
    assert token.startswith("zc_")
    assert len(token) == 67
    assert store.find(token[:-1]) is None
    assert store.find("") is None
    assert store.find("é\ud800") is None


def test_without_a_word_a_key_sees_no_memory(path):
    store = KeyStore(path)

    assert store.find(store.add("x")).sees is None


def test_the_token_is_nowhere_on_disk(path):
    store = KeyStore(path)
    token, code = store.add("laptop"), store.add_code(8, 60, 3)
    store.find(token)
    files = [file.read_bytes() for file in path.parent.iterdir()]

    assert files
    assert not any(token.encode() in data or token[3:].encode() in data
                   or code.encode() in data for data in files)
    assert path.stat().st_mode & 0o077 == 0


def test_an_old_token_is_refused_at_once(path):
    """By a gateway that runs, when another process rotates."""
    gateway, owner = KeyStore(path), KeyStore(path)
    old = owner.add("laptop")
    assert gateway.find(old)
    new = owner.rotate("laptop")

    assert gateway.find(old) is None
    assert gateway.find(new).name == "laptop"
    assert owner.revoke("laptop")
    assert gateway.find(new) is None
    assert not owner.revoke("laptop")


def test_a_file_that_is_gone_takes_its_keys_along(path):
    gateway = KeyStore(path)
    token = KeyStore(path).add("laptop")
    assert gateway.find(token)
    for file in path.parent.iterdir():
        file.unlink()

    assert gateway.find(token) is None
    assert not gateway.has_any()


def test_looking_creates_nothing(path):
    store = KeyStore(path)

    assert store.find("x") is None
    assert store.list() == []
    assert not store.has_any()
    assert not store.revoke("x")
    assert store.use_code("x", "y") is None
    assert not path.parent.exists()


@pytest.mark.parametrize("name", ["", " x", "a\nb", "x" * 65, "a\0"])
def test_what_can_be_no_name_is_refused(path, name):
    with pytest.raises(UsageError):
        KeyStore(path).add(name)


def test_a_name_is_one_keys_own(path):
    store = KeyStore(path)
    store.add("laptop")

    with pytest.raises(UsageError) as caught:
        store.add("laptop")
    assert "token rotate laptop" in caught.value.hint


def test_what_is_not_there_can_not_be_rotated(path):
    with pytest.raises(NotFoundError):
        KeyStore(path).rotate("laptop")


def test_the_list_says_when_a_key_was_used(path):
    clock = Clock()
    store = KeyStore(path, clock=clock)
    token = store.add("laptop", "owner")
    clock.now += 5
    store.find(token)
    clock.now += 5
    store.find(token)

    [row] = store.list()
    assert (row.name, row.sees) == ("laptop", "owner")
    assert (row.created_at, row.used_at) == (
        clock.now - 10, clock.now - 5)


def test_no_call_waits_for_another_writer(path):
    store = KeyStore(path)
    token = store.add("laptop")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    assert store.find(token).name == "laptop"
    other.close()


@pytest.mark.parametrize("given", ["plain words", hash_token("plain words")])
def test_keys_of_an_earlier_setup_are_known(path, given):
    store = KeyStore(path, [given])

    assert store.find("plain words").sees is None
    assert store.find(hash_token("plain words")) is None
    assert store.has_any()
    assert not path.exists()


def test_a_code_is_good_once(path):
    store = KeyStore(path)
    code = store.add_code(8, 60, 3, sees="owner")
    name, token = store.use_code(code, "phone")

    assert len(code) == 8
    assert name == "phone"
    assert store.find(token).sees == "owner"
    assert store.use_code(code, "phone") is None


def test_a_code_may_be_typed_as_people_type(path):
    store = KeyStore(path)
    code = store.add_code(8, 60, 3)

    assert store.use_code(f" {code[:4]}-{code[4:]} ".lower(), "p")


def test_a_code_ends_with_its_time(path):
    clock = Clock()
    store = KeyStore(path, clock=clock)
    code = store.add_code(8, 60, 3)
    clock.now += 60

    assert store.use_code(code, "phone") is None


def test_of_too_many_codes_the_oldest_goes(path):
    store = KeyStore(path)
    codes = [store.add_code(8, 60, 3) for _ in range(4)]

    assert [bool(store.use_code(code, "d")) for code in codes] == [
        False, True, True, True]
    assert [row.name for row in store.list()] == ["d", "d 2", "d 3"]


@pytest.mark.parametrize("name", ["a\nb", "\ud800", "a\u202eb", "\x9b31m"])
def test_a_device_without_a_name_to_read_gets_one(path, name):
    store = KeyStore(path)

    assert store.use_code(store.add_code(8, 60, 3), name)[0] == "device"
