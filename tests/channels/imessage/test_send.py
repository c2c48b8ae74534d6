"""What is sent through Messages, and whether it arrived."""

import json

import pytest

from claw.channels.imessage import ImessageChannel, ImessageSettings
from claw.channels.imessage.mac import Mac
from claw.core.abilities import Doubt
from claw.core.channel import ChannelDeps, SendMessage
from claw.core.errors import AuthError, ConfigError, UnavailableError
from claw.testing.fake_imessage import person

EVIL = '"; do shell script "touch /tmp/x" & "\n\\ -e -- $(id)'


async def send(desk, text, to=None):
    channel = desk().channel
    message = SendMessage(text, to or person())
    found = [await channel.send_part(message, part)
             for part in channel.parts(message)]
    return channel, message, found


async def test_what_is_sent_is_an_argument_and_never_the_script(desk, mac):
    await send(desk, EVIL)

    calls = [json.loads(line) for line in
             (mac.store.folder / "calls").read_text().splitlines()]
    assert calls == [["text", "imessage", person(), EVIL]]
    assert mac.shown() == [EVIL]


async def test_a_send_has_the_id_of_its_row(desk, mac):
    _, _, found = await send(desk, "hello")

    assert found == [mac.guid(1)]


@pytest.mark.parametrize("mode", ["silent", "ghost"])
async def test_success_that_sent_nothing_has_no_id_and_is_not_found(
        desk, mac, mode):
    """macOS reports success for what it never sends."""
    mac.store.set_mode(**{mode: True})
    channel, message, found = await send(desk, "hello")

    assert found == [None]
    assert await channel.find_sent(Doubt(
        message, channel.parts(message)[0])) == ()


async def test_a_row_with_an_error_is_a_failure(desk, mac):
    mac.store.set_mode(failed=True)

    with pytest.raises(UnavailableError, match="error 22"):
        await send(desk, "hello")


async def test_what_arrived_before_a_kill_is_found(desk, mac):
    channel, message, found = await send(desk, "hello")

    doubt = Doubt(message, channel.parts(message)[0])
    assert await channel.find_sent(doubt) == tuple(found)


async def test_markdown_is_sent_as_plain_text(desk, mac):
    await send(desk, "# Head\n\n**bold** and [a link](https://example.org)")

    (text,) = mac.shown()
    assert "**" not in text
    assert "https://example.org" in text


async def test_a_right_that_is_missing_says_where_to_give_it(desk, mac):
    mac.store.set_mode(error=-1743)

    with pytest.raises(AuthError) as caught:
        await send(desk, "hello")

    assert "Automation" in caught.value.hint


async def test_elsewhere_than_on_a_mac_it_is_refused_clearly(tmp_path):
    channel = ImessageChannel(
        ImessageSettings(allowed_users=(person(),)),
        ChannelDeps(workspace=tmp_path, files=tmp_path), mac=Mac("linux"))

    with pytest.raises(ConfigError, match="works on a Mac only"):
        await channel.listen(None)
    with pytest.raises(ConfigError, match="works on a Mac only"):
        await channel.send(SendMessage("hello", person()))
    (finding,) = await channel.diagnose()
    assert (finding.id, finding.status) == ("macos", "fail")
    assert not await channel.health_check()


async def test_the_doctor_names_full_disk_access(desk, mac):
    mac.store.path.unlink()
    found = {one.id: one for one in await desk().channel.diagnose()}

    assert found["full_disk_access"].status == "fail"
    assert found["automation"].status == "ok"


async def test_the_doctor_sees_that_nobody_is_signed_in(desk, mac):
    mac.store.set_mode(accounts=0)
    found = {one.id: one for one in await desk().channel.diagnose()}

    assert found["full_disk_access"].status == "ok"
    assert found["automation"].status == "fail"
    assert "signed in" in found["automation"].detail
