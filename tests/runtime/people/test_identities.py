"""Who is who, and what a turn may see of a person."""

import pytest

from claw.core.channel import ChannelMessage, Marks
from claw.runtime.people.identities import People, is_private

TABLES = {"mina": {"chat": ["7", "alice"], "mail": ["mina@x.org"]},
          "bob": {"chat": ["8"], "mail": ["7"]}}
LISTED = {"chat": ["7", "alice", "8", "9"], "mail": ["mina@x.org", "7"],
          "irc": ["mina", "9", "chat_7_7"]}


def message(channel, sender, target=None, **more):
    return ChannelMessage("1", sender, target or sender, "hi", channel, 0,
                          **more)


@pytest.fixture
def people():
    held = {("chat", "alice"): "70", ("mail", "old"): "new"}
    return People(TABLES, LISTED, find_holder=lambda *who: held.get(who))


@pytest.mark.parametrize(("channel", "sender", "who"), [
    ("chat", "7", "mina"),
    ("chat:room", "7", "mina"),
    ("chat", "70", "mina"),  # whom the name of the table belongs to
    ("chat", "alice", "chat:alice"),  # somebody else who is called so
    ("mail", "7", "bob"),
    ("mail", "mina@x.org", "mina"),
    ("irc", "mina", "irc:mina"),
    ("chat", "9", "chat:9"),
])
def test_a_table_says_who_somebody_is(people, channel, sender, who):
    assert people.find(channel, sender) == who


@pytest.mark.parametrize(("listed", "is_one"), [
    ({}, True), ({"chat": ["9"]}, True), ({"chat": ["9", "10"]}, False),
    ({"chat": ["7", "alice"]}, True), ({"chat": ["7"], "mail": ["7"]}, False),
    ({"chat": ["7"], "mail": ["mina@x.org"]}, True),
    ({"chat": ["9"], "irc": ["9"]}, False),  # only a table says who is who
    ({"chat": ["9", "*"]}, False), ({"chat": ["9"], "webhook": []}, False)])
def test_whether_one_person_alone_writes(listed, is_one):
    assert People(TABLES, listed).is_one() is is_one


def test_an_at_sign_is_no_part_of_an_id():
    people = People({"mina": {"matrix": ["mina:x.org"]}})

    assert people.find("matrix", "@mina:x.org") == "mina"


@pytest.mark.parametrize(("said", "private"), [
    (message("chat", "7"), True),
    (message("chat", "7", "-100"), False),
    (message("chat", "7", "-100", private=True), True),
    (message("chat", "7", private=False), False),
])
def test_a_chat_is_private_where_its_channel_or_its_address_says_so(
        said, private):
    assert is_private(said) is private


def test_a_private_chat_sees_the_other_private_chats_of_its_person(people):
    scopes = people.list_scopes(message("chat", "7"))

    assert scopes[0] == "chat_7_7"
    assert {"mail_mina@x.org_mina@x.org", "mina"} <= set(scopes)
    assert not {"mail_7_7", "chat_8_8", "7", "bob"} & set(scopes)


def test_a_private_chat_with_an_address_of_its_own_is_remembered():
    chats = Marks()
    here = message("mail", "mina@x.org", "room5", private=True)
    People(chats=chats).note(here)
    People(chats=chats).note(message("mail", "eve@x.org", "room6",
                                     private=True))
    People(chats=chats).note(message("mail", "mina@x.org", "#all"))

    scopes = People(TABLES, LISTED, chats=chats).list_scopes(
        message("chat", "7"))
    assert "mail_room5_mina@x.org" in scopes
    assert not any("room6" in scope or "#all" in scope for scope in scopes)


def test_a_group_sees_what_was_said_there_and_noted_of_the_person():
    people = People({}, {"chat": ["1001"]})

    assert people.list_scopes(message("chat", "1001", "-100")) == [
        "chat_-100_1001", "1001"]


@pytest.mark.parametrize("sender", ["mina", "7", "9", "chat_7_7",
                                    "gateway:x", "chat:9"])
def test_an_id_that_may_be_somebody_elses_opens_nothing(people, sender):
    """People of some platforms choose it themselves."""
    for said in (message("irc", sender), message("irc", sender, "#all")):
        assert not {sender, "mina", "chat_7_7", "7"} & set(
            people.list_scopes(said)[1:])


def test_who_is_taken_out_of_the_table_keeps_what_he_has_where_it_was():
    without = People({}, LISTED)

    for channel, sender in (("chat", "7"), ("mail", "mina@x.org")):
        assert f"{channel}_{sender}_{sender}" in without.list_scopes(
            message(channel, sender))


@pytest.mark.parametrize(("name", "who"), [
    ("mina", "mina"), ("8", "bob"), ("mina@x.org", "mina"),
    ("7", None), ("nobody", None),
])
def test_the_owner_names_a_person_by_name_or_by_an_id_of_one(
        people, name, who):
    assert people.find_by_name(name) == who
