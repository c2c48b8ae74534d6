"""/health, /metrics and /pair."""

import asyncio
import json

import pytest

from claw.core.times import rfc3339
from claw.gateway.health import build_health, describe_health
from claw.gateway.metrics import build_metrics, render
from claw.gateway.pairing import MOST_PEERS, Pairing
from claw.gateway.settings import PairingSettings
from claw.runtime.process.health import Health
from tests.gateway.test_app import TOKEN, Log, ask, exchange, request, serving

NOW = 1_795_377_600.0


def snapshot(status="ok", **part):
    return {"uptime_seconds": 7, "components": {"channel:webhook": {
        "status": status, "last_ok": rfc3339(NOW - 1), "restart_count": 2,
        "last_error": None, "last_receive": None, "last_send": None,
        "last_turn": None, "rejected": None, **part}}}


def health(found, raw, **settings):
    [answer] = ask(raw, table=[build_health(lambda: found, lambda: NOW)],
                   **settings)
    return answer


def test_the_owner_reads_the_age_of_each_part():
    status, _, body = health(
        snapshot(last_receive=rfc3339(NOW - 12), last_send=rfc3339(NOW - 9),
                 last_turn=rfc3339(NOW - 10)),
        request("/health", token=TOKEN))

    part = body["parts"]["channel:webhook"]
    assert (status, body["status"]) == (200, "ok")
    assert (part["last_receive_age_s"], part["last_send_age_s"],
            part["last_turn_age_s"]) == (12, 9, 10)
    assert part["restarts"] == 2


@pytest.mark.parametrize(("headers", "host"), [
    ([("X-Forwarded-For", "192.0.2.1")], "localhost"),
    ([], "claw.example.org")])
def test_anyone_hears_no_more_than_a_word(headers, host):
    status, _, body = health(
        snapshot(), request("/health", headers=headers, host=host),
        public_url="https://claw.example.org")

    assert (status, body) == (200, {"status": "ok"})


@pytest.mark.parametrize("state", ["error", "starting"])
def test_what_is_not_well_is_503(state):
    status, _, body = health(snapshot(state, last_error="no network"),
                             request("/health"))

    assert (status, body["status"]) == (503, state)
    assert body["parts"]["channel:webhook"]["last_error"] == "no network"


def test_the_worst_part_speaks():
    found = snapshot("starting")
    found["components"]["x"] = snapshot("error")["components"][
        "channel:webhook"]

    assert describe_health(found, NOW)["status"] == "error"


def test_a_real_registry_is_understood():
    registry = Health()
    registry.ok("channel:webhook")
    registry.note_receive("channel:webhook")
    registry.note_turn()

    found = describe_health(registry.snapshot(), registry.now())
    assert found["status"] == "ok"
    assert found["parts"]["turns"]["last_turn_age_s"] < 5


def test_a_prometheus_parser_reads_the_metrics():
    parser = pytest.importorskip("prometheus_client.parser")

    async def go():
        table = [build_metrics(
            lambda: snapshot(last_receive=rfc3339(NOW)),
            {("GET", "/health", 200): 3}, lambda: 1)]
        async with serving(table) as (port, _, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request("/metrics",
                                 headers=[("Connection", "close")]))
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
            return head, body.decode()
    head, text = asyncio.run(go())
    found = {sample.name: sample for family in
             parser.text_string_to_metric_families(text)
             for sample in family.samples}

    assert b"text/plain; version=0.0.4" in head
    assert found["claw_part_up"].labels == {"part": "channel:webhook"}
    assert found["claw_part_last_receive_timestamp_seconds"].value == NOW
    assert found["claw_http_requests_total"].value == 3
    assert found["process_resident_memory_bytes"].value > 1e6


def test_labels_are_escaped():
    assert render([("x", "gauge", "X.", [({"a": 'q"\\\n'}, 1.5)])]) == (
        '# HELP x X.\n# TYPE x gauge\nx{a="q\\"\\\\\\n"} 1.5\n')


def test_metrics_are_for_this_machine_or_a_key():
    table = [build_metrics(snapshot, {}, lambda: 0)]
    far = request("/metrics", headers=[("X-Forwarded-For", "192.0.2.1")])

    assert ask(far, table=table)[0][0] == 401


# -- pairing


class Codes:
    """One code that is good once."""

    def __init__(self):
        self.code = "GOOD"
        self.asked = 0

    def use_code(self, code, device):
        self.asked += 1
        if code != self.code:
            return None
        self.code = None
        return device, TOKEN


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def pair(code="BAD", body=b"", address=None):
    headers = [("X-Pairing-Code", code)]
    if address:
        headers.append(("X-Forwarded-For", address))
    return request("/pair", method="POST", headers=headers, body=body)


def pairing(raws, keys=None, clock=None, log=None, waits=(), **settings):
    clock, keys = clock or Clock(), keys or Codes()
    one = Pairing(keys, PairingSettings(), log or Log(), clock)
    settings = {"trust_forwarded_headers": True,
                "pair_rate_limit_per_minute": 0, **settings}

    async def go():
        async with serving([one.endpoint], **settings) as (port, _, _):
            found = []
            for number, raw in enumerate(raws):
                clock.now += dict(waits).get(number, 0)
                found.append(await exchange(port, raw))
            return found
    return asyncio.run(go())


def test_a_code_gives_a_device_its_key():
    log = Log()
    first, again = pairing([
        pair("GOOD", json.dumps({"device_name": "phone"}).encode()),
        pair("GOOD")], log=log)

    assert first[0] == 200
    assert first[2]["paired"] is first[2]["persisted"] is True
    assert (first[2]["token"], first[2]["name"]) == (TOKEN, "phone")
    assert again[0] == 403
    assert TOKEN not in repr(log.lines)
    assert "GOOD" not in repr(log.lines)


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b'{"device_name": 7}', b'{"device_name": ""}',
    b"[" * 4000])
def test_a_device_needs_no_name(body):
    assert pairing([pair("GOOD", body)])[0][2]["name"] == "device"


def test_five_wrong_codes_lock_an_address_out():
    keys, log = Codes(), Log()
    wrong = [pair(address="192.0.2.1")] * 5
    answers = pairing(
        [*wrong, pair("GOOD", address="192.0.2.1"),
         pair("GOOD", address="192.0.2.2")], keys, log=log)

    assert [status for status, _, _ in answers] == [403] * 5 + [429, 200]
    assert 0 < int(answers[5][1]["retry-after"]) <= 300
    assert "claw gateway token add" in answers[5][2]["hint"]
    assert keys.asked == 6
    assert [e for e, _ in log.lines].count("gateway.pairing_locked") == 1


def test_after_its_wait_an_address_may_try_again():
    answers = pairing([pair()] * 5 + [pair("GOOD")], waits=[(5, 301)])

    assert answers[5][0] == 200


def test_a_success_clears_the_failures():
    keys = Codes()
    answers = pairing([*[pair()] * 4, pair("GOOD"), *[pair()] * 2], keys)

    assert [status for status, _, _ in answers][-2:] == [403, 403]


def test_guessing_from_changing_addresses_locks_nobody_else_out():
    """And the list of who guessed stays bounded."""
    keys, clock = Codes(), Clock()
    one = Pairing(keys, PairingSettings(), clock=clock)
    for number in range(MOST_PEERS + 500):
        one._note_failure(f"10.{number // 65536}.{number // 256 % 256}"
                          f".{number % 256}")
    assert len(one._failures) == MOST_PEERS

    assert pairing([*[pair(address=f"192.0.2.{n}") for n in range(1, 100)],
                    pair("GOOD", address="198.51.100.1")])[-1][0] == 200


def test_addresses_of_one_ipv6_network_are_one():
    answers = pairing([pair(address=f"2001:db8::{n}") for n in range(1, 7)])

    assert answers[-1][0] == 429


def test_a_caller_can_not_choose_its_own_address():
    """Only what the proxy wrote last counts."""
    answers = pairing([pair(address=f"10.0.0.{n}, 192.0.2.1")
                       for n in range(1, 7)])

    assert answers[-1][0] == 429


def test_tries_to_pair_are_few_a_minute():
    answers = pairing([pair()] * 3, pair_rate_limit_per_minute=2)

    assert [status for status, _, _ in answers] == [403, 403, 429]


@pytest.mark.parametrize("code", ["", "x" * 200, "é"])
def test_what_can_be_no_code_is_not_looked_up(code):
    keys = Codes()
    [(status, _, _)] = pairing([pair(code)], keys)

    assert status == 403
    assert keys.asked <= (code == "é")
