"""Embeddings and speech that are paid for, with their calls in the ledger.

They keep to the same limits as chats. Tokens of an embedding are taken to
be four bytes each, minutes are what the recording's own head tells (the
longest that is allowed, where it does not).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from claw.config.tree import Tree
from claw.core.embedding import EmbeddingProvider, Vector
from claw.core.speech import Speech, SpeechLimits, Synthesizer, Transcriber
from claw.core.turn import current_turn
from claw.providers.catalog.vendors import display_name
from claw.providers.connection import ignore_notice
from claw.providers.cost.other import PlainCall
from claw.providers.cost.prices import find_rate
from claw.speech.audio import read_recording, seconds
from claw.wiring.models.ledger import open_ledger

T = TypeVar("T", bound=EmbeddingProvider | Transcriber | Synthesizer)
_MILLION = 1e6
Notify: TypeAlias = Callable[[str], None]


class Meter:
    """What one plug-in's calls stand in: who sells which model, and what
    it is used for (see core.ledger.PRICE_KEYS). `local`: a server on this
    machine, which costs nothing where the settings say nothing."""

    def __init__(self, tree: Tree, kind: str, provider: str, model: str, *,
                 local: bool = False, notify: Notify = ignore_notice
                 ) -> None:
        self._ledger = open_ledger(tree, notify)
        self._terms = self._ledger.build_terms(display_name(provider), local)
        self._kind = kind
        self._model = model
        self._rate = find_rate(self._terms.prices, kind, self._terms.name,
                               model, local=local)

    @property
    def is_paid(self) -> bool:
        """Whether a call costs money, as far as is known."""
        return self._rate != 0

    @contextmanager
    def call(self, units: float, *, tokens: int | None = None
             ) -> Iterator[None]:
        """One call of so many million tokens, minutes or million
        characters. The file is closed after it: nobody else would."""
        call = self._build(units, tokens)
        with closing(self._ledger):
            call.begin()
            try:
                yield
            except BaseException as error:
                call.end(error)
                raise
            call.end()

    @asynccontextmanager
    async def call_async(self, units: float) -> AsyncIterator[None]:
        """The same for who has an event loop: the file, and the two seconds
        that it may be locked for, are a thread's."""
        call = self._build(units)
        try:
            await _run_to_its_end(call.begin)
        except BaseException:
            await _run_to_its_end(self._close, call.undo)
            raise
        try:
            yield
        except BaseException as error:
            await _run_to_its_end(self._close, partial(call.end, error))
            raise
        await _run_to_its_end(self._close, call.end)

    def _build(self, units: float, tokens: int | None = None) -> PlainCall:
        return PlainCall(
            self._terms, self._kind, self._model,
            None if self._rate is None else self._rate * units, tokens=tokens)

    def _close(self, last: Callable[[], None]) -> None:
        with closing(self._ledger):
            last()


async def _run_to_its_end(work: Callable[..., None], *args: object) -> None:
    """On a thread, and to its end when its caller is cancelled meanwhile:
    what is reserved is settled."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *args))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


class _Metered(Generic[T]):
    """A plug-in, and what its calls stand in."""

    def __init__(self, inner: T, meter: Meter) -> None:
        self._inner = inner
        self._meter = meter

    @property
    def name(self) -> str:
        return self._inner.name


class MeteredEmbedder(_Metered[EmbeddingProvider], EmbeddingProvider):
    """An embedder whose calls stand in the ledger."""

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def is_multilingual(self) -> bool:
        return self._inner.is_multilingual

    @property
    def is_paid(self) -> bool:
        return self._meter.is_paid

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        if not texts:
            return []
        turn = current_turn.get()
        # --max-cost is kept for certain: a token is a byte at least
        bytes_each = 4 if turn is None or turn.max_cost_usd is None else 1
        tokens = -(-sum(len(text.encode("utf-8", "replace"))
                        for text in texts) // bytes_each)
        with self._meter.call(tokens / _MILLION, tokens=tokens):
            return self._inner.embed(texts)


class MeteredTranscriber(_Metered[Transcriber], Transcriber):
    """A transcriber whose calls stand in the ledger."""

    @property
    def limits(self) -> SpeechLimits:
        return self._inner.limits

    async def transcribe(self, path: Path,
                         mime_type: str | None = None) -> str:
        recording = await asyncio.to_thread(read_recording, path, mime_type,
                                            self.limits)
        length_s = seconds(recording.data)
        if length_s is None:
            length_s = self.limits.max_seconds
        async with self._meter.call_async(length_s / 60):
            return await self._inner.transcribe(path, mime_type)


class MeteredSynthesizer(_Metered[Synthesizer], Synthesizer):
    """A synthesizer whose calls stand in the ledger."""

    async def speak(self, text: str) -> Speech:
        async with self._meter.call_async(len(text) / _MILLION):
            return await self._inner.speak(text)


def meter_transcriber(tree: Tree, inner: Transcriber | None, *,
                      notify: Notify = ignore_notice) -> Transcriber | None:
    """The same, metered where somebody is paid for it."""
    if inner is None or inner.paid_model is None:
        return inner
    return MeteredTranscriber(inner, Meter(
        tree, "transcription", inner.name, inner.paid_model, notify=notify))


def meter_synthesizer(tree: Tree, inner: Synthesizer | None, *,
                      notify: Notify = ignore_notice) -> Synthesizer | None:
    """The same, metered where somebody is paid for it."""
    if inner is None or inner.paid_model is None:
        return inner
    return MeteredSynthesizer(inner, Meter(
        tree, "synthesis", inner.name, inner.paid_model, notify=notify))
