"""Who may write: allow-list, one-time codes, hints; whole conversations in
telegram/test_access.py."""

import pytest

from claw.channels.access import AllowList, Hints, Pairing, Person


@pytest.mark.parametrize(("names", "person", "allowed"), [
    ((), Person(5, name="alice"), False),
    (("*",), Person(5), True),
    (("*",), None, True),
    (("5",), Person(5), True),
    ((5,), Person(5), True),
    ((" 5 ",), Person(5), True),
    (("alice",), Person(5, name="alice"), True),
    (("@alice",), Person(5, name="alice"), True),
    (("Alice",), Person(5, name="alice"), False),
    (("alice",), Person(5), False),
    (("alice",), None, False),
    (("", "@"), Person(5), False),
    (("5",), Person(55), False),
    (("U02",), Person("U02"), True),
    (("alice",), Person("*", name="*"), False),
])
def test_the_allow_list_matches_ids_and_names(names, person, allowed):
    assert AllowList(names).allows(person) is allowed


@pytest.mark.parametrize(("names", "person", "stranger"), [
    (("*",), Person(5), False),
    (("*", "5"), Person(5), False),
    (("*", "5"), Person(6), True),
    (("*", "5"), None, True),
    # people choose their names: nobody is an owner for being called "*"
    (("*", "5"), Person(6, name="*"), True),
])
def test_beside_everybody_those_who_are_named_are_no_strangers(
        names, person, stranger):
    assert AllowList(names).is_stranger(person) is stranger


def test_many_chats_cannot_guess_together():
    now = 0.0
    pairing = Pairing(lambda: now, code="123456")
    for chat in range(25):
        assert pairing.locked_s(chat) == 0
        assert not pairing.accepts(chat, "654321")
    assert pairing.locked_s(9999) == 300
    now = 301.0
    assert pairing.locked_s(9999) == 0
    assert pairing.accepts(9999, "123456")
    assert not pairing.accepts(9999, "123456")
    assert not pairing.accepts(9998, "１２３\ud800")


def test_hints_and_tries_take_bounded_room():
    hints = Hints(lambda: 0.0)
    pairing = Pairing(lambda: 0.0)
    for chat in range(25_000):
        hints.is_due(chat)
        pairing.accepts(chat, "x")
    assert len(hints._given) <= 10_000
    assert len(pairing._wrong) <= 10_000
