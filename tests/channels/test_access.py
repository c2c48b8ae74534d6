"""Who may write: allow-list, one-time codes, hints; whole conversations in
telegram/test_access.py."""

import msgspec
import pytest

from claw.channels.access import (
    AccessSettings,
    AllowList,
    Hints,
    Pairing,
    Person,
)


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
    (("@*",), Person(5), False),
    ((" @* ", "7"), Person(5, name="*"), False),
    (("5",), Person(55), False),
    (("U02",), Person("U02"), True),
    (("alice",), Person("*", name="*"), False),
])
def test_the_allow_list_matches_ids_and_names(names, person, allowed):
    assert AllowList(names).allows(person) is allowed


@pytest.mark.parametrize(("names", "person", "stranger"), [
    (("*",), Person(5), True),
    (("*", "5"), Person(5), False),
    (("*", "5"), Person(6), True),
    (("*", "5"), None, True),
    # people choose their names: nobody is an owner for being called "*"
    (("*", "5"), Person(6, name="*"), True),
])
def test_beside_everybody_those_who_are_named_are_no_strangers(
        names, person, stranger):
    assert AllowList(names).is_stranger(person) is stranger


@pytest.mark.parametrize(("people", "allowed"), [
    ([Person(5, "alice"), Person(6, "alice")], [True, False]),
    ([Person(5, "alice"), Person(5, "other")], [True, True]),
    ([Person(5, "other"), Person(5, "alice")], [False, True]),
    ([Person(5, "alice"), Person(6, "alice"), Person(5, "")],
     [True, False, True]),
    # a number is an id, whoever calls himself so
    ([Person(6, "77"), Person(77, "")], [False, True]),
])
def test_a_name_belongs_to_the_first_who_came_with_it(people, allowed):
    listed = AllowList(("alice", "77"))

    assert [listed.allows(person) for person in people] == allowed


def test_many_chats_slow_each_other_and_never_the_right_code():
    now = 0.0
    pairing = Pairing(lambda: now, code="123456")
    for chat in range(40):
        assert pairing.locked_s(chat) == 0
        assert not pairing.accepts(chat, "654321")
    # while a crowd guesses, one wrong code is enough
    assert [pairing.locked_s(chat) for chat in (3, 39)] == [0, 300]
    assert pairing.locked_s("owner") == 0
    assert pairing.accepts("owner", "123456")
    assert not pairing.accepts("owner", "123456")
    assert not pairing.accepts(9998, "１２３\ud800")


def test_a_code_is_good_for_an_hour_and_another_one_follows():
    now, codes = 0.0, []
    pairing = Pairing(lambda: now, announce=codes.append)
    now = 3600.0

    assert not pairing.accepts(1, codes[0])
    assert len(codes) == 2
    assert pairing.accepts(2, codes[1])


def test_codes_get_longer_before_six_digits_can_be_guessed():
    codes = []
    pairing = Pairing(lambda: 0.0, announce=codes.append)
    for chat in range(1_000):
        assert not pairing.accepts(chat, "wrong")

    assert [len(code) for code in codes] == [6, 12]
    assert pairing.accepts("owner", codes[1])


@pytest.mark.parametrize(("given", "problem"), [
    ({"allowed_users": ["*"]}, "set allow_everyone = true"),
    ({"allowed_users": ["*", "@"]}, "names no owner"),
    ({"allowed_users": ["*"], "allow_everyone": True}, None),
    ({"allowed_users": ["*", 5]}, None),
    ({}, None),
])
def test_everybody_alone_has_to_be_meant(given, problem):
    if problem is None:
        assert msgspec.convert(given, AccessSettings)
        return
    with pytest.raises(msgspec.ValidationError, match=problem):
        msgspec.convert(given, AccessSettings)


def test_hints_and_tries_take_bounded_room():
    hints = Hints(lambda: 0.0)
    pairing = Pairing(lambda: 0.0)
    for chat in range(25_000):
        hints.is_due(chat)
        pairing.accepts(chat, "x")
    assert len(hints._given) <= 10_000
    assert len(pairing._wrong) <= 10_000


def test_who_has_moved_is_known_by_the_new_name_alone():
    allowed = AllowList(["+49170"])
    allowed.move("+49170", "+49151")

    assert not allowed.is_stranger(Person("DE.1", "+49151"))
    assert allowed.is_stranger(Person("DE.2", "+49170"))
    assert allowed.is_stranger(Person("+49170"))
