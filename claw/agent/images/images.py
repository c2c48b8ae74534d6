"""What a model is shown of the images in a conversation.

A message holds a marker with a reference (core/images.py), never megabytes:
`show` puts the image in its place for one call of a model. Whose word
counts as a reference:

- an image that a conversation keeps (its name is the hash of its bytes) and
  a data: URL count wherever they stand in a person's message;
- in a channel a path counts that was sent in the same chat, and an http(s)
  address where multimodal.allow_remote_fetch is on;
- what the owner writes is resolved once, before it becomes part of the
  conversation (`take`): files of the workspace, and addresses as above.

Everything else (piped text, recalled memories, results of tools) is text and
stays text. What can't be shown is said in its place and to the person; no
image ends a turn, except that nobody here sees images at all.
"""

import asyncio
import base64
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from claw.agent.history import RESULTS_MARK
from claw.agent.images.store import ImageStore, check_type, is_kept, kept_ref
from claw.agent.rounds.events import Notice, OnEvent
from claw.agent.settings import MultimodalSettings
from claw.core.errors import (
    ClawError,
    ConfigError,
    NotFoundError,
    UsageError,
)
from claw.core.images import MARK, ImageMarker, find_images
from claw.core.provider import ChatMessage, ChatRequest, Provider
from claw.core.turn import TurnContext
from claw.core.value import Value, replace

Fetch: TypeAlias = Callable[[str, int], Awaitable[bytes]]
Eyes: TypeAlias = Callable[[], Awaitable[tuple[Provider, str]]]
Source: TypeAlias = Callable[[], Awaitable[bytes]]

# Markers of one request that are tried; a text may hold thousands.
TRIED = 48
_REMEMBERED = 256
_FETCHED = 4
_RESULTS = (RESULTS_MARK, "<tool_result")
_DATA = "data:"
_STANDARD = str.maketrans("-_", "+/")
_BRACKETS = str.maketrans("[]", "()")
_OUTSIDE = "Path not allowed"


class Place(Value):
    """A marker of a request: in which message, where, and what gives the
    image, or why nothing does."""

    index: int
    marker: ImageMarker
    source: Source | None
    why: str = ""


class Images:
    """The images of all conversations of one process.

    `fetch` gets an address (None: none is asked), `eyes` opens the provider
    that sees where the agent's own does not (None: there is none).
    """

    def __init__(self, settings: MultimodalSettings, store: ImageStore, *,
                 fetch: Fetch | None = None,
                 eyes: Eyes | None = None) -> None:
        self.settings = settings
        self.eyes = eyes
        self._store = store
        self._fetch = fetch
        self._held: dict[str, bytes] = {}
        self._fetched: OrderedDict[str, bytes] = OrderedDict()
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()

    # -- what the owner writes

    async def take(self, text: str, on_event: OnEvent) -> str:
        """The owner's own words with the images they name: each reference
        becomes one that lasts as long as the conversation."""
        pieces, at = [], 0
        for marker in find_images(text):
            pieces += [text[at:marker.start],
                       await self._take_one(marker.ref, on_event)]
            at = marker.end
        return "".join([*pieces, text[at:]])

    async def _take_one(self, ref: str, on_event: OnEvent) -> str:
        if is_kept(ref):
            return f"{MARK}{ref}]"
        source, why = ((self._data(ref), "") if ref.startswith(_DATA)
                       else self._remote(ref) if _is_address(ref)
                       else (self._on_thread(self._store.read_file, ref), ""))
        try:
            if source is None:
                raise UsageError(why)
            held = await asyncio.to_thread(self._hold, await source())
        except ClawError as error:
            why = _reason(error)
            on_event(Notice(_notice(ref, why)))
            return _note(why)
        return f"{MARK}{held}]"

    def _hold(self, data: bytes) -> str:
        ref = kept_ref(data, check_type(data))
        self._held[ref] = data
        return ref

    def keep(self) -> None:
        """Write what was taken to where the conversation will look for it.
        Blocks; raises StorageError, and then holds it still."""
        for ref in list(self._held):
            self._store.keep(ref, self._held[ref])
            del self._held[ref]

    # -- what a model sees

    async def show(self, request: ChatRequest, provider: Provider,
                    model: str, context: TurnContext, on_event: OnEvent
                    ) -> tuple[ChatRequest, Provider, str]:
        """The request with its images in it, and which provider and model
        are asked. Raises ConfigError where a new image meets a provider
        that sees none."""
        messages = [_hide_marks(m) for m in request.messages]
        newest = max((i for i, m in enumerate(messages)
                      if _is_persons(m)), default=-1)
        places = [
            Place(index, marker, source, why)
            for index, message in enumerate(messages) if _is_persons(message)
            for marker in find_images(message.content)
            for source, why in [self._find_source(marker.ref, context)]
            if source is not None or why]
        images = [p for p in places if p.source is not None]
        blind = bool(images) and not provider.capabilities_for(model).vision
        if blind and any(p.index == newest for p in images):
            if self.eyes is None and provider.name == "offline":
                raise ConfigError(
                    "no model is configured, and only a model sees images",
                    hint="to add one: claw onboard")
            if self.eyes is None:
                raise ConfigError(
                    f"provider_capability_error provider={provider.name} "
                    "capability=vision message=it takes no images",
                    hint="ask one that does (-p, -m), or name it: claw "
                         "config set multimodal.vision_provider NAME")
            provider, model = await self.eyes()
            blind = False
        if images and not blind:  # whatever is written in them is read
            context.labels.add("image")
        texts = ([_note(p.why) if p.source is None else "[image]"
                  for p in places] if blind
                 else await self._load(places, newest, context, on_event))
        return (replace(request, messages=_fill(messages, places, texts)),
                provider, model)

    def _find_source(self, ref: str, context: TurnContext
                     ) -> tuple[Source | None, str]:
        """What gives an image, else why nothing does; neither for what is
        mere text."""
        if ref.startswith(_DATA):
            return self._data(ref), ""
        if is_kept(ref):
            held = self._held.get(ref)
            return (self._on_thread(self._store.read_kept, ref)
                    if held is None else _give(held)), ""
        if context.origin != "channel":
            return None, ""
        if _is_address(ref):
            return self._remote(ref)
        channel = (context.channel or "").partition(":")[0]
        chat = (context.reply_target or "").partition(":")[0]
        if not self._store.was_sent(ref, channel, chat):
            return None, "it was not sent in this chat"
        return self._on_thread(self._store.read_file, ref), ""

    async def _load(self, places: Sequence[Place], newest: int,
                    context: TurnContext, on_event: OnEvent) -> list[str]:
        """What stands in each place: an image, or why there is none. Of
        too many the newest are shown."""
        texts: list[str] = []
        shown = 0
        for tried, place in enumerate(reversed(places)):
            try:
                if shown == self.settings.max_images:
                    raise UsageError(f"only the newest {shown} are")
                if tried >= TRIED:
                    raise UsageError("too many others can't be")
                if place.source is None:
                    raise UsageError(place.why)
                data = await place.source()
                if len(data) > self._limit:
                    raise self._too_large()
                url = await asyncio.to_thread(_encode, data)
                texts.append(f"{MARK}{url}]")
                shown += 1
            except ClawError as error:
                why = _reason(error)
                texts.append(_note(why))
                if place.index == newest and self._is_untold(
                        context.turn_id, place.marker.ref):
                    on_event(Notice(_notice(place.marker.ref, why)))
        return texts[::-1]

    def _is_untold(self, turn: str, ref: str) -> bool:
        """Whether this was not told yet: a turn asks its model often."""
        key = (turn, ref[:200])
        if key in self._told:
            return False
        self._told[key] = None
        while len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        return True

    # -- where an image comes from

    @property
    def _limit(self) -> int:
        return self.settings.max_image_size_mb << 20

    def _too_large(self) -> UsageError:
        return UsageError("it is larger than the "
                          f"{self.settings.max_image_size_mb} MiB of "
                          "multimodal.max_image_size_mb")

    def _on_thread(self, read: Callable[[str, int], bytes],
                   ref: str) -> Source:
        return lambda: asyncio.to_thread(read, ref, self._limit)

    def _data(self, ref: str) -> Source:
        async def decode() -> bytes:
            if len(ref) * 3 // 4 > self._limit + 100:
                raise self._too_large()
            return await asyncio.to_thread(_decode, ref)
        return decode

    def _remote(self, url: str) -> tuple[Source | None, str]:
        fetch = self._fetch
        if fetch is None:
            return None, ("images of other hosts are not fetched "
                          "(multimodal.allow_remote_fetch)")

        async def fetch_once() -> bytes:
            data = self._fetched.get(url)
            if data is None:
                data = await fetch(url, self._limit)
                self._fetched[url] = data
                while len(self._fetched) > _FETCHED:
                    self._fetched.popitem(last=False)
            return data
        return fetch_once, ""


def _give(data: bytes) -> Source:
    async def give() -> bytes:
        return data
    return give


def _is_address(ref: str) -> bool:
    return ref[:8].lower().startswith(("http://", "https://"))


def _is_persons(message: ChatMessage) -> bool:
    """Whether a person wrote it: results of tools may travel as a user's
    message."""
    return message.role == "user" and not message.content.startswith(
        _RESULTS)


def _hide_marks(message: ChatMessage) -> ChatMessage:
    """What no person wrote shows nothing: a wire takes each data: URL in
    a marker for an image, and may send results as a user's message."""
    if message.role == "assistant" or _is_persons(message) \
            or MARK + _DATA not in message.content:
        return message
    return ChatMessage(message.role, message.content.replace(
        MARK + _DATA, f"({MARK[1:]}{_DATA}"))


def _fill(messages: Sequence[ChatMessage], places: Sequence[Place],
          texts: Sequence[str]) -> list[ChatMessage]:
    """The messages with a text in each place."""
    filled = list(messages)
    pieces: dict[int, list[str]] = {}
    ends: dict[int, int] = {}
    for place, text in zip(places, texts, strict=True):
        content = messages[place.index].content
        pieces.setdefault(place.index, []).extend(
            (content[ends.get(place.index, 0):place.marker.start], text))
        ends[place.index] = place.marker.end
    for index, parts in pieces.items():
        filled[index] = ChatMessage.user("".join(
            [*parts, messages[index].content[ends[index]:]]))
    return filled


def _decode(url: str) -> bytes:
    """The bytes of a data: URL. Raises UsageError."""
    head, _, body = url.partition(",")
    try:
        if not head.endswith(";base64"):
            raise ValueError(head)
        body = body.translate(_STANDARD)
        return base64.b64decode(body + "=" * (-len(body) % 4),
                                validate=True)
    except ValueError as error:
        raise UsageError("its data: URL is no base64") from error


def _encode(data: bytes) -> str:
    return f"data:{check_type(data)};base64,{base64.b64encode(data).decode()}"


# -- what is said instead

def _note(why: str) -> str:
    return f"[image not shown: {why}]"


def _notice(ref: str, why: str) -> str:
    name = ("a data: URL" if ref.startswith(_DATA)
            else ref.partition("?")[0][:200])
    shown = "".join(c if c.isprintable() else "?" for c in name)
    return f"image not shown: {shown}: {why}"


def _reason(error: ClawError) -> str:
    if isinstance(error, NotFoundError):
        return "there is no such file"
    if error.message.startswith(_OUTSIDE):
        return "it lies where images are not read from"
    return " ".join(error.message.split())[:200].translate(_BRACKETS)
