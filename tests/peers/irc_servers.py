"""Real IRC servers for the tests: InspIRCd with atheme's services, and ngIRCd,
each in a folder of its own, on 127.0.0.1, never as root."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

INSTALL = f"run {Path(__file__).with_name('install.sh')} as root"
USER = "nobody" if os.getuid() == 0 else None

INSPIRCD = """
<server name="irc.local" description="t" network="T" id="1AA">
<admin name="a" nick="a" email="a@b">
<path datadir="{run}" logdir="{run}" runtimedir="{run}">
<bind address="127.0.0.1" port="{plain}" type="clients">
<bind address="127.0.0.1" port="{tls}" type="clients" ssl="gnutls">
<bind address="127.0.0.1" port="{link}" type="servers">
<module name="ssl_gnutls">
<sslprofile name="gnutls" provider="gnutls" certfile="{run}/cert.pem"
  keyfile="{run}/key.pem">
<module name="cap"><module name="sasl"><module name="services_account">
<module name="spanningtree"><module name="ircv3"><module name="ircv3_batch">
<module name="ircv3_accounttag"><module name="ircv3_capnotify">
<module name="ircv3_echomessage"><module name="ircv3_servertime">
<module name="ircv3_msgid"><module name="ircv3_ctctags">
<sasl target="services.local" requiressl="no">
<connect allow="*" timeout="60" flood="0" threshold="{threshold}"
  hardsendq="1M" softsendq="8192" recvq="8K" localmax="50" globalmax="50"
  fakelag="{fakelag}" commandrate="1000">
<link name="services.local" ipaddr="127.0.0.1" port="{link}"
  allowmask="127.0.0.1/32" sendpass="lp" recvpass="lp">
<uline server="services.local" silent="yes">
<dns server="127.0.0.1" timeout="1">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default"
  target="{run}/i.log">
<options defaultbind="ipv4"><security allowcoreunload="no">
<performance softlimit="1000">
"""
ATHEME = """
loadmodule "modules/protocol/inspircd";
loadmodule "modules/backend/opensex";
loadmodule "modules/crypto/pbkdf2v2";
loadmodule "modules/nickserv/main"; loadmodule "modules/nickserv/register";
loadmodule "modules/nickserv/identify";
loadmodule "modules/saslserv/main"; loadmodule "modules/saslserv/plain";
serverinfo {{ name = "services.local"; desc = "s"; numeric = "00A";
  recontime = 1; netname = "T"; adminname = "a"; adminemail = "a@b";
  registeremail = "n@b"; auth = none; loglevel = {{ all; }}; }};
uplink "irc.local" {{ host = "127.0.0.1"; vhost = "127.0.0.1";
  port = {link}; send_password = "lp"; receive_password = "lp"; }};
nickserv {{ nick = "NickServ"; user = "NickServ"; host = "services.local";
  real = "n"; }};
saslserv {{ nick = "SaslServ"; user = "SaslServ"; host = "services.local";
  real = "s"; }};
general {{ permissive_mode; }};
"""
NGIRCD = """
[Global]
Name = irc.test.local
Info = test
Listen = 127.0.0.1
Ports = {plain}
{password}
[Limits]
MaxNickLength = 30
[Options]
PAM = no
Ident = no
DNS = no
SyslogFacility = local1
[SSL]
CertFile = {run}/cert.pem
KeyFile = {run}/key.pem
Ports = {tls}
"""


class Server:
    """A network: `plain` and `tls` are ports, `cert` its authority. `stop`
    and `start` restart its server."""

    def __init__(self, run, command):
        self.run = run
        self.cert = run / "cert.pem"
        self.plain, self.tls, self.link = (free_port() for _ in range(3))
        self.command = command
        self.process = None

    def start(self):
        self.process = launch(self.command, self.run)
        wait_for(self.plain, self.process, self.run)

    def stop(self, sign=signal.SIGTERM):
        end(self.process, sign)

    def freeze(self):
        os.killpg(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.killpg(self.process.pid, signal.SIGCONT)


@contextmanager
def inspircd(*, services=True, fakelag="no", threshold=10):
    with folder("inspircd", "openssl") as run:
        server = Server(run, ["inspircd", "--nofork", "--config",
                              str(run / "inspircd.conf")])
        write(run / "inspircd.conf", INSPIRCD.format(
            run=run, plain=server.plain, tls=server.tls, link=server.link,
            fakelag=fakelag, threshold=threshold))
        server.start()
        helper = None
        try:
            if services:
                helper = start_services(run, server.link)
                server.nickserv = wait_services(server.plain)
            yield server
        finally:
            server.stop(signal.SIGKILL)
            if helper:
                end(helper, signal.SIGKILL)


def start_services(run, link):
    if shutil.which("atheme-services") is None:
        pytest.skip(f"atheme is not installed; {INSTALL}")
    write(run / "atheme.conf", ATHEME.format(link=link))
    command = ["atheme-services", "-n", "-c", str(run / "atheme.conf"),
               "-D", str(run), "-l", str(run / "atheme.log"),
               "-p", str(run / "atheme.pid")]
    base = launch([*command, "-b"], run)
    base.wait(20)
    return launch(command, run)


@contextmanager
def ngircd(password=""):
    with folder("ngircd", "openssl") as run:
        server = Server(run, ["ngircd", "-n", "-f",
                              str(run / "ngircd.conf")])
        write(run / "ngircd.conf", NGIRCD.format(
            run=run, plain=server.plain, tls=server.tls,
            password=f"Password = {password}" if password else ""))
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGKILL)


@contextmanager
def folder(*programs):
    """A folder of the server's user, with a certificate."""
    for program in programs:
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") \
                is None:
            pytest.skip(f"{program} is not installed; {INSTALL}")
    run = Path(tempfile.mkdtemp(prefix="claw-irc-"))
    try:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
             "-keyout", "key.pem", "-out", "cert.pem", "-days", "30",
             "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            cwd=run, check=True, capture_output=True)
        if USER:
            owner = pwd.getpwnam(USER)
            for path in (run, *run.iterdir()):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        yield run
    finally:
        shutil.rmtree(run, ignore_errors=True)


def write(path, text):
    path.write_text(text)
    path.chmod(0o644)


def launch(command, run):
    program = shutil.which(command[0],
                           path=f"{os.environ['PATH']}:/usr/sbin")
    group = pwd.getpwnam(USER).pw_gid if USER else None
    with open(run / "output.log", "ab") as output:
        return subprocess.Popen(
            [program, *command[1:]], stdout=output, stderr=output,
            stdin=subprocess.DEVNULL, cwd=run, start_new_session=True,
            user=USER, group=group, extra_groups=[] if USER else None)


def end(process, sign):
    try:
        os.killpg(process.pid, signal.SIGCONT)
        os.killpg(process.pid, sign)
        process.wait(10)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process, run):
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    pytest.fail("the server did not start: "
                + (run / "output.log").read_text(errors="replace")[-2000:])


class Person:
    """Somebody with a plain client."""

    def __init__(self, port, nick):
        self.nick = nick
        self.lines = []
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        self._file = self._socket.makefile("rb")
        self.write(f"NICK {nick}", f"USER {nick} 0 * :{nick}")
        self.until(" 001 ")

    def write(self, *lines):
        for line in lines:
            self._socket.sendall(line.encode() + b"\r\n")

    def until(self, sign, patience=10):
        """Read up to a line that holds the sign; that line."""
        self._socket.settimeout(patience)
        while True:
            raw = self._file.readline()
            if not raw:
                raise EOFError(f"{self.nick}: the end, before {sign!r}")
            line = raw.decode(errors="replace").strip()
            self.lines.append(line)
            if line.startswith("PING"):
                self.write("PONG" + line[4:])
            if sign in line:
                return line

    def close(self):
        self._file.close()
        self._socket.close()


def register(port, nick, password):
    """Give a nick to an account of this name; the person, logged in."""
    person = Person(port, nick)
    person.write(f"PRIVMSG NickServ :REGISTER {password} a@b.example")
    person.until("registered")
    return person


def wait_services(port):
    """Until NickServ is there."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        person = Person(port, "probe")
        person.write("WHOIS NickServ")
        line = person.until("NickServ :")
        person.close()
        if " 401 " not in line:
            return True
        time.sleep(0.2)
    pytest.fail("the services did not come")
