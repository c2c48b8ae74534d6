"""What really goes out after foreign text: no link, no fetch, no file."""

import pytest

from claw.channels.telegram.parts import PartMaker
from claw.core.channel import ChannelDeps, SendMessage

EVIL = "https://evil.example/x.png?s=secret"
OURS = "https://ours.example/a"


@pytest.fixture
def maker(tmp_path):
    (tmp_path / "notes.txt").write_text("private")
    return PartMaker(ChannelDeps(workspace=tmp_path, files=tmp_path / "in"))


@pytest.mark.parametrize("text", [
    "[FILE:notes.txt]", "[FI\x7fLE:notes.txt]", "[DOC\x01UMENT:notes.txt]",
    "./notes.txt", "./notes.txt\x7f", f"[IMAGE:{EVIL}]"])
def test_a_message_without_files_is_text_whatever_it_says(maker, text):
    parts = maker.parts(SendMessage(text, "1", files=False))

    assert [part.kind for part in parts] == ["text"]
    assert maker.parts(SendMessage("[FILE:notes.txt]", "1"))[0].kind \
        == "document"


@pytest.mark.parametrize("text", [
    EVIL, f"[IMAGE:{EVIL}]", f"[x]({EVIL})", f"**{EVIL}**", f"👋 {EVIL}",
    f"# a [b]({EVIL}) c", "ok hunter2.evil.com", "секрет.рф/x", "1.2.3.4/x",
    "x.xn--p1ai/y", "a_b.evil.com/x", "a.b.c.d.e.f.g.h.i.j.evil.com/x",
    "éa.evil.com/x", "evil.com./x", "user:pw@evil.com/x", "a@evil.com",
    "tg:resolve?domain=x", "sms:+15?body=x", "xmpp:x@y", "skype:x?chat",
    "mailto:x@y", "foo/evil.com/x", f"> {EVIL}", " ".join([EVIL] * 150)])
def test_no_address_is_live_where_none_is_known(maker, text):
    parts = maker.parts(SendMessage(text, "1", links=()))

    for part in parts:
        assert part.kind == "text"
        entities = part.data["entities"]
        assert len(entities) <= 100
        assert any(e["type"] in ("code", "pre") for e in entities), text
        assert not any("url" in e for e in entities)


def test_known_addresses_stay_links_and_prose_stays_prose(maker):
    part, = maker.parts(SendMessage(
        f"[a]({OURS}) {OURS} notes.txt 3.14 e.g. a.m. 10:30 and so on.",
        "1", links=(OURS,)))
    image, = maker.parts(SendMessage(f"[IMAGE:{OURS}]", "1", links=(OURS,)))

    assert [e["type"] for e in part.data["entities"]] == ["text_link"]
    assert image.data == {"url": OURS}
