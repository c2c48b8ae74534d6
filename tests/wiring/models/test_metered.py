"""Embeddings and speech in the ledger, and under its limits."""

import asyncio
import io
import sqlite3
import time
import wave
from contextlib import closing, contextmanager

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.embedding import EmbeddingProvider
from claw.core.errors import (
    AuthError,
    BudgetError,
    ConfigError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from claw.core.speech import Speech, Synthesizer, Transcriber
from claw.core.turn import TurnContext, current_turn
from claw.storage.ledger_reader import open_reader
from claw.wiring.models.ledger import ledger_path
from claw.wiring.models.metered import (
    Meter,
    MeteredEmbedder,
    meter_synthesizer,
    meter_transcriber,
)

WHISPER_MINUTE = 0.006


def tree_of(tmp_path, toml=""):
    (tmp_path / "config.toml").write_text(toml)
    return load(locate(str(tmp_path)), {})


def calls(tree):
    try:
        with open_reader(ledger_path(tree.places)) as reader:
            return reader.calls("0000", "9999", 10)
    except NotFoundError:
        return []


class Vectors(EmbeddingProvider):
    name, dimensions, model, is_multilingual = "v", 1, "m", True

    def __init__(self, error=None):
        self.error = error
        self.asked = 0

    def embed(self, texts):
        self.asked += 1
        if self.error:
            raise self.error
        return [[1.0] for _ in texts]


class Ears(Transcriber):
    name, paid_model = "openai", "whisper-1"

    async def transcribe(self, path, mime_type=None):
        return "words"


class Mouth(Synthesizer):
    name, paid_model = "openai", "tts-1"

    async def speak(self, text):
        return Speech(b"x", "audio/ogg", "ogg")


def embedder(tree, error=None, model="text-embedding-3-small"):
    inner = Vectors(error)
    return inner, MeteredEmbedder(inner, Meter(tree, "embedding", "openai",
                                               model))


@pytest.fixture
def recording(tmp_path):
    """Half a minute of silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(2 * 8000 * 30))
    path = tmp_path / "memo.wav"
    path.write_bytes(file.getvalue())
    return path


@contextmanager
def in_turn(turn):
    token = current_turn.set(turn)
    try:
        yield
    finally:
        current_turn.reset(token)


def test_an_embedding_is_a_call_of_its_kind(tmp_path):
    tree = tree_of(tmp_path)
    _, vectors = embedder(tree)
    turn = TurnContext("ask")
    with in_turn(turn):
        assert vectors.embed(["x" * 4_000_000]) == [[1.0]]

    call, = calls(tree)
    assert (call.kind, call.provider, call.model, call.turn_id) == (
        "embedding", "openai", "text-embedding-3-small", turn.turn_id)
    assert call.end.input_tokens == 1_000_000
    assert call.end.cost_usd == pytest.approx(0.02)
    assert call.end.estimated


def test_a_recording_is_paid_by_the_minute(tmp_path, recording):
    tree = tree_of(tmp_path)
    ears = meter_transcriber(tree, Ears())

    assert asyncio.run(ears.transcribe(recording)) == "words"
    call, = calls(tree)
    assert (call.kind, call.model) == ("transcription", "whisper-1")
    assert call.end.cost_usd == pytest.approx(WHISPER_MINUTE / 2)


def test_speech_is_paid_by_its_characters(tmp_path):
    tree = tree_of(tmp_path)
    mouth = meter_synthesizer(tree, Mouth())

    assert asyncio.run(mouth.speak("x" * 1000)).data == b"x"
    call, = calls(tree)
    assert (call.kind, call.model) == ("synthesis", "tts-1")
    assert call.end.cost_usd == pytest.approx(0.015)


def test_what_nobody_sells_is_not_metered(tmp_path):
    ears, mouth = Ears(), Mouth()
    ears.paid_model = mouth.paid_model = None
    tree = tree_of(tmp_path)

    assert meter_transcriber(tree, ears) is ears
    assert meter_synthesizer(tree, mouth) is mouth
    assert meter_transcriber(tree, None) is None


@pytest.mark.parametrize(("error", "outcome"), [
    (AuthError("no key"), None), (ConfigError("no address"), None),
    (AuthError("refused", status=401), "auth"),
    (UnavailableError("down", status=503), "unavailable")])
def test_only_calls_that_were_made_are_counted(tmp_path, error, outcome):
    tree = tree_of(tmp_path)
    _, vectors = embedder(tree, error)
    with pytest.raises(type(error)):
        vectors.embed(["tea"])

    assert [(c.end.outcome, c.end.cost_usd) for c in calls(tree)] == (
        [] if outcome is None else [(outcome, 0.0)])


def test_a_limit_stops_an_embedding_before_it_is_made(tmp_path):
    tree = tree_of(tmp_path, "[cost]\ndaily_limit_usd = 0.01\n")
    inner, vectors = embedder(tree)
    with pytest.raises(BudgetError):
        vectors.embed(["x" * 4_000_000])

    assert (inner.asked, calls(tree)) == (0, [])


@pytest.mark.parametrize("turn", [None, TurnContext("a", max_cost_usd=1.0)])
def test_under_a_budget_a_model_without_a_price_is_refused(tmp_path, turn):
    tree = tree_of(tmp_path, "" if turn else "[cost]\ndaily_limit_usd = 1\n")
    inner, vectors = embedder(tree, model="odd")
    with in_turn(turn), pytest.raises(ConfigError) as caught:
        vectors.embed(["tea"])

    assert inner.asked == 0
    assert "cost.prices.\"odd\".input" in caught.value.hint


def test_an_unknown_price_is_told(tmp_path):
    tree = tree_of(tmp_path)
    embedder(tree, model="odd")[1].embed(["tea"])

    assert calls(tree)[0].end.cost_usd is None


@pytest.mark.parametrize(("toml", "cost"), [
    ("[cost.prices.whisper-1]\nper_minute = 2\n", 1.0),
    ("[cost.prices.whisper-1]\ninput = 2\noutput = 2\n", None)])
def test_the_settings_price_speech(tmp_path, recording, toml, cost):
    tree = tree_of(tmp_path, toml)
    asyncio.run(meter_transcriber(tree, Ears()).transcribe(recording))

    assert calls(tree)[0].end.cost_usd == cost


@contextmanager
def locked(tree):
    """Another process writes to the ledger and does not end."""
    asyncio.run(meter_synthesizer(tree, Mouth()).speak("it is made"))
    with closing(sqlite3.connect(ledger_path(tree.places),
                                 isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


async def longest_pause(work):
    """The longest time that the event loop stood still during a task."""
    task, pauses = asyncio.ensure_future(work), [0.0]
    while not task.done():
        began = time.monotonic()
        await asyncio.sleep(0.01)
        pauses.append(time.monotonic() - began)
    with pytest.raises(StorageError, match="no call is paid for"):
        await task
    return max(pauses)


@pytest.mark.parametrize("metered", [meter_synthesizer, meter_transcriber])
def test_a_locked_ledger_does_not_hold_up_the_event_loop(
        tmp_path, recording, metered):
    tree = tree_of(tmp_path)
    with locked(tree):
        work = (metered(tree, Mouth()).speak("hello")
                if metered is meter_synthesizer
                else metered(tree, Ears()).transcribe(recording))
        assert asyncio.run(longest_pause(work)) < 1.0


def test_speech_that_is_cancelled_while_the_ledger_is_locked_costs_nothing(
        tmp_path):
    async def cancel(tree, other):
        task = asyncio.ensure_future(
            meter_synthesizer(tree, Mouth()).speak("hello"))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.sleep(0.1)
        other.execute("COMMIT")
        with pytest.raises(asyncio.CancelledError):
            await task

    tree = tree_of(tmp_path)
    with locked(tree) as other:
        asyncio.run(cancel(tree, other))
    first, = calls(tree)
    assert first.end.cost_usd == pytest.approx(10 * 15e-6)
