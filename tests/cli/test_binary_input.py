"""What is piped in or named, and is no text: shown, heard or refused."""

import base64
import io
import wave

import pytest

from claw.testing.fake_openai import FakeOpenAI

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
SHOWN = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
NOISE = bytes(range(256)) * 8
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n" + NOISE


def recorded():
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(1600))
    return file.getvalue()


def at(server):
    return ["-p", f"custom:{server.url}", "-m", "m"]


def urls(chat):
    return [part["image_url"]["url"] for message in chat.body["messages"]
            if isinstance(message["content"], list)
            for part in message["content"] if part["type"] == "image_url"]


@pytest.fixture
def hears(home, tmp_path):
    """Transcription by a program that hears "when is tea?"."""
    program = tmp_path / "listen"
    program.write_text("#!/bin/sh\necho 'when is tea?'\n")
    program.chmod(0o755)
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        '[transcription]\nenabled = true\ndefault_provider = "command"\n'
        f'command = ["{program}", "{{file}}"]\n')
    (home / "config.toml").chmod(0o600)


@pytest.mark.parametrize("command", ["ask", "agent"])
def test_a_picture_in_a_pipe_is_seen(claw, command):
    with FakeOpenAI(["a cat"]) as server:
        done = claw(command, *at(server), "what is it?", stdin=PNG)

    assert (done.code, done.out) == (0, "a cat\n")
    assert urls(server.chats[0]) == [SHOWN]


def test_a_picture_in_a_pipe_may_be_longer_than_text(claw):
    with FakeOpenAI(["a cat"]) as server:
        done = claw("ask", *at(server), "what?", stdin=PNG + bytes(2 << 20))
        large = claw("ask", *at(server), "what?", stdin=PNG + bytes(6 << 20))

    assert done.code == 0
    assert large.code == 2
    assert "max_image_size_mb" in large.err


def test_a_picture_alone_asks_nothing(claw):
    with FakeOpenAI([]) as server:
        done = claw("ask", *at(server), stdin=PNG)

    assert (done.code, done.out, server.chats) == (2, "", [])
    assert "nothing was asked about it" in done.err


@pytest.mark.parametrize("command", ["ask", "agent"])
def test_a_recording_in_a_pipe_is_the_question_that_it_asks(
        claw, hears, command):
    with FakeOpenAI(["at four"]) as server:
        done = claw(command, *at(server), "--no-memory", stdin=recorded())

    assert (done.code, done.out) == (0, "at four\n")
    assert "when is tea?" in str(server.chats[0].body["messages"][-1])


def test_a_recording_in_a_pipe_without_transcription_says_the_next_step(
        claw):
    with FakeOpenAI([]) as server:
        done = claw("ask", *at(server), "what is said?", stdin=recorded())

    assert (done.code, done.out, server.chats) == (3, "", [])
    assert "transcription.enabled" in done.err


@pytest.mark.parametrize("command", ["ask", "agent"])
@pytest.mark.parametrize(("data", "what", "step"), [
    (PDF, "can't be read as a PDF", "save it anew"),
    (NOISE, "binary data", "file NAME"),
    (b"\x7fELF\2" + NOISE, "a program", "strings")])
def test_binary_data_in_a_pipe_is_refused_and_nothing_is_sent(
        claw, command, data, what, step):
    with FakeOpenAI([]) as server:
        done = claw(command, *at(server), "what is it?", stdin=data)

    assert (done.code, done.out, server.chats) == (2, "", [])
    assert "standard input" in done.err
    assert what in done.err
    assert step in done.err


@pytest.mark.parametrize(("data", "what"), [
    (PDF, "x.bin can't be read as a PDF"),
    (NOISE, "x.bin is no text: it is binary data")])
def test_a_binary_file_is_refused_and_nothing_is_sent(
        claw, tmp_path, data, what):
    (tmp_path / "x.bin").write_bytes(data)
    with FakeOpenAI([]) as server:
        done = claw("ask", *at(server), "-f", "x.bin", "what is it?")

    assert (done.code, done.out, server.chats) == (2, "", [])
    assert what in done.err


def test_text_in_utf_16_is_read(claw):
    done = claw("ask", "when is tea?",
                stdin="Der Tee ist um vier. Tea is at four.".encode("utf-16"))

    assert done.code == 0
    assert "Tea is at four." in done.out


def test_a_binary_schema_is_refused(claw, tmp_path):
    (tmp_path / "s").write_bytes(PNG)

    done = claw("ask", "--schema", "s", "hi")

    assert done.code == 2
    assert "no UTF-8 text" in done.err


@pytest.mark.parametrize("data", [PNG, PDF, NOISE, recorded()])
def test_binary_data_is_no_memory_and_no_message(claw, data):
    stored = claw("memory", "store", "k", stdin=data)
    sent = claw("send", "cli:me", stdin=data)

    assert stored.code == sent.code == 2
    assert "is no text" in stored.err
    assert "is no text" in sent.err
    assert claw("memory", "count").out == "0\n"


def test_what_is_too_long_names_no_flag_that_is_not_there(claw):
    for command in ("agent", "ask"):
        done = claw(command, "what?", stdin="x" * 1_048_577)

        assert done.code == 2
        assert ("--stdin-limit" in done.err) is (command == "ask")
