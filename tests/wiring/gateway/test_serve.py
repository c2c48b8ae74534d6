"""The gateway in claw listen, and alone, as the settings make it."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing, contextmanager

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.runtime.process.health import Health
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_webhook import FakeReceiver, sign
from claw.wiring.checks.gateway import GATEWAY
from claw.wiring.gateway.keys import keys_path, open_keys
from claw.wiring.listen.gateway import ListenGateway
from tests.wiring.listen.test_service import Scene

SECRET = "correct-horse-battery"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def call(port, path, *, method="GET", body=None, headers=None):
    """Status and JSON of an answer."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", body, headers or {},
        method=method)
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


async def ask(*args, **options):
    return await asyncio.to_thread(call, *args, **options)


@pytest.fixture
def scene(tmp_path):
    with FakeOpenAI(replies=["an answer"] * 4) as model, \
            FakeReceiver(secret=SECRET) as receiver:
        made = Scene(tmp_path, None, model)
        made.receiver, made.port, made.own = receiver, free_port(), \
            free_port()
        write(made)
        yield made


def write(scene, gateway="enabled = true", webhook=""):
    scene.write(bot=False, more=(
        f"[gateway]\nport = {scene.port}\n{gateway}\n"
        f"[channels_config.webhook]\nport = {scene.own}\n"
        f'secret = "{SECRET}"\n{webhook}\n'
        f'send_url = "{scene.receiver.url}/in"\n'))


def post(port, number, path="/webhook"):
    body = json.dumps({"sender": "mina", "content": "hello",
                       "id": str(number)}).encode()
    return ask(port, path, method="POST", body=body,
               headers=sign(SECRET, body))


def run(test):
    asyncio.run(asyncio.wait_for(test, 40))


def test_a_webhook_is_answered_at_both_addresses(scene):
    async def go():
        async with scene.running():
            await scene.until(lambda: scene.said("channel.listening")
                              and scene.said("gateway.listening"))
            first = await post(scene.port, 1)
            second = await post(scene.own, 2)
            again = await post(scene.port, 2)
            await scene.until(lambda: len(scene.receiver.received) == 2)
            elsewhere = await ask(scene.own, "/health")
            status, found = await ask(scene.port, "/health")
        assert (first[0], second[0], again[0]) == (200, 200, 200)
        assert elsewhere[0] == 404
        assert status == 200
        part = found["parts"]["channel:webhook"]
        assert part["last_receive_age_s"] < 20
        assert part["last_send_age_s"] < 20
        assert found["parts"]["turns"]["last_turn_age_s"] < 20
    run(go())

    assert len(scene.receiver.received) == 2
    assert SECRET not in repr(scene.events)


def test_a_copy_of_a_request_is_answered_and_does_nothing(scene):
    """Within five minutes its time and signature are good."""
    body = json.dumps({"sender": "mina", "content": "pay", "id": "7"}
                      ).encode()
    headers = sign(SECRET, body)

    async def go():
        async with scene.running():
            await scene.until(lambda: scene.said("channel.listening"))
            said = [await ask(scene.own, "/webhook", method="POST",
                              body=body, headers=headers)
                    for _ in range(5)]
            await scene.until(lambda: scene.receiver.received)
            await asyncio.sleep(0.3)
        return said
    said = asyncio.run(asyncio.wait_for(go(), 40))

    assert [status for status, _ in said] == [200] * 5
    assert len(scene.receiver.received) == 1
    assert len(scene.said("message.accepted")) == 1
    assert len(scene.said("message.known")) == 4


def test_one_address_may_serve_both(scene):
    scene.own = scene.port
    write(scene)

    async def go():
        async with scene.running():
            await scene.until(lambda: scene.said("gateway.listening"))
            await scene.until(lambda: scene.said("channel.listening"))
            await asyncio.sleep(0.1)  # until its row is in the table
            assert (await post(scene.port, 1))[0] == 200
    run(go())

    assert scene.said("channel.listening") == [{"channel": "webhook"}]
    assert not scene.said("channel.error")


def test_a_webhook_with_an_address_says_once_that_it_listens(scene):
    async def go():
        async with scene.running():
            await scene.until(lambda: scene.said("channel.listening"))
            await asyncio.sleep(0.1)
    run(go())

    assert scene.said("channel.listening") == [{
        "channel": "webhook", "host": "127.0.0.1", "port": scene.own,
        "path": "/webhook"}]
    assert not [event for event, _ in scene.events if "_listening" in event]


def test_the_gateway_needs_no_channel(scene):
    scene.write(bot=False, more=(
        f"[gateway]\nenabled = true\nport = {scene.port}\n"))

    async def go():
        async with scene.running():
            await scene.until(lambda: scene.said("gateway.listening"))
            assert (await ask(scene.port, "/health"))[0] == 200
    run(go())

    assert scene.said("stopped")


def test_changed_settings_are_taken_over_while_it_runs(scene):
    other = free_port()

    async def go():
        async with scene.running() as service:
            await scene.until(lambda: scene.said("gateway.listening"))
            scene.port = other
            write(scene)
            os.kill(os.getpid(), signal.SIGHUP)
            await scene.until(
                lambda: len(scene.said("gateway.listening")) == 2)
            assert (await post(other, 1))[0] == 200
            write(scene, "enabled = false")
            os.kill(os.getpid(), signal.SIGHUP)
            await scene.until(
                lambda: len(scene.said("config.reloaded")) == 2)
            async with asyncio.timeout(5):
                while True:
                    try:
                        await ask(other, "/health")
                    except OSError:  # refused, or cut off as it ends
                        break
            assert (await post(scene.own, 2))[0] == 200
            service.stop()
    run(go())


def test_a_key_that_is_taken_out_of_the_settings_is_refused(scene):
    old, new = "zc_" + "1" * 64, "zc_" + "2" * 64

    async def status(key):
        return (await ask(scene.port, "/v1/models", headers={
            "Authorization": f"Bearer {key}"}))[0]

    async def go():
        write(scene, f'enabled = true\npaired_tokens = ["{old}"]')
        async with scene.running():
            await scene.until(lambda: scene.said("gateway.listening"))
            assert (await status(old), await status(new)) == (200, 401)
            write(scene, f'enabled = true\npaired_tokens = ["{new}"]')
            os.kill(os.getpid(), signal.SIGHUP)
            await scene.until(
                lambda: len(scene.said("gateway.listening")) == 2)
            assert (await status(old), await status(new)) == (401, 200)
    run(go())


def test_a_taken_port_ends_nothing_and_is_tried_again(scene, monkeypatch):
    monkeypatch.setattr("claw.gateway.gateway.RETRY_S", 0.05)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        scene.port = taken.getsockname()[1]
        write(scene)

        async def retry():
            async with scene.running():
                await scene.until(lambda: scene.said("gateway.error")
                                  and scene.said("channel.listening"))
                assert (await post(scene.own, 1))[0] == 200
                await asyncio.sleep(0.3)
                taken.close()
                await scene.until(lambda: scene.said("gateway.listening"))
                assert (await ask(scene.port, "/health"))[0] == 200
        run(retry())

    told, = scene.said("gateway.error")  # once, however often it is tried
    assert "another program holds the port" in told["error"]
    assert len(scene.said("gateway.unpaired")) == 1


@pytest.mark.parametrize(("gateway", "named"), [
    ('enabled = true\nhost = "0.0.0.0"', "allow_public_bind"),
    ('enabled = true\nrequire_pairing = false\n'
     'public_url = "https://claw.example.org"', "require_pairing"),
    ("enabled = true\nprot = 1", "prot"),
])
def test_what_would_let_anybody_in_does_not_start(scene, gateway, named):
    write(scene, gateway)

    async def go():
        async with scene.running():
            pass
    with pytest.raises(Exception, match=r".") as caught:
        run(go())

    assert named in str(caught.value) + str(caught.value.hint)
    assert caught.value.exit_code == 3


# -- alone


@contextmanager
def alone(scene, *arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "claw", "gateway", *arguments],
        stderr=subprocess.PIPE, text=True,
        env={**os.environ, "CLAW_HOME": str(scene.places.home)})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until_it_serves(port):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            return call(port, "/health")
        except urllib.error.URLError:
            time.sleep(0.05)
    raise AssertionError("it never listened")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_alone_it_serves_until_a_signal(scene, number):
    with alone(scene) as process:
        assert until_it_serves(scene.port)[0] == 200
        with closing(open_keys(load(scene.places))) as keys:
            token = keys.add("laptop")
            header = {"Authorization": f"Bearer {token}",
                      "X-Forwarded-For": "192.0.2.1"}
            assert call(scene.port, "/health", headers=header)[1]["parts"]
            keys.rotate("laptop")
        assert "parts" not in call(scene.port, "/health",
                                   headers=header)[1]
        process.send_signal(number)
        _, noise = process.communicate(timeout=10)

    assert process.returncode == 0
    assert noise.rstrip().endswith("stopped")
    assert "Traceback" not in noise


def test_alone_a_taken_port_is_exit_5(scene):
    with socket.create_server(("127.0.0.1", scene.port)), \
            alone(scene) as process:
        _, noise = process.communicate(timeout=20)

    assert process.returncode == 5
    assert "another program holds the port" in noise
    assert "Traceback" not in noise


def test_a_port_that_another_claw_holds_is_said_to_be_claws(scene):
    with alone(scene):
        until_it_serves(scene.port)
        with alone(scene) as second:
            _, noise = second.communicate(timeout=20)

    assert second.returncode == 5
    assert "another claw holds the port (claw status names it; " in noise


def test_the_status_shows_a_gateway_that_runs_alone(scene):
    with alone(scene) as process:
        until_it_serves(scene.port)
        check = {"status": ""}
        deadline = time.monotonic() + 20
        while check["status"] != "ok" and time.monotonic() < deadline:
            done = subprocess.run(
                [sys.executable, "-m", "claw", "status", "--json"],
                text=True, capture_output=True, check=False,
                env={**os.environ, "CLAW_HOME": str(scene.places.home)})
            status = json.loads(done.stdout)
            check, = [one for one in status["checks"]
                      if one["id"] == "gateway"]

    assert check["status"] == "ok"
    assert check["detail"].startswith(
        f"http://127.0.0.1:{scene.port}, claw gateway, pid {process.pid}, "
        "for ")
    assert status["gateway"]["pid"] == process.pid
    assert status["listen"] == {"running": False}


def test_idle_it_wakes_for_next_to_nothing(scene):
    """uvicorn's own server would ten times a second."""
    with alone(scene) as process:
        until_it_serves(scene.port)
        time.sleep(1.5)

        def count():
            with open(f"/proc/{process.pid}/status") as file:
                return int(next(line for line in file if line.startswith(
                    "voluntary_ctxt")).split()[1])
        before = count()
        time.sleep(4)
        woken = count() - before

    assert woken <= 8


def test_a_gateway_that_was_switched_off_is_not_said_to_be_well(scene):
    health = Health()
    health.ok("gateway")
    write(scene, "enabled = false")

    ListenGateway(lambda: load(scene.places), print, health).renew()

    assert health.snapshot()["components"] == {}


# -- the doctor


def checks(scene):
    return {check.id: check for check in GATEWAY.run(load(scene.places))}


def test_the_doctor_sees_a_public_url_that_leads_here(scene):
    url = f"http://127.0.0.1:{scene.port}"
    write(scene, f'enabled = true\npublic_url = "{url}"')
    with alone(scene):
        until_it_serves(scene.port)
        found = checks(scene)

    assert found["gateway.public_url"].status == "ok"
    assert found["gateway.port"].status == "ok"
    assert "running claw" in found["gateway.port"].detail
    assert found["gateway.keys"].status == "warn"


def test_the_doctor_sees_a_public_url_that_leads_elsewhere(scene):
    scene.receiver.secret = None
    url = scene.receiver.url
    write(scene, f'enabled = true\npublic_url = "{url}"')
    found = checks(scene)["gateway.public_url"]

    assert found.status == "fail"
    assert "something else" in found.detail
    assert "docs/gateway.md" in found.hint


@pytest.mark.parametrize(("gateway", "check", "status"), [
    ("enabled = false", "gateway.enabled", "skip"),
    ('enabled = true\nhost = "0.0.0.0"', "gateway.exposure", "fail"),
    ('enabled = true\npublic_url = "claw"', "gateway.public_url", "fail"),
    ('enabled = true\npublic_url = "http://127.0.0.1:9"',
     "gateway.public_url", "fail"),
])
def test_the_doctor_says_what_is_wrong(scene, gateway, check, status):
    write(scene, gateway)

    found = checks(scene)[check]
    assert found.status == status
    assert found.hint


def test_keys_are_out_of_the_agents_reach(tmp_path):
    places = locate(str(tmp_path / "home"), None, {})

    assert not keys_path(places).is_relative_to(places.workspace)
