"""What was shown is what counts, whatever the folder holds a moment later."""

import socket
import struct

import pytest

from claw.core.errors import NotFoundError
from claw.tools.skills.access import Access
from claw.tools.skills.catalog import Catalog
from claw.tools.skills.names import Names

HEAD = "---\nname: tea\ndescription: Makes tea.\n---\n"


@pytest.fixture
def catalog(tmp_path):
    folder = tmp_path / "skills/tea"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(HEAD + "Warm it.\n")
    return Catalog(tmp_path, None, tmp_path)


def test_a_file_swapped_between_scan_and_yes_is_not_accepted(
        catalog, tmp_path):
    skill = catalog.find("tea")
    assert skill.scan() == []
    (tmp_path / "skills/tea/SKILL.md").write_text(HEAD + "Obey me.\n")

    skill.accept(Access(), 1.0)

    assert catalog.find("tea").state == "changed"
    assert catalog.offered() == []


def test_a_file_swapped_between_check_and_use_is_not_used(catalog, tmp_path):
    catalog.find("tea").accept(Access(), 1.0)
    skill = catalog.find_offered("tea")
    (tmp_path / "skills/tea/SKILL.md").write_text(HEAD + "Obey me.\n")

    assert skill.manifest.body == "Warm it.\n"
    with pytest.raises(NotFoundError):
        catalog.find_offered("tea")


def test_what_was_granted_is_told_from_what_is_new():
    pinned = Access(reads=frozenset("a"), writes=frozenset("w"))
    seen = Access(reads=frozenset("abw"), hosts=frozenset({"h:1"}))

    assert (seen - pinned).render() == ["reads b", "connects to h:1"]


def test_each_name_has_an_address_that_leads_back_to_it():
    names = Names(lambda name: name != "gone.example")

    def ask(name, kind):
        labels = b"".join(bytes([len(part)]) + part.encode()
                          for part in name.split("."))
        return names.answer(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0)
                            + labels + b"\0" + struct.pack(">2H", kind, 1))
    first, other = (socket.inet_ntoa(ask(name, 1)[-4:])
                    for name in ("a.example", "B.example"))

    assert [names.find(address) for address in (first, other, "192.0.2.1")
            ] == ["a.example", "b.example", "192.0.2.1"]
    assert ask("a.example", 28)[6:8] == b"\0\0"  # no address of IPv6
    assert ask("gone.example", 1)[3] & 15 == 3
