"""What -f brings: files and addresses, text, images and recordings."""

import asyncio
import base64
import gzip
import io
import os
import struct
import subprocess
import threading
import wave
from types import SimpleNamespace

import pytest

from claw.cli.attachments.read import (
    RECORDING_BYTES,
    is_recording,
    read_attachments,
)
from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    UnavailableError,
    UsageError,
)
from claw.testing.http_server import HttpServer, Reply

LIMIT = 100_000
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
OGG = b"OggS\0" + bytes(80)
HEIC = b"\0\0\0\x1cftypheic" + bytes(40)


def recorded():
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(1600))
    return file.getvalue()


def marker(data, kind="image/png"):
    return f"[IMAGE:data:{kind};base64,{base64.b64encode(data).decode()}]"


@pytest.fixture
def settings(tmp_path):
    """settings("[transcription]...") -> Tree"""
    places = locate(str(tmp_path / "home"), None, {})
    places.home.mkdir()

    def made(text=""):
        places.config_file.write_text(text)
        places.config_file.chmod(0o600)
        return load(places, {})
    return made


@pytest.fixture
def read(settings, tmp_path, monkeypatch):
    """read("name", data, ...) -> what -f name brings"""
    monkeypatch.chdir(tmp_path)

    def made(name, data=None, *, text="", limit=LIMIT, **more):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        return read_attachments([name], limit, settings(text), **more)
    return made


# --- files


@pytest.mark.parametrize("data", [
    b"BMW makes cars", b"ID3 tags are old", b"OggS is a sign", b"fLaC too",
    b"GIF8 is none", b"RIFF raff", b"1234ftyp is a word", b"\x1aEscape",
    "이것은 글이다".encode(), b""])
def test_text_that_begins_like_a_picture_or_sound_is_text(read, data):
    found = read("notes.png", data)

    assert [p.text for p in found.passages] == [data.decode()]
    assert found.passages[0].source == "file:notes.png"
    assert found.images == []


def test_an_image_is_known_by_its_bytes(read):
    assert read("notes.txt", PNG).images == [marker(PNG)]


@pytest.mark.parametrize(("data", "sound"), [
    (OGG, True), (recorded(), True), (b"fLaC\0" + bytes(60), True),
    (b"ID3\x04" + bytes(60), True), (b"\xff\xfb\x90" + bytes(60), True),
    (b"\0\0\0\x1cftypM4A " + bytes(60), True), (HEIC, False),
    (b"\x1aE\xdf\xa3" + bytes(60), True), (PNG, False), (b"", False),
    (b"\xff\xfeU\0T\0F\0", False), (b"RIFF\0\0\0\0WEBP", False)])
def test_recordings_are_known_by_their_bytes(data, sound):
    assert is_recording(data) is sound


@pytest.mark.parametrize(("data", "limit", "word"), [
    (b"x" * 11, 10, "--stdin-limit"),
    (PNG + bytes(5 << 20), 10, "max_image_size_mb"),
    (OGG + bytes(RECORDING_BYTES), 10, "shorter recording"),
])
def test_what_is_too_long_says_how_much_may_be(read, data, limit, word):
    with pytest.raises(UsageError, match="longer than") as caught:
        read("big", data, limit=limit)
    assert word in caught.value.hint


def test_an_image_may_be_longer_than_text(read):
    data = PNG + bytes(4 << 20)
    assert len(read("p.png", data, limit=10).images) == 1
    with pytest.raises(UsageError, match="1,048,576"):
        read("p.png", data, text="[multimodal]\nmax_image_size_mb = 1\n")


@pytest.mark.parametrize("name", [
    "missing.txt", "\0", "a/b/c", "x" * 5000, "file:///etc/hosts"])
def test_what_can_not_be_read_is_named(read, name):
    with pytest.raises(UsageError) as caught:
        read(name)
    assert caught.value.hint == "-f takes a readable file"


def test_a_pipe_is_read_once(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(
        target=(tmp_path / "pipe").write_bytes, args=(PNG,))
    writer.start()
    assert read("pipe").images == [marker(PNG)]
    writer.join()


def test_a_kind_of_image_that_models_do_not_take_is_named(read):
    with pytest.raises(UsageError, match="HEIC") as caught:
        read("photo.jpg", HEIC)
    assert "JPEG" in caught.value.hint


# --- recordings


COMMAND = ('[transcription]\nenabled = true\ndefault_provider = "command"\n'
           'command = ["{}", "{{file}}"]\n')


def test_a_recording_is_what_was_said(read, tmp_path):
    program = tmp_path / "listen"
    program.write_text('#!/bin/sh\nwc -c < "$1"; basename "$1"\n')
    program.chmod(0o755)

    found = read("memo", recorded(), text=COMMAND.format(program))

    said = found.passages[0]
    assert said.source == "file:memo"
    assert said.text.split() == [str(len(recorded())), "audio.wav"]


def test_silence_is_said(read, tmp_path):
    found = read("memo.wav", recorded(), text=COMMAND.format("/bin/true"))

    assert found.passages[0].text == "(nothing was heard in it)"


@pytest.mark.parametrize(("text", "error", "word"), [
    ("", ConfigError, "transcription.enabled"),
    ("[transcription]\nenabled = true\n", AuthError, ""),
    ('[transcription]\nenabled = true\ndefault_provider = "nobody"\n',
     ConfigError, ""),
])
def test_a_recording_without_anyone_to_hear_it(read, monkeypatch, text,
                                               error, word):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(error) as caught:
        read("memo.ogg", OGG, text=text)
    assert word in (caught.value.hint or "")


def test_a_recording_that_is_too_long_names_the_file(read):
    long = recorded()[:44] + bytes(8000 * 2 * 130)
    long = long[:40] + struct.pack("<I", len(long) - 44) + long[44:]

    with pytest.raises(UsageError, match=r"memo\.wav is 130 s long"):
        read("memo.wav", long, text=COMMAND.format("/bin/true"))


def test_a_dry_run_lets_no_recording_out(read):
    found = read("memo.ogg", OGG, dry_run=True)
    assert "dry run" in found.passages[0].text


# --- addresses


@pytest.fixture
def site():
    """A web site: path -> Reply."""
    pages = {}

    def handle(request):
        asked.append(request)
        return pages.get(request.path, Reply(404, b"gone", "text/plain"))
    asked = []
    server = HttpServer(handle)
    server.start()
    yield SimpleNamespace(url=f"http://127.0.0.1:{server.port}",
                          pages=pages, asked=asked)
    server.stop()


PAGE = (b"<html><head><title>Hours &amp; more</title><style>x{}</style></head>"
        b"<body><h1>Bonn</h1>\n\n<p>opens  at <b>8</b></p>"
        b"<script>alert(1)</script></body></html>")


@pytest.mark.parametrize(("reply", "text"), [
    (Reply(200, PAGE, "text/html; charset=utf-8"),
     "Hours & more\nBonn\nopens at 8"),
    (Reply(200, "<p>Größe".encode("latin-1"),
           "text/html; charset=ISO-8859-1"), "Größe"),
    (Reply(200, "<meta charset=windows-1251><p>Привет".encode("cp1251"),
           "text/html"), "Привет"),
    (Reply(200, b"a,b\n1,2\n", "text/csv"), "a,b\n1,2\n"),
    (Reply(200, b'{"a": 1}', "application/json"), '{"a": 1}'),
    (Reply(200, b"<a/>", "application/atom+xml"), "<a/>"),
    (Reply(200, "\ufefftext".encode("utf-16"), "text/plain"), "\ufefftext"),
    (Reply(200, b"x\xffy", "text/plain; charset=punycode"), "x\ufffdy"),
    (Reply(200, b"", "text/plain"), ""),
    (Reply(200, gzip.compress(b"packed"), "text/plain",
           headers=(("content-encoding", "gzip"),)), "packed"),
])
def test_a_page_is_its_text(read, site, reply, text):
    site.pages["/x"] = reply

    found = read(f"{site.url}/x?key=s3cret")

    assert [p.text.strip() for p in found.passages] == [text.strip()]
    assert found.passages[0].source == f"file:{site.url}/x"
    assert site.asked[0].query == "key=s3cret"


def test_an_image_and_a_recording_are_known_whatever_the_server_says(
        read, site):
    site.pages["/cat"] = Reply(200, PNG, "text/html")
    site.pages["/memo"] = Reply(200, recorded(), "application/octet-stream")

    assert read(f"{site.url}/cat").images == [marker(PNG)]
    assert read(f"{site.url}/memo", text=COMMAND.format("/bin/echo")
                ).passages[0].text.endswith(".wav")


@pytest.mark.parametrize(("reply", "error", "word"), [
    (Reply(404, b"gone"), UnavailableError, "HTTP 404"),
    (Reply(500, PNG), UnavailableError, "HTTP 500"),
    (Reply(200, b"%PDF-1.7", "application/pdf"), UsageError,
     "damaged"),
    (Reply(200, b"\xff\xfe\xfd\0", ""), UsageError, "no known type"),
    (Reply(200, b"x" * (LIMIT + 1), "text/plain"), UsageError,
     "longer than"),
    (Reply(200, PNG + bytes(5 << 20), "image/png"), UsageError,
     "longer than"),
    (Reply(200, bytes((64 << 20) + 1), "text/plain"),
     UnavailableError, "more than 64 MiB"),
    (Reply(200, b"half of it", "text/plain", ending="half"),
     UnavailableError, ""),
    (Reply(ending="reset"), UnavailableError, ""),
    (Reply(302, headers=(("location", "http://169.254.169.254/x"),)),
     ClawError, "no public address"),
    (Reply(302, headers=(("location", "http://localhost:1/x"),)),
     ClawError, "no public address"),
    (Reply(302, headers=(("location", "file:///etc/passwd"),)),
     ClawError, "scheme"),
    (Reply(302), UnavailableError, "HTTP 302"),
])
def test_what_an_address_does_not_give_is_a_clear_error(
        read, site, reply, error, word):
    site.pages["/x"] = reply
    with pytest.raises(error) as caught:
        read(f"{site.url}/x?key=s3cret")
    assert word in caught.value.message
    assert "s3cret" not in f"{caught.value.message} {caught.value.hint}"


def test_a_redirect_on_the_same_server_is_followed(read, site):
    site.pages["/a"] = Reply(302, headers=(("location", "/b"),))
    site.pages["/b"] = Reply(200, b"here", "text/plain")

    assert read(f"{site.url}/a").passages[0].text == "here"


@pytest.mark.parametrize("url", [
    "http://user:s3cret@127.0.0.1/x", "https://s3cret@example.org/",
    "http://[::1", "http://", "https:///x", "http://127.0.0.1:99999/",
    "http://a b/", "http://\ud800/"])
def test_addresses_that_are_none(read, url):
    with pytest.raises(ClawError) as caught:
        read(url)
    assert "s3cret" not in f"{caught.value.message} {caught.value.hint}"


# --- the command


def test_files_are_late_guests_of_a_plain_question(environment, tmp_path):
    """What only -f needs is not loaded without it."""
    code = ("import sys, claw.cli.commands.ask.command\n"
            "print([m for m in sys.modules if m in ("
            "'claw.cli.attachments.fetch', 'claw.speech', "
            "'claw.cli.attachments.recordings', "
            "'claw.agent.images.images', "
            "'claw.wiring.ask.images', 'claw.net.guarded', 'httpx')])")
    done = subprocess.run(
        [os.sys.executable, "-c", code], env=environment, cwd=tmp_path,
        capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_nothing_of_a_running_loop_is_needed(read, site):
    """-f is read before the question's own loop begins, and after one."""
    site.pages["/x"] = Reply(200, b"a", "text/plain")
    asyncio.run(asyncio.sleep(0))
    assert read(f"{site.url}/x").passages[0].text == "a"
