"""[people] and the allow-list mean the same person by the same entry."""

import pytest

from claw.core.errors import ConfigError
from claw.wiring.channels.build import list_entries
from claw.wiring.channels.people import open_people


@pytest.mark.parametrize(("channel", "written", "person"), [
    ("whatsapp", "49 170 123-4567", "+491701234567"),
    ("whatsapp", "4917012345678", "+4917012345678"),
    ("whatsapp", "DE.13491208655302741918", "DE.13491208655302741918"),
    ("signal", "B1A2C3D4-0000-4000-8000-00000000000A",
     "b1a2c3d4-0000-4000-8000-00000000000a"),
    ("imessage", "Mina@Example.org", "mina@example.org"),
    ("imessage", "+49 (170) 1234567", "+491701234567"),
    ("matrix", "@Mina:Example.org", "@mina:example.org"),
    ("irc", "Mina", "mina"),
    ("email", "Mina@Example.ORG", "mina@example.org"),
    ("telegram", "@Mina", "Mina"),
])
def test_a_person_is_found_however_his_id_is_written(write_settings, channel,
                                                     written, person):
    tree = write_settings(f'[people.mina]\n{channel} = "{written}"\n')

    assert open_people(tree).find(channel, person) == "mina"
    assert list_entries(tree, channel) == [person.removeprefix("@")]


def test_two_spellings_of_an_id_are_one_claim(write_settings):
    tree = write_settings('[people.mina]\nwhatsapp = "+4917012345678"\n'
                          '[people.bob]\nwhatsapp = "49 170 12345678"\n')

    with pytest.raises(ConfigError, match="mina's and bob's"):
        open_people(tree)
