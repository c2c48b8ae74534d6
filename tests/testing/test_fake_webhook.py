"""The receiver of webhooks, seen by a stranger's client."""

import gc
import socket
import threading

import httpx
import pytest

from claw.testing.fake_webhook import FakeReceiver, sign


def test_it_keeps_what_was_sent():
    with FakeReceiver(status=201, body=b"ok") as receiver:
        found = httpx.put(receiver.url + "/hook?a=1", json={"text": "안녕"},
                          headers={"X-Sign": "abc"})
        receiver.wait_until(lambda: receiver.received)

    assert (found.status_code, found.content) == (201, b"ok")
    (sent,) = receiver.received
    assert (sent.method, sent.path) == ("PUT", "/hook?a=1")
    assert sent.headers["x-sign"] == "abc"
    assert sent.json() == {"text": "안녕"}
    assert receiver.problems == []


@pytest.mark.parametrize(("kind", "error", "taken"), [
    ("reset", httpx.ReadError, 0),
    ("reset_after", httpx.ReadError, 1),
    ("half", httpx.RemoteProtocolError, 1),
    ("stall", httpx.ReadTimeout, 0),
])
def test_faults_of_the_wire(kind, error, taken):
    with FakeReceiver() as receiver:
        receiver.fault("POST", kind)
        with pytest.raises(error):
            httpx.post(receiver.url, content=b"x", timeout=0.3)

        assert len(receiver.received) == taken
        assert len(receiver.attempts) == 1
        assert httpx.post(receiver.url, content=b"x").status_code == 200


@pytest.mark.parametrize(("secret", "body", "status"), [
    ("right", b"x", 200), ("wrong", b"x", 401), ("right", b"y", 401)])
def test_with_a_secret_only_what_is_signed_is_taken(secret, body, status):
    with FakeReceiver(secret="right") as receiver:
        found = httpx.post(receiver.url, content=b"x",
                           headers=sign(secret, body, 1_795_377_600.5))
        unsigned = httpx.post(receiver.url, content=b"x")

        assert (found.status_code, unsigned.status_code) == (status, 401)
        assert len(receiver.received) == (status == 200)


def test_refusals():
    with FakeReceiver(latency_s=0.01) as receiver:
        receiver.fault("POST", "429", retry_after=3)
        receiver.fault("POST", "status", status=503)
        slow_down = httpx.post(receiver.url, content=b"x")
        later = httpx.post(receiver.url, content=b"x")

        assert (slow_down.status_code, slow_down.headers["retry-after"]) \
            == (429, "3")
        assert later.status_code == 503
        assert receiver.received == []
        with pytest.raises(TimeoutError, match=r"2 requests, 0 taken"):
            receiver.wait_until(lambda: receiver.received, 0.02)


def test_stopping_while_clients_knock_leaves_no_open_socket(monkeypatch):
    """Sockets that were being accepted were lost: a ResourceWarning in
    whichever test came later."""
    left = []
    monkeypatch.setattr("sys.unraisablehook", left.append)

    def knock(port, stop):
        while not stop.is_set():
            try:
                with socket.create_connection(("127.0.0.1", port), 1) as s:
                    s.sendall(b"GET / HTTP/1.1\r\n\r\n")
            except OSError:
                continue

    for _ in range(10):
        stop = threading.Event()
        with FakeReceiver() as receiver:
            threads = [threading.Thread(target=knock,
                                        args=(receiver.port, stop))
                       for _ in range(3)]
            for thread in threads:
                thread.start()
            receiver.wait_until(lambda: len(receiver.received) > 5)
        stop.set()
        for thread in threads:
            thread.join()
        gc.collect()

    assert left == []
