"""EmailChannel between real servers: dovecot and exim, pymap and aiosmtpd.

All in temporary folders on free ports of 127.0.0.1, never the system's own.
"""

import asyncio
import imaplib
import os
import shutil
import signal
import smtplib
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager, suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from claw.channels.email import listener, mailbox
from claw.channels.email.channel import EmailChannel
from claw.channels.email.settings import EmailSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.core.errors import AuthError, RequestRefusedError
from claw.testing.contracts.stage import until

pytestmark = pytest.mark.peers

PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
ALICE, AGENT = "alice@x.test", "agent@x.test"

DOVECOT = """
base_dir = {run}/run
state_dir = {run}/state
log_path = {run}/dovecot.log
protocols = imap lmtp
listen = 127.0.0.1
ssl = yes
ssl_cert = <{run}/cert.pem
ssl_key = <{run}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain login
mail_location = maildir:{run}/mail/%u
mail_uid = mail
mail_gid = mail
first_valid_uid = 1
passdb {{
  driver = static
  args = password=secret-of-the-peers
}}
userdb {{
  driver = static
  args = uid=mail gid=mail home={run}/mail/%u
}}
service imap-login {{
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {lmtp}
  }}
}}
namespace inbox {{
  inbox = yes
  mailbox Sent {{
    auto = create
    special_use = \\Sent
  }}
}}
"""
EXIM = """
primary_hostname = mail.x.test
domainlist local_domains = x.test
daemon_smtp_ports = {smtp} : {smtps}
local_interfaces = 127.0.0.1
tls_on_connect_ports = {smtps}
tls_advertise_hosts = *
tls_certificate = {run}/cert.pem
tls_privatekey = {run}/key.pem
auth_advertise_hosts = ${{if eq{{$tls_in_cipher}}{{}}{{}}{{*}}}}
acl_smtp_rcpt = acl_rcpt
acl_smtp_data = acl_data
message_size_limit = 3M
rfc1413_query_timeout = 0s
host_lookup =
keep_environment =
spool_directory = {run}/spool
log_file_path = {run}/spool/exim_%slog
pid_file_path = {run}/exim.pid
begin acl
acl_rcpt:
  accept authenticated = *
  accept domains = +local_domains
  deny message = relay not permitted
acl_data:
  warn authenticated = *
    add_header = :at_start:Authentication-Results: mail.x.test; \
spf=pass smtp.mailfrom=$sender_address
  accept
begin routers
local:
  driver = manualroute
  domains = +local_domains
  route_list = * 127.0.0.1
  self = send
  transport = lm
begin transports
lm:
  driver = smtp
  protocol = lmtp
  port = {lmtp}
  allow_localhost
begin retry
* * F,1h,1m
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${{if eq{{$auth3}}{{secret-of-the-peers}}}}
  server_set_id = $auth2
"""


class Servers:
    """dovecot and exim."""

    password = "secret-of-the-peers"

    def __init__(self, run):
        self.run = run
        run.chmod(0o755)  # they serve as other users
        (run / "spool").mkdir()
        (run / "mail").mkdir()
        shutil.chown(run / "mail", "mail", "mail")
        shutil.chown(run / "spool", "Debian-exim", "Debian-exim")
        make_certificate(run)
        shutil.chown(run / "key.pem", "root", "Debian-exim")
        (run / "key.pem").chmod(0o640)
        self.ports = {name: free_port() for name in (
            "imap", "imaps", "lmtp", "smtp", "smtps")}
        for name, text in (("dovecot", DOVECOT), ("exim", EXIM)):
            (run / f"{name}.conf").write_text(text.format(
                run=run, **self.ports))
        self.exim = self.dovecot = None

    def start(self):
        self.exim = subprocess.Popen(
            ["exim4", "-C", self.run / "exim.conf", "-bdf", "-q1m"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.ports["smtp"])
        self.start_dovecot()

    def start_dovecot(self):
        self.dovecot = subprocess.Popen(
            ["dovecot", "-F", "-c", self.run / "dovecot.conf"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.ports["imap"])

    def stop(self):
        for process in (self.exim, self.dovecot):
            if process is not None:
                process.terminate()
                process.wait(10)

    def sleepers(self):
        """The processes that serve clients, of our own dovecot."""
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                name, _, rest = stat.read_text().partition(") ")
                if name.endswith("(imap") and int(rest.split()[1]) \
                        == self.dovecot.pid:
                    yield int(stat.parent.name)

    def mail(self, sender=ALICE, to=AGENT, text="hello", **headers):
        message = EmailMessage()
        message["From"], message["To"] = sender, to
        for name, value in headers.items():
            message[name.replace("_", "-")] = value
        message.set_content(text)
        return message

    def send(self, message, *, proven=True):
        with smtplib.SMTP("127.0.0.1", self.ports["smtp"],
                          timeout=10) as smtp:
            if proven:
                smtp.starttls(context=ssl.create_default_context(
                    cafile=self.run / "cert.pem"))
                smtp.login(message["From"], self.password)
            smtp.send_message(message)

    def read(self, user, folder="INBOX"):
        """The mails of a user, flags first."""
        imap = imaplib.IMAP4("127.0.0.1", self.ports["imap"])
        imap.login(user, self.password)
        imap.select(folder, readonly=True)
        found = []
        for number in imap.search(None, "ALL")[1][0].split():
            (flags, raw), *_ = imap.fetch(number, "(FLAGS BODY.PEEK[])")[1]
            found.append((flags.decode(), message_from_bytes(
                raw, policy=policy.default)))
        imap.logout()
        return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificate(run):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
         "-keyout", run / "key.pem", "-out", run / "cert.pem", "-days", "2",
         "-subj", "/CN=localhost", "-addext",
         "subjectAltName=IP:127.0.0.1,DNS:localhost"],
        check=True, capture_output=True)


def wait_for(port):
    for _ in range(200):
        with suppress(OSError), socket.create_connection(
                ("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens at {port}")


@pytest.fixture(scope="module")
def servers():
    for program in ("dovecot", "exim4", "openssl"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}: run tests/peers/install.sh")
    if os.geteuid() != 0:
        pytest.skip("dovecot and exim serve as other users: run as root")
    # Not below pytest's folder, which other users may not enter.
    with tempfile.TemporaryDirectory(prefix="claw-mail-",
                                     ignore_cleanup_errors=True) as folder:
        made = Servers(Path(folder))
        try:
            made.start()
            yield made
        finally:
            made.stop()


class Inbox:
    def __init__(self):
        self.messages = []
        self.failures = []

    async def put(self, message):
        if message.id not in {m.id for m in self.messages}:
            self.messages.append(message)

    def failed(self, why):
        self.failures.append(why)

    def said(self, text):
        return any(text in m.content for m in self.messages)


class Agent:
    def __init__(self, servers, tmp_path, monkeypatch, **given):
        monkeypatch.setenv("SSL_CERT_FILE", str(servers.run / "cert.pem"))
        self.inbox, self.marks, self.logs = Inbox(), Marks(), []
        self.folder = tmp_path
        self.given = {
            "imap_host": "127.0.0.1", "imap_port": servers.ports["imaps"],
            "smtp_host": "127.0.0.1", "smtp_port": servers.ports["smtps"],
            "username": AGENT, "password": servers.password,
            "allowed_users": ("@x.test",), "auth_results": "mail.x.test",
            **given}

    def make(self, **more):
        return EmailChannel(
            EmailSettings(**{**self.given, **more}), ChannelDeps(
                self.folder, self.folder / "files", marks=self.marks,
                log=lambda e, **f: self.logs.append((e, f))))

    @asynccontextmanager
    async def listening(self, **more):
        channel = self.make(**more)
        task = asyncio.create_task(channel.listen(self.inbox))
        try:
            yield channel
        finally:
            if task.done():
                task.result()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await channel.aclose()

    def hears(self, text):
        return until(lambda: self.inbox.said(text))


@pytest.fixture
def agent(servers, tmp_path, monkeypatch):
    return Agent(servers, tmp_path, monkeypatch)


@pytest.mark.parametrize("how", ["tls", "starttls"])
def test_a_mail_is_pushed_answered_marked_and_kept(servers, agent, how):
    if how == "starttls":
        agent.given.update(
            imap_port=servers.ports["imap"], imap_tls="starttls",
            smtp_port=servers.ports["smtp"], smtp_tls="starttls")
    text = f"Grüße über {how}"
    first = servers.mail(text=text, Subject=f"Plän {how}",
                         Message_ID=f"<first-{how}@x.test>")

    async def go():
        async with agent.listening() as channel:
            await asyncio.sleep(1.0)  # it idles
            await asyncio.to_thread(servers.send, first)
            sent_at = time.monotonic()
            await agent.hears(text)
            took = time.monotonic() - sent_at
            (heard,) = [m for m in agent.inbox.messages
                        if text in m.content]
            await channel.send(SendMessage(
                "**yes** ✓", heard.reply_target, thread_ts=heard.thread_ts))
            return heard, took

    heard, took = asyncio.run(go())

    assert took < 3.0
    assert heard.content == f"Subject: Plän {how}\n\n{text}"
    assert heard.labels == ()
    flags, _ = next(m for m in servers.read(AGENT)
                    if m[1]["Message-ID"] == f"<first-{how}@x.test>")
    assert "\\Seen" in flags
    answers = [m for _, m in wait_mails(servers, ALICE, 1)
               if m["In-Reply-To"] == f"<first-{how}@x.test>"]
    assert [a["Subject"] for a in answers] == [f"Re: Plän {how}"]
    assert "**yes** ✓" in answers[0].get_body(("plain",)).get_content()
    assert answers[0]["Message-ID"] in {
        m["Message-ID"] for _, m in servers.read(AGENT, "Sent")}


def wait_mails(servers, user, count):
    for _ in range(50):
        found = servers.read(user)
        if len(found) >= count:
            return found
        time.sleep(0.1)
    raise AssertionError("nothing came")


def test_a_forged_sender_is_not_heard(servers, agent):
    forged = servers.mail(text="forged", Authentication_Results=(
        "evil.test; dkim=pass header.d=x.test"))

    async def go():
        async with agent.listening():
            await asyncio.to_thread(servers.send, forged, proven=False)
            await asyncio.to_thread(servers.send, servers.mail(text="real"))
            await agent.hears("real")

    asyncio.run(go())

    assert not agent.inbox.said("forged")
    assert any(event == "mail.refused" for event, _ in agent.logs)


def test_wrong_passwords_are_told(agent):
    async def go():
        agent.given["password"] = "not-the-password"
        channel = agent.make()
        with pytest.raises(AuthError) as told:
            await channel.listen(agent.inbox)
        assert "not-the-password" not in str(told.value)
        with pytest.raises(AuthError):
            await channel.send(SendMessage("hi", ALICE))
        await channel.aclose()

    asyncio.run(go())


def test_a_diagnosis_of_servers_that_are_well(servers, agent):
    servers.send(servers.mail(text="to look at"))
    wait_mails(servers, AGENT, 1)

    async def go():
        channel = agent.make()
        return await channel.diagnose()

    found = {row.id: row.status for row in asyncio.run(go())}

    assert set(found.values()) == {"ok"}


def test_a_restart_of_the_server_loses_nothing(servers, agent):
    async def go():
        async with agent.listening():
            servers.send(servers.mail(text="before the restart"))
            await agent.hears("before the restart")
            servers.dovecot.terminate()
            await asyncio.to_thread(servers.dovecot.wait, 10)
            await asyncio.sleep(0.3)
            await asyncio.to_thread(servers.start_dovecot)
            await asyncio.to_thread(servers.send,
                                    servers.mail(text="after the restart"))
            await agent.hears("after the restart")

    asyncio.run(go())


def test_a_connection_that_fell_silent_is_noticed(servers, agent,
                                                  monkeypatch):
    monkeypatch.setattr(listener, "CHECK_S", 1.0)
    monkeypatch.setattr(mailbox, "READ_S", 1.0)
    stopped = []

    async def go():
        async with agent.listening():
            servers.send(servers.mail(text="before the silence"))
            await agent.hears("before the silence")
            stopped.extend(servers.sleepers())
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            await asyncio.to_thread(servers.send,
                                    servers.mail(text="in the silence"))
            await agent.hears("in the silence")

    try:
        asyncio.run(go())
    finally:
        for pid in stopped:
            with suppress(OSError):
                os.kill(pid, signal.SIGCONT)

    assert stopped
    assert any("no answer" in why for why in agent.inbox.failures)


def test_a_mail_of_50_mb_is_heard_without_its_file(servers, agent):
    head = (b"Authentication-Results: mail.x.test; spf=pass "
            b"smtp.mailfrom=alice@x.test\r\nFrom: alice@x.test\r\n"
            b"Message-ID: <large@x.test>\r\nMIME-Version: 1.0\r\n"
            b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n"
            b"Content-Type: text/plain; charset=utf-8\r\n"
            b"Content-Transfer-Encoding: 8bit\r\n\r\ngro\xc3\x9f\r\n")
    part = (b"--b\r\nContent-Type: application/zip\r\n"
            b"Content-Transfer-Encoding: base64\r\nContent-Disposition: "
            b'attachment; filename="%s.zip"\r\n\r\n%s\r\n')
    line = b"QUJD" * 19 + b"\r\n"
    data = b"".join([head, part % (b"small", line * 100),
                     part % (b"large", line * 640_000), b"--b--\r\n"])
    imap = imaplib.IMAP4("127.0.0.1", servers.ports["imap"])
    imap.login(AGENT, servers.password)
    imap.append("INBOX", None, None, data)
    imap.logout()

    async def go():
        async with agent.listening():
            await agent.hears("groß")

    begun = time.monotonic()
    asyncio.run(go())

    assert time.monotonic() - begun < 10
    (heard,) = [m for m in agent.inbox.messages if m.id == "<large@x.test>"]
    assert [file.size_bytes for file in heard.attachments] == [5700]
    assert "large.zip could not be fetched: it has" in heard.content


def test_a_mail_over_the_limit_and_a_relay_are_refused(servers, agent):
    (agent.folder / "big.bin").write_bytes(b"x" * 3 * 2**20)

    async def go():
        channel = agent.make()
        with pytest.raises(RequestRefusedError, match="MiB at most"):
            await channel.send(SendMessage("[FILE:big.bin]", ALICE))
        await channel.aclose()

    asyncio.run(go())


def test_a_store_shows_one_message_id_twice(servers):
    """So a repetition has to say so: dovecot drops none."""
    twice = servers.mail(to=ALICE, text="twice", Message_ID="<twice@x.test>")
    servers.send(twice)
    servers.send(twice)

    for _ in range(50):
        found = [m for _, m in servers.read(ALICE)
                 if m["Message-ID"] == "<twice@x.test>"]
        if len(found) == 2:
            break
        time.sleep(0.1)

    assert len(found) == 2


# -- the second pair

PYMAP = "from pymap.main import main; main()"
SMTPD = """
import asyncio, sys
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Mailbox
made = Controller(Mailbox(sys.argv[2]), hostname="127.0.0.1",
                  port=int(sys.argv[1]))
made.start()
sys.stdin.read()
made.stop()
"""


@pytest.fixture
def small(tmp_path):
    """pymap and aiosmtpd: (IMAP port, SMTP port, the maildir)."""
    if not (PEERS / "mail").is_dir():
        pytest.skip("no pymap and aiosmtpd: run tests/peers/install.sh")
    imap, smtp, box = free_port(), free_port(), tmp_path / "box"
    env = {**os.environ, "PYTHONPATH": str(PEERS / "mail")}
    started = [subprocess.Popen(
        [sys.executable, *argv], env=env, stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for argv in (
            ["-c", PYMAP, "--host", "127.0.0.1", "--port", str(imap),
             "--no-tls", "dict", "--demo-data", "--demo-user", AGENT,
             "--demo-password", "secret-of-the-peers"],
            ["-c", SMTPD, str(smtp), str(box)])]
    try:
        wait_for(imap)
        wait_for(smtp)
        yield imap, smtp, box
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_the_second_pair_is_read_and_written_to(small, tmp_path):
    imap_port, smtp_port, box = small
    inbox, marks = Inbox(), Marks()
    channel = EmailChannel(EmailSettings(
        imap_host="127.0.0.1", imap_port=imap_port, imap_tls=False,
        smtp_host="127.0.0.1", smtp_port=smtp_port, smtp_tls=False,
        username=AGENT, password="secret-of-the-peers",
        allowed_users=("@x.test",)), ChannelDeps(
            tmp_path, tmp_path / "files", marks=marks))
    head = (b"Authentication-Results: x; dkim=pass header.d=x.test\r\n"
            b"From: alice@x.test\r\nMessage-ID: <%d@x.test>\r\n\r\nmail %d")

    def append(number):
        imap = imaplib.IMAP4("127.0.0.1", imap_port)
        imap.login(AGENT, "secret-of-the-peers")
        imap.append("INBOX", None, None, head % (number, number))
        imap.logout()

    async def go():
        task = asyncio.create_task(channel.listen(inbox))
        append(1)
        await until(lambda: inbox.said("mail 1"))
        await asyncio.sleep(0.5)
        append(2)
        await until(lambda: inbox.said("mail 2"))
        await channel.send(SendMessage("thanks ✓", ALICE))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await channel.aclose()

    asyncio.run(go())

    (sent,) = (box / "new").iterdir()
    text = message_from_bytes(sent.read_bytes(), policy=policy.default)
    assert text["To"] == ALICE
    assert text.get_body(("plain",)).get_content().strip() == "thanks ✓"
