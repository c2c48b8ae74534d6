"""A thief of keys at the command line: a server that says every key back,
and a search of all that claw printed and wrote for them."""

import base64
import json
from urllib.parse import quote

import pytest
from raw_server import chat_whole

from claw.testing.http_server import HttpServer, Reply

KEYS = {name: f"canary-{name}/0123+4567=birdsong"
        for name in ("main", "second", "route", "header", "named")}


def forms(secret):
    return [secret, quote(secret, safe=""), json.dumps(secret)[1:-1],
            base64.b64encode(secret.encode()).decode()]


@pytest.fixture
def thief():
    """Echoes all keys in every form, with the status of the path."""
    said = " ".join(form for key in KEYS.values() for form in forms(key))

    def handle(request):
        if b"m200" in request.body:
            return Reply(200, json.dumps(chat_whole("well")).encode())
        status = 429 if "m429" in request.body.decode() else 401
        heard = " ".join(request.headers.values())
        return Reply(status, json.dumps({"error": {
            "message": f"{heard} {request.query} {said}"[:4000]}}).encode())
    server = HttpServer(handle)
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


@pytest.fixture
def configured(home, thief):
    home.mkdir()
    (home / "config.toml").write_text(f'''
default_provider = "custom:{thief}/v1"
default_model = "m429"
api_key = "{KEYS['main']}"
extra_headers = {{ "X-Mine" = "{KEYS['header']}" }}

[reliability]
api_keys = ["{KEYS['second']}"]
provider_retries = 1
provider_backoff_ms = 1

[memory]
response_cache_enabled = true

[[model_routes]]
hint = "fast"
provider = "mine"
model = "m401"
api_key = "{KEYS['route']}"

[model_providers.mine]
base_url = "{thief}/v1"
model = "m401"
api_key = "{KEYS['named']}"
''')
    (home / "config.toml").chmod(0o600)
    return home


@pytest.mark.parametrize("command", [
    ["ask", "hello"], ["ask", "hello", "--json"],
    ["ask", "hello", "--dry-run"], ["ask", "hello", "--dry-run", "--json"],
    ["-vv", "ask", "hello"], ["ask", "-p", "mine", "hello", "--no-stream"],
    ["ask", "-m", "hint:fast", "hello"],
    ["ask", "-m", "m200", "hello"], ["agent", "-m", "hello"],
    ["provider", "list"], ["provider", "list", "--json"],
    ["provider", "test"], ["provider", "test", "--json"],
    ["provider", "test", "mine"], ["provider", "models", "mine"],
    ["config", "show"],
    ["config", "show", "--json"],
    ["config", "check"],
    ["doctor"], ["doctor", "--json"],
    ["cost", "--calls"], ["cost", "--calls", "--json"],
], ids=lambda c: " ".join(c))
def test_no_key_is_printed_or_written(claw, configured, thief, command):
    if command[0] == "cost":
        claw("ask", "hello")
    done = claw(*command, timeout=120)

    printed = done.out + done.err
    assert "Traceback" not in printed
    written = b"".join(
        f.read_bytes() for f in configured.rglob("*")
        if f.is_file() and f.name != "config.toml")
    mine = (KEYS["main"], KEYS["second"]) if "mine" not in command and \
        "hint:fast" not in command else (KEYS["named"], KEYS["route"])
    # A server that knows a key it was not sent can't be helped.
    for key in (*mine, KEYS["header"]):
        if command[:2] == ["ask", "-m"] and key == KEYS["named"]:
            continue
        for form in forms(key):
            assert form not in printed, done
            assert form.encode() not in written
