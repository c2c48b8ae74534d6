"""`claw channel doctor email`, settings and what the setup text says."""

import asyncio
import re
import resource
import socket
import ssl
import sys

import msgspec
import pytest

from claw.channels.email import logins as logins_module
from claw.channels.email.diagnose import judge_proofs
from claw.channels.email.logins import Logins
from claw.channels.email.settings import SETUP, EmailSettings, choose_way
from claw.channels.email.smtp import Courier
from claw.core.channel import SendMessage
from claw.core.errors import (
    AuthError,
    ConfigError,
    MissingPartError,
    UnavailableError,
)


def rows(post, **given):
    async def go():
        channel = post.make(**given)
        found = await channel.diagnose()
        await channel.aclose()
        return found
    return {row.id: row for row in asyncio.run(go())}


def test_a_mailbox_that_is_well(post, mail):
    mail.post("hello")

    found = rows(post)

    assert {row.status for row in found.values()} == {"ok"}
    assert "fake.test has judged 1" in found["senders"].detail
    assert not mail.inbox.mails[0].flags


def test_a_wrong_password_is_told_once_for_each_server(post):
    found = rows(post, password="not-this-one")

    assert found["imap"].status == found["smtp"].status == "fail"
    assert found["folder"].status == "skip"
    assert "app password" in found["imap"].hint


@pytest.mark.parametrize(("given", "row", "status", "words"), [
    ({"imap_folder": "None"}, "folder", "fail", "no folder None"),
    ({"allowed_users": ()}, "allow_list", "warn", "nobody"),
    ({"allowed_users": ("*", "me@x.test")}, "allow_list", "warn", "owners"),
    ({"auth_results": "other.test"}, "senders", "warn", "fake.test on 1"),
    ({"auth_results": ""}, "senders", "warn", "fake.test on 1"),
    ({"require_authentication": False}, "senders", "warn", "believed"),
    ({"imap_port": 1}, "imap", "fail", "refused"),
    ({"smtp_port": 1}, "smtp", "fail", "1: connection refused"),
])
def test_what_is_wrong_is_named(post, mail, given, row, status, words):
    mail.post("hello")

    found = rows(post, **given)

    assert found[row].status == status
    assert words in found[row].detail
    assert found[row].hint


def test_a_server_that_judges_nobody_is_told():
    finding = judge_proofs(EmailSettings(), [b"From: a@b.c\r\n\r\n"])

    assert finding.status == "warn"
    assert "auth_results" in finding.hint


@pytest.mark.each(("tls", "port", "near", "way"), [
    (True, 993, False, "tls"), (True, 465, True, "tls"),
    (True, 143, False, "starttls"), (True, 587, False, "starttls"),
    ("starttls", 2525, False, "starttls"),
    (False, 143, True, "plain"), (False, 143, False, "starttls"),
])
def test_plain_text_never_leaves_the_machine(tls, port, near, way):
    assert choose_way(tls, port, is_near=near) == way


def test_the_settings_are_those_of_the_reference():
    read = msgspec.convert({"imap_host": "h", "smtp_tls": "starttls",
                            "oauth_command": ["give", "a token"],
                            "allowed_users": ["@x.test"]}, EmailSettings)

    assert (read.imap_port, read.imap_folder, read.smtp_port,
            read.idle_timeout_secs) == (993, "INBOX", 465, 1740)
    assert read.oauth_argv == ("give", "a token")
    with pytest.raises(msgspec.ValidationError, match="allow_everyone"):
        msgspec.convert({"allowed_users": ["*"]}, EmailSettings)


def test_allowed_senders_are_the_allowed_users(claw):
    claw("config", "set", "channels_config.email.allowed_senders",
         '["a@b.c"]')

    shown = claw("config", "get", "channels_config.email.allowed_users")

    assert "a@b.c" in shown.out


@pytest.mark.parametrize(("command", "error", "words"), [
    ("no-such-program-here", ConfigError, "can't be started"),
    ("sh -c 'echo not a token'", AuthError, "no token"),
    ("sh -c 'echo Bearer xyzsecretxyz1 >&2; exit 3'", AuthError, "code 3"),
    ("sh -c 'true'", AuthError, "no token"),
    ("'unpaired", ConfigError, "can't be started"),
])
def test_a_command_without_a_token_is_told(command, error, words):
    logins = Logins(EmailSettings(oauth_command=command))

    with pytest.raises(error, match=words) as told:
        asyncio.run(logins.token())

    assert "xyzsecretxyz1" not in told.value.message


def test_a_command_that_prints_for_ever_fills_no_memory(monkeypatch):
    monkeypatch.setattr(logins_module, "_COMMAND_S", 1.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async def ask():
        async with asyncio.timeout(15):
            await Logins(EmailSettings(oauth_command="yes")).token()

    with pytest.raises(UnavailableError, match="no token within"):
        asyncio.run(ask())

    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 50_000  # KiB


def test_the_setup_names_settings_that_there_are():
    names = set(re.findall(r"channels_config\.email\.(\w+)", SETUP))

    assert names
    assert names <= set(EmailSettings.__struct_fields__)
    assert len(SETUP.splitlines()) < 60


@pytest.mark.parametrize("library", ["imapclient", "aiosmtplib"])
def test_a_missing_library_is_named_with_what_installs_it(
        post, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)

    async def go():
        channel = post.make()
        await (channel.listen(post.inbox) if library == "imapclient"
               else channel.send(SendMessage("hi", "alice@people.test")))

    with pytest.raises(MissingPartError) as told:
        asyncio.run(go())

    assert "[email]" in told.value.hint


def test_listen_check_and_send_say_what_is_missing_before_they_begin(
        post, monkeypatch):
    """`claw send` queued a mail that nothing here could send, and exit 5
    told to wait."""
    for name in ("imapclient", "aiosmtplib"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(MissingPartError, match="IMAPClient and aiosmtplib"):
        post.make()


@pytest.mark.each(("error", "words"), [
    (ssl.SSLCertVerificationError(1, "[SSL] (_ssl.c:1006)"),
     "its certificate was not accepted"),
    (ConnectionRefusedError(111, "Connect call failed"),
     "connection refused"),
    (socket.gaierror(-2, "Name or service not known"),
     "its name could not be resolved (DNS)")])
def test_no_raw_error_of_the_system_is_shown(error, words):
    settings = EmailSettings(smtp_host="mail.example.org")
    courier = Courier(settings, Logins(settings))

    told = courier._translate(error, "the connection")

    assert told.message.endswith(f": {words}")
    assert told.hint
