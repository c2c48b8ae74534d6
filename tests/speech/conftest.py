"""A server that speaks whatever a test says, and recordings to send it."""

import email
import struct
import threading
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class FakeSpeech:
    """Answers every request with `status`, `content_type` and `body`; the
    first ones with `bodies`, in order."""

    def __init__(self):
        self.status = 200
        self.content_type = "application/json"
        self.body = b'{"text": " Hello there. "}'
        self.bodies = []
        self.requests = []
        self.methods = []

    def form(self):
        """The fields of the last request, and its file as (name, type,
        bytes), read by the standard library's MIME parser."""
        _, headers, raw = self.requests[-1]
        head = f"Content-Type: {headers['content-type']}\r\n\r\n".encode()
        fields, file = {}, None
        for part in email.message_from_bytes(head + raw,
                                             policy=HTTP).iter_parts():
            name = part.get_param("name", header="content-disposition")
            data = part.get_payload(decode=True)
            if part.get_filename():
                file = (part.get_filename(), part.get_content_type(), data)
                assert name == "file"
            else:
                fields[name] = data.decode()
        return fields, file


@pytest.fixture
def server():
    fake = FakeSpeech()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {k.lower(): v for k, v in self.headers.items()}
            fake.requests.append((self.path, headers, raw))
            fake.methods.append(self.command)
            body = fake.bodies.pop(0) if fake.bodies else fake.body
            self.send_response(fake.status)
            self.send_header("Content-Type", fake.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield fake
    http.shutdown()
    thread.join()
    http.server_close()


def ogg(seconds, skipped=312):
    """Head and last page of an Opus file of this length."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, skipped, 48_000, 0, 0)
    first = b"OggS\0\2" + struct.pack("<qIII", 0, 1, 0, 0) + b"\1\x13" + head
    end = round(seconds * 48_000) + skipped
    return first + b"OggS\0\4" + struct.pack("<qIII", end, 1, 1, 0) + b"\1\0"


def wav(seconds, rate=8000):
    data = bytes(round(seconds * rate))
    form = struct.pack("<HHIIHH", 1, 1, rate, rate, 1, 8)
    inner = (b"WAVEfmt " + struct.pack("<I", 16) + form + b"data"
             + struct.pack("<I", len(data)) + data)
    return b"RIFF" + struct.pack("<I", len(inner)) + inner


@pytest.fixture
def recordings(tmp_path):
    """Writes a recording of `seconds` under a name: its path."""
    def write(name, seconds=2.0):
        path = tmp_path / name
        path.write_bytes(wav(seconds) if name.endswith("wav")
                         else ogg(seconds))
        return path
    return write
